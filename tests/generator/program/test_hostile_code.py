"""Code that no person writes: it is read in bounds, or not at all, and never run."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tf_cluster.check import check

from tests.generator.conftest import Command
from tests.generator.seconds import is_too_long
from tests.slices import sliced

PARAMS = "name: a\nimage: r/i:1\nprogram: {module: 'train:Net', source: {files: [train.py]}}\n"
BESIDE = "name: a\nimage: r/i:1\nprogram: {module: 'train:Net', path: /data/code}\n"
SECONDS_TO_THE_END, MEGABYTES = 40, 400
GOOD = """\
from tf_cluster_trainer import Program


class Net(Program):
    def build_model(self, ctx): ...
    def dataset(self, ctx, input_context): ...
"""

LARGE = 190_000
CODE = {
    "parentheses": "(" * LARGE,
    "brackets": "x = " + "[" * 150 + "]" * 150,
    "signs": "x = " + "-" * LARGE + "1",
    "nots": "x = " + "not " * 20_000 + "1",
    "powers": "x = 1" + "**1" * 10_000,
    "a long sum": "x = 1" + "+1" * 3_000,
    "a long chain": "x = a" + ".b" * 3_000,
    "many calls": "f(a, b)\n" * (LARGE // 8),
    "many names": "a\n" * (LARGE // 2),
    "deep blocks": "".join(" " * i + "if x:\n" for i in range(95)) + " " * 95 + "pass\n",
    "a digit too many": "x = " + "9" * 5_000,
    "digits of another base": GOOD + "class F:\n    x: int = 0x" + "f" * 5_000 + "\n",
    "a long import": "import a" + ".b" * (LARGE // 2),
    "a long import on many lines": "from a" + "\\\n.b" * (LARGE // 4) + " import c",
    "brackets behind a mistake": "x = (\n# " + "[" * LARGE,
    "a wrong escape": "x = '\\N{no such character}'",
    "a warning": "x = '\\d'; assert (x, 'always'); y = x is 3",
    "an unknown encoding": "# coding: nonesuch\nx = 1\n",
    "a slow encoding": "# coding: punycode\n" + "a" * 100_000,
    "an encoding that runs": "# coding: unicode_escape\n\\x69mport os\n",
    "a circle of names": "a = b\nb = a\nNet = a\n",
    "a circle of bases": "class A(B): ...\nclass B(A): ...\nNet = A\n",
    "a circle of a program's bases": GOOD.replace("(Program)", "(B, Program)")
    + "    flags: int\nclass B(Net): ...\n",
    "many times one base": GOOD.replace("(Program)", f"(Program{', A' * 60_000})")
    + "class A: ...\n",
    "a base of each class before": "".join(
        f"class C{i}({', '.join(f'C{j}' for j in range(i - 1, -1, -1)) or 'Program'}): ...\n"
        for i in range(28)
    )
    + GOOD.replace("(Program)", "(C27)"),
    "many abstract methods": "from abc import ABC, abstractmethod\n"
    + GOOD.replace("(Program)", "(Program, ABC)")
    + "".join(f"    @abstractmethod\n    def f{i}(s): 0\n" for i in range(4_000)),
    "a circle of types": "from train import *\n",
    "many bases": "\n".join(f"class A{i}(A{i - 1}): ..." for i in range(1, 2_000))
    + "\nNet = A1999",
    "many stars": "from train import *\n" * 2_000,
    "a circle of calls": GOOD + "    def evaluate(self, ctx, m): return self.evaluate(ctx, m)\n",
    "a surrogate": "x = '\\ud800'\n",
    "a form feed": "\f\nx = 1\n",
    "a byte order mark": "\ufeffx = 1\n",
}


HEAD = "from dataclasses import dataclass\nfrom typing import Literal\n" + GOOD
FLAGS = "    flags = F\n\n\n"
FROZEN = "@dataclass(frozen=True)\nclass F:\n"


def _declaring(fields: str, before: str = "") -> str:
    start, end = HEAD.split("class Net", 1)
    return f"{start}{before}{FROZEN}{fields}\n\nclass Net{end}{FLAGS}"


CODE |= {
    "many fields": _declaring("".join(f"    flag{i}: int\n" for i in range(9_000))),
    "types that double": _declaring(
        "    a: L30\n",
        "L0 = int\n" + "".join(f"L{i} = L{i - 1} | L{i - 1}\n" for i in range(1, 31)),
    ),
    "ways out that double": "\n".join(f"{' ' * i}try: a()\n{' ' * i}finally:" for i in range(90))
    + "\n"
    + " " * 90
    + "b()\n",
    "ways out of a long end": "def f():\n try:\n"
    + "  if a: return\n" * 5_000
    + " finally:\n"
    + "  b()\n" * 15_000,
    "functions in functions": "".join(f"{' ' * i}def f{i}(a{i}):\n" for i in range(95))
    + "".join(f"{' ' * 95}n{i}\n" for i in range(1_900)),
    "many flags of a class": _declaring(
        "".join(f"    flag{i}: C28\n" for i in range(8_000)),
        "class C0: ...\n" + "".join(f"class C{i}(C{i - 1}): ...\n" for i in range(1, 29)),
    ),
    "many members of an enum": _declaring(
        "".join(f"    a{i}: Literal[E.m7, E.m8, E.m9]\n" for i in range(2_000)),
        "from enum import Enum\nclass E(Enum):\n"
        + "".join(f"    m{i} = {i}\n" for i in range(8_000)),
    ),
    "many choices": _declaring(
        "".join(f"    a{i}: Words\n" for i in range(1_000)),
        f"Words = Literal[{', '.join(repr(str(i)) for i in range(15_000))}]\n",
    ),
    "a function that calls many": GOOD
    + "    def evaluate(self, ctx, m): return {**self.a0(), **self.a0()}\n"
    + "".join(
        f"    def a{i}(self): return {{{', '.join([f'**self.a{i + 1}()'] * 200)}}}\n"
        for i in range(6)
    ),
    "a chain of variables": GOOD
    + "    def evaluate(self, ctx, m):\n"
    + "".join(f"        v{i} = v{i + 1}\n" for i in range(5_000))
    + "        return v0\n",
    "many classes and stars": "from other import *\n" * 3_000
    + "".join(f"class C{i}(B{i}): ...\n" for i in range(3_000)),
    "many aliases of types": _declaring(
        "    a: T0\n", "".join(f"T{i} = T{i + 1}\n" for i in range(5_000))
    ),
}
PARSER = "import argparse\np = argparse.ArgumentParser()\n"
SCRIPTS = {
    "a chain of functions to an end": "import argparse, sys\n"
    + "".join(f"def f{i}(): f{i + 1}()\n" for i in range(6_000))
    + "def f6000(): sys.exit()\nf0()\np = argparse.ArgumentParser()\np.parse_args()\n",
    "a deep attribute that is set": "import argparse\na"
    + ".b" * 3_000
    + " = 1\np = argparse.ArgumentParser()\np.parse_args()\n",
    "many options": PARSER
    + "".join(f"p.add_argument('--o{i}', type=int)\n" for i in range(4_000))
    + "p.parse_args()\n",
    "some options": PARSER
    + "".join(f"p.add_argument('--o{i}', type=int)\n" for i in range(490))
    + "p.parse_args()\n",
    "a chain of parsers": PARSER
    + "".join(f"p{i + 1} = p{i}\n" for i in range(5_000)).replace("p0", "p")
    + "p5000.parse_args()\n",
    "a chain of functions": "import argparse\ndef f0(): return argparse.ArgumentParser()\n"
    + "".join(f"def f{i + 1}(): return f{i}()\n" for i in range(4_000))
    + "f4000().parse_args()\n",
    "many parses": PARSER + "p.parse_args()\n" * 9_000,
    "a function of many options": "import argparse\ndef f():\n    p = argparse.ArgumentParser()\n"
    + "".join(f"    p.add_argument('--o{i}', type=int)\n" for i in range(4_000))
    + "    p.parse_args()\nf()\n",
    "many flags": "from absl import app, flags\n"
    + "".join(f"flags.DEFINE_integer('o{i}', 1, '')\n" for i in range(4_000))
    + "app.run(None)\n",
    "some flags": "from absl import app, flags\n"
    + "".join(f"flags.DEFINE_integer('o{i}', 1, '')\n" for i in range(490))
    + "app.run(None)\n",
    "functions that hand on the arguments": f"import sys\n{PARSER}"
    + "".join(
        f"def f{i}(a):\n" + f"    f{i + 1}(a)\n" * 60 if i < 4 else f"def f{i}(a): print(a)\n"
        for i in range(5)
    )
    + "f0(sys.argv)\np.parse_args()\n",
    "a call with the arguments many times": f"import sys\n{PARSER}"
    + f"print({'sys.argv, ' * 19_000})\np.parse_args()\n",
    "many imports": "".join(f"import m{i}\n" for i in range(9_000)),
    "many runs": "from absl import app\n" + "app.run(None)\n" * 9_000,
}


def _stars(*modules: str) -> str:
    return "".join(f"from {module} import *\n" for module in modules)


FOLDERS = {
    "layers of stars": {
        f"m{layer}_{i}.py": _stars(*(f"m{layer + 1}_{j}" for j in range(8))) if layer < 6 else ""
        for layer in range(7)
        for i in range(8)
    }
    | {"train.py": _stars(*(f"m0_{i}" for i in range(8))) + "run()\n"},
    "stars and many names": {
        f"s{i}.py": _stars(*(f"s{j}" for j in range(i + 1, min(i + 11, 20)))) for i in range(20)
    }
    | {"train.py": _stars("s0") + "".join(f"DEFINE{i}()\n" for i in range(12_000))},
    "many names that are not there": {
        "train.py": "".join(f"from other import a{i}\n" for i in range(4_000)),
        "other.py": "b = 1\n" * 15_000,
    },
    "many statements that do no harm": {
        "train.py": "import logging\nlog0 = logging.getLogger()\n"
        + "".join(f"log{i + 1} = log{i}.info('')\n" for i in range(3_000))
        + "from . import other\n" * 1_000,
    },
    "many folders of a package": {
        "train.py": "".join(f"import {'.'.join(['a'] * i)}\n" for i in range(1, 400)),
        "a.py": "",
    },
    "an import of very many parts": {
        "train.py": f"import {'.'.join(['a'] * 40_000)}\n",
        "a.py": "",
    },
    "a context of very many parts": {
        "train.py": "import argparse\np = argparse.ArgumentParser()\nwith open(''), "
        + ", ".join(f"a.b{i}" for i in range(9_000))
        + ":\n"
        + "  p.add_argument('-a')\n" * 3_000
    },
    "a long chain of modules": {
        "train.py": "import m0\nimport nothing\n",
        **{f"m{i}.py": f"import m{i + 1}\n" for i in range(300)},
    },
    "many modules that take all": {
        f"s{i}.py": _stars(*(f"s{j}" for j in range(i + 1, 8))) for i in range(8)
    }
    | {
        f"n{i}.py": _stars(*(f"s{j}" for j in range(8)))
        + "".join(f"x{j}()\n" for j in range(1_500))
        for i in range(10)
    }
    | {
        "train.py": "".join(f"import n{i}\n" for i in range(10))
        + "import config\nconfig.parse()\n",
        "config.py": f"{PARSER}def parse(): return p.parse_args()\n",
    },
}


@pytest.mark.parametrize("name", sliced([*CODE], 12))
def test_strange_code_makes_no_trouble(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE[name], encoding="utf-8")
    flags = "".join(f"  f{i}: 1\n" for i in range(2_000))
    (tmp_path / "p.yaml").write_text(
        f"{PARAMS}flags:\n  a: 1\n{flags}evaluator: {{exportBest: {{metric: m, mode: max}}}}\n"
    )

    _validate(tmp_path)


@pytest.mark.parametrize("name", sliced([*SCRIPTS], 4))
def test_a_strange_script_makes_no_trouble(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPTS[name], encoding="utf-8")
    _validate_script(tmp_path)


@pytest.mark.parametrize("name", [*FOLDERS])
def test_strange_modules_make_no_trouble(name: str, tmp_path: Path) -> None:
    for file, text in FOLDERS[name].items():
        (tmp_path / file).write_text(text)

    _validate_script(tmp_path, [*FOLDERS[name]])


def _validate_script(folder: Path, files: Sequence[str] = ("train.py",)) -> None:
    args = "".join(f"  - --oo{i}=1\n  - --o{i}=x\n" for i in range(240))
    source = f"{{files: [{', '.join(files)}]}}"
    program = f"program:\n  script: train.py\n  source: {source}\n  args:\n"
    (folder / "p.yaml").write_text(
        f"name: a\nimage: r/tf-cluster-trainer:1\nreplication: between-graph\n{program}{args}"
    )

    _validate(folder)


def _validate(folder: Path) -> None:
    """Run the command in bounds of time and memory; it may find something, and no more."""

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS_TO_THE_END, SECONDS_TO_THE_END))
        resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, MEGABYTES << 20))

    before = _of_children()
    ran = subprocess.run(
        (sys.executable, "-W", "error", "-m", "tf_cluster", "validate", "--explain", "p.yaml"),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=bounded,
    )

    assert not is_too_long(_of_children() - before, 2)
    assert ran.returncode in (0, 1), ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Warning" not in ran.stderr


def _of_children() -> float:
    """CPU seconds of the processes that were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.mark.parametrize(
    "raw",
    [
        b"x = 1\0\n",
        b"\xff\xfe\x00",
        b"# coding: latin-1\nx = '\xe9'\n",
        b"x = '\xe9'\n",
        b"\0" * 99,
    ],
)
def test_bytes_that_are_no_text_make_no_trouble(raw: bytes, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_bytes(raw)

    checked = check("p.yaml", BESIDE.encode(), folder=tmp_path)

    assert all(finding.severity == "warning" for finding in checked.findings)


def test_code_is_never_run_or_imported(tmp_path: Path, tf_cluster: Command) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')\nimport sitecustomize_of_theirs\n"
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text(trap)
    (tmp_path / "pkg" / "train.py").write_text(trap + GOOD)
    (tmp_path / "p.yaml").write_text(
        "name: a\nimage: r/i:1\nprogram: {module: 'pkg.train:Nett', path: .}\n"
    )

    ran = tf_cluster("validate", "p.yaml")

    assert "pkg/train.py has no Nett" in ran.stdout
    assert not (tmp_path / "ran").exists()
    assert not list(tmp_path.rglob("__pycache__"))


def _noted(folder: Path) -> str:
    return " ".join(check("p.yaml", BESIDE.encode(), folder=folder).notes)


def test_a_link_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("class Secret: ...\n")
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "train.py").symlink_to("../secret.py")

    assert "a link out of the folder" in _noted(folder)
    assert check("p.yaml", BESIDE.encode(), folder=folder).findings == ()


