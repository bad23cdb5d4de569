"""A script whose sys.argv is changed has no findings on its arguments; one that reads it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generator.program.test_argparse_args import HEAD, checked

PARSE = f"import sys\n{HEAD}p.add_argument('--steps', type=int)\n"
WRONG = ["--debug", "--steps=3"]


def told(folder: Path, files: dict[str, str]) -> tuple[list[str], list[str]]:
    """The codes of the findings, and what --explain says can't be known of the arguments."""
    one = checked(folder, files, WRONG)
    notes = [note for note in one.notes if "the script's arguments" in note]
    return [finding.code for finding in one.findings], notes


@pytest.mark.parametrize(
    "change",
    [
        "def strip(argv):\n    argv.remove('--debug')\nstrip(sys.argv)\n",
        "def strip(argv):\n    argv[:] = argv[:1]\nstrip(argv=sys.argv)\n",
        "def strip(argv):\n    argv += ['--steps=3']\nstrip(sys.argv)\n",
        "def keep(argv):\n    other = argv\n    other.clear()\nkeep(sys.argv)\n",
        "def inner(x):\n    x.clear()\ndef outer(argv):\n    inner(argv)\nouter(sys.argv)\n",
        "def outer(argv):\n    outer(argv)\nouter(sys.argv)\n",
        "strip = lambda argv: argv.clear()\nstrip(sys.argv)\n",
        "def change(argv=sys.argv):\n    argv.clear()\nchange()\n",
        "import library\nlibrary.init(sys.argv)\n",
        "argv: list = sys.argv\nargv.clear()\n",
        "for one in [sys.argv]:\n    one.clear()\n",
        "sys.argv.__delitem__(1)\n",
        "del sys.argv[1]\n",
        "sys.argv[1:] = ['--steps=3']\n",
        "setattr(sys, 'argv', ['a'])\n",
        "getattr(sys, 'argv').clear()\n",
        "from sys import argv\nargv.clear()\n",
        "def print(argv):\n    argv.clear()\nprint(sys.argv)\n",
        "class Job:\n    def run(self, argv):\n        argv.clear()\nJob().run(sys.argv)\n",
    ],
)
def test_what_may_change_it_leaves_the_arguments_unknown(change: str, tmp_path: Path) -> None:
    codes, notes = told(tmp_path, {"train.py": f"{PARSE}{change}p.parse_args()\n"})

    assert codes == []
    assert len(notes) == 1
    assert notes[0].endswith("sys.argv is changed)")


@pytest.mark.parametrize(
    "use",
    [
        "print(sys.argv, len(sys.argv), sys.argv[0], ' '.join(sys.argv))\n",
        "def show(argv):\n    print(argv[0])\nshow(sys.argv)\n",
        "def show(first, *, argv):\n    argv = argv[1:]\n    print(argv)\nshow(1, argv=sys.argv)\n",
        "def inner(x):\n    print(*x)\ndef outer(argv):\n    inner(argv)\nouter(sys.argv)\n",
        "verbose = '-v' in sys.argv\nif len(sys.argv) < 1 or not sys.argv:\n    sys.exit(1)\n",
        "for one in sys.argv:\n    print(one)\nshown = [a for a in sys.argv]\n",
        "import logging\nlogging.info('run as %s', sys.argv)\nprint(f'{sys.argv}')\n",
        "rest = sys.argv[1:]\nrest.clear()\nboth = sys.argv + ['x']\n",
        "from sys import exit\n",
    ],
)
def test_what_only_reads_it_changes_nothing(use: str, tmp_path: Path) -> None:
    codes, notes = told(tmp_path, {"train.py": f"{PARSE}{use}p.parse_args()\n"})

    assert (codes, notes) == (["TFC512"], [])


REMOVES = "import sys\nif '--debug' in sys.argv:\n    sys.argv.remove('--debug')\n"