def test_a_pipe_and_a_device_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "train.py")
    assert "a pipe, not a regular file" in _noted(tmp_path)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n" * 100_000)
    assert "it has over 200000 bytes" in _noted(tmp_path)


def test_a_path_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("x = 1\n")
    folder = tmp_path / "checkout"
    folder.mkdir()
    text = PARAMS.replace("source: {files: [train.py]}", "path: ..")

    checked = check("p.yaml", text.encode(), folder=folder)

    assert [finding.code for finding in checked.findings] == ["TFC309"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("print 'x'\n", "TFC501"),
        ("def f(:\n    pass\n", "TFC501"),
        ("x = 'unclosed\n", "TFC501"),
        ("class Net(Program)\n    pass\n", "TFC501"),
        ("def f[T](x: T) -> T: return x +\n", ""),
        ("type X = int\nx = (\n", ""),
        ("x = f'{a['b']}' +\n", ""),
    ],
)
def test_a_syntax_error_is_a_finding_if_no_python_reads_it(
    code: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(code)

    checked = check("p.yaml", PARAMS.encode(), folder=tmp_path)

    is_told = sys.version_info >= (3, 13) or words
    assert [finding.code for finding in checked.findings] == (["TFC501"] if is_told else [])
    assert is_told or any("train.py:" in note for note in checked.notes)


def test_a_syntax_error_has_its_place(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import os\nprint 'x'\n")

    (finding,) = check("p.yaml", PARAMS.encode(), folder=tmp_path).findings

    assert finding.message.startswith("train.py:2:1: Missing parentheses in call to 'print'")
    assert (finding.place.line, finding.pointer) == (3, ("program", "module"))