@pytest.mark.parametrize(
    ("files", "place"),
    [
        (
            {"train.py": "import other\n", "other.py": "from sys import *\ndel argv[1]"},
            "other.py:1",
        ),
        ({"train.py": "import other\n", "other.py": REMOVES}, "other.py:3"),
        ({"train.py": "from other import x\n", "other.py": f"{REMOVES}x = 1\n"}, "other.py:3"),
        ({"train.py": "import a\n", "a.py": "import other\n", "other.py": REMOVES}, "other.py:3"),
        ({"train.py": "def f():\n    import other\nf()\n", "other.py": REMOVES}, "other.py:3"),
        ({"train.py": "import q.r\n", "q/r.py": REMOVES}, "q/r.py:3"),
        ({"train.py": "import q.r\n", "q/__init__.py": REMOVES, "q/r.py": ""}, "q/__init__.py:3"),
        ({"train.py": "from q import r\n", "q/__init__.py": "", "q/r.py": REMOVES}, "q/r.py:3"),
    ],
)
def test_a_module_that_changes_it_leaves_the_arguments_unknown(
    files: dict[str, str], place: str, tmp_path: Path
) -> None:
    code = f"{files['train.py']}{PARSE}p.parse_args()\n"

    codes, notes = told(tmp_path, {**files, "train.py": code})

    assert codes == []
    assert len(notes) == 1
    assert notes[0].endswith(f"({place}: sys.argv is changed)")


@pytest.mark.parametrize(
    "other",
    [
        "import sys\nprint(sys.argv)\n",
        "import sys\nif __name__ == '__main__':\n    sys.argv.clear()\n",
        "from sys import stdout\n",
    ],
)
def test_a_module_that_does_not_change_it_changes_nothing(other: str, tmp_path: Path) -> None:
    files = {"train.py": f"import other\n{PARSE}p.parse_args()\n", "other.py": other}

    assert told(tmp_path, files) == (["TFC512"], [])


def test_a_module_that_is_not_imported_changes_nothing(tmp_path: Path) -> None:
    files = {"train.py": f"{PARSE}p.parse_args()\n", "other.py": REMOVES}

    assert told(tmp_path, files) == (["TFC512"], [])


def test_a_module_that_can_not_be_read_may_change_it(tmp_path: Path) -> None:
    files = {"train.py": f"import other\n{PARSE}p.parse_args()\n", "other.py": "def\n"}

    codes, notes = told(tmp_path, files)

    assert codes == []
    assert notes[0].endswith("(train.py:1: other was not read)")


def test_a_module_by_the_name_of_one_of_python_may_change_it(tmp_path: Path) -> None:
    files = {"train.py": f"import csv\n{PARSE}p.parse_args()\n", "csv.py": REMOVES}

    codes, notes = told(tmp_path, files)

    assert codes == []
    assert notes[0].endswith("(train.py:1: csv was not read)")


def test_flags_of_absl_are_unknown_where_a_module_changes_it(tmp_path: Path) -> None:
    code = "import other\nfrom absl import app, flags\nflags.DEFINE_integer('steps', 1, '')\n"
    run = "app.run(lambda argv: None)\n"

    assert told(tmp_path, {"train.py": code + run, "other.py": "x = 1\n"})[0] == ["TFC512"]
    codes, notes = told(tmp_path, {"train.py": code + run, "other.py": REMOVES})

    assert codes == []
    assert notes[0].endswith("(other.py:3: sys.argv is changed)")


@pytest.mark.parametrize("name", ["run", "log", "parse_args"])
def test_a_function_of_another_module_may_change_it(name: str, tmp_path: Path) -> None:
    use = f"import other\nother.{name}(sys.argv)\n"
    other = f"def {name}(argv):\n    argv.remove('--debug')\n"

    codes, notes = told(tmp_path, {"train.py": f"{PARSE}{use}p.parse_args()\n", "other.py": other})

    assert codes == []
    assert notes[0].endswith("(train.py:6: sys.argv is changed)")
