"""One mistake in a script's arguments is one finding, at the argument that is wrong.

The real argparse is the judge: the script runs up to its end, here.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path

import pytest
from tf_cluster.check import Checked, check

HEAD = "import argparse\np = argparse.ArgumentParser()\n"


def checked(folder: Path, files: dict[str, str], args: list[str]) -> Checked:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    params = {
        "name": "mine",
        "image": "registry.lan/team/x:1.0",
        "program": {"script": "train.py", "args": args, "source": {"files": list(files)}},
    }
    return check("p.yaml", json.dumps(params).encode(), folder=folder)


def found(folder: Path, code: str, args: list[str]) -> list[tuple[str, int | None]]:
    """The code of each finding, and the index of the argument that it is at."""
    places = []
    for one in checked(folder, {"train.py": code}, args).findings:
        index = one.pointer[2] if len(one.pointer) > 2 else None
        places.append((one.code, index if isinstance(index, int) else None))
    return sorted(places, key=str)


def refuses(code: str, args: list[str]) -> bool:
    """Whether the script ends with an error when it runs with these arguments."""
    before, sys.argv = sys.argv, ["train.py", *args]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            exec(compile(code, "train.py", "exec"), {"__name__": "__main__"})
    except SystemExit:
        return True
    finally:
        sys.argv = before
    return False


def words_of_refused(folder: Path, options: str, arg: str) -> str:
    """The words of the one finding on an argument, which argparse refuses too."""
    code = f"{HEAD}{options}p.parse_args()\n"
    (one,) = checked(folder, {"train.py": code}, [arg]).findings
    assert refuses(code, [arg])
    return one.words


LAYERS = "p.add_argument('--layers', type=int, nargs='+')\n"
OPTS = "p.add_argument('--opts', nargs='*', choices=['a', 'b'])\n"
GPU = "p.add_argument('--gpu', type=int, action='append')\n"
EPS = "p.add_argument('--eps', type=float)\n"
BATCH = "p.add_argument('-b', '--batch', type=int)\n"
PAIR = "p.add_argument('--pair', type=int, nargs=2)\n"
MANY = "p.add_argument('--steps', type=int, nargs='+', action='extend')\n"
PLACE = "p.add_argument('n', type=int)\n"
REST = "p.add_argument('n', type=int, nargs='*')\n"
SYNC = (
    "g = p.add_mutually_exclusive_group(required=True)\n"
    "g.add_argument('--sync', action='store_true')\n"
    "g.add_argument('--async', action='store_true')\n"
    "g.add_argument('--every', type=int)\n"
)
BATCHES = "p.add_argument('--batch_size')\np.add_argument('--batch_norm', required=True)\n"
TEXT = "p.add_argument('--num', type=int, default='1e3')\n"
MISTAKES = [
    (LAYERS, ["--layers", "64", "32", "x"], [("TFC513", 3)]),
    (LAYERS, ["--layers", "64", "y", "32", "x"], [("TFC513", 2), ("TFC513", 4)]),
    (LAYERS, ["--layers=x"], [("TFC513", 0)]),
    (LAYERS + EPS, ["--layers", "--eps=x"], [("TFC513", 0), ("TFC513", 1)]),
    (OPTS, ["--opts", "a", "c"], [("TFC513", 2)]),
    (PAIR, ["--pair", "1", "x"], [("TFC513", 2)]),
    (PAIR, ["--pair", "1"], [("TFC513", 0)]),
    (PAIR, ["--pair=1"], [("TFC513", 0)]),
    (PAIR, ["--pair", "1", "2", "3"], [("TFC512", 3)]),
    (MANY, ["--steps", "1", "2", "--steps", "3", "x"], [("TFC513", 5)]),
    (GPU, ["--gpu=0", "--gpu=1", "--gpu=two"], [("TFC513", 2)]),
    (GPU, ["--gpu", "0", "--gpu", "two", "--gpu", "1"], [("TFC513", 3)]),
    (GPU, ["--gpu=0", "--gp=two", "--gpu"], [("TFC513", 1), ("TFC513", 2)]),
    (EPS, ["--eps=0.1", "--eps=x"], [("TFC513", 1)]),
    (EPS, ["--eps=x", "--eps=x"], [("TFC513", 0), ("TFC513", 1)]),
    (BATCH + EPS, ["-b32", "--eps=1", "--batch", "x"], [("TFC513", 3)]),
    (BATCH, ["--batch", "1", "-bx"], [("TFC513", 2)]),
    (BATCH, ["-b", "x", "-b2"], [("TFC513", 1)]),
    (EPS, ["--eps", "-1e-8"], [("TFC513", 0)]),
    (EPS + BATCH, ["--eps", "-x", "-b", "1"], [("TFC513", 0)]),
    (EPS + BATCH, ["--eps", "-b", "1"], [("TFC513", 0)]),
    (SYNC, ["--sync=1"], [("TFC513", 0)]),
    (SYNC, ["--every=x"], [("TFC513", 0)]),
    (SYNC, ["--sync", "--async"], [("TFC513", 1)]),
    (SYNC, ["--sync", "--every=2", "--async"], [("TFC513", 1)]),
    (SYNC, [], [("TFC514", None)]),
    (SYNC, ["--synk"], [("TFC512", 0)]),
    (SYNC + EPS, ["--eps=x"], [("TFC513", 0), ("TFC514", None)]),
    (SYNC, ["x"], [("TFC512", 0), ("TFC514", None)]),
    (PLACE, ["x"], [("TFC513", 0)]),
    (PLACE, ["1", "x"], [("TFC512", 1)]),
    (REST + EPS, ["1", "--eps=2", "3"], [("TFC512", 2)]),
    (REST + EPS, ["--eps", "2", "3", "x"], [("TFC513", 3)]),
    (BATCHES, ["--batch=3", "--n", "x"], [("TFC512", 1), ("TFC513", 0)]),
    (BATCHES, ["--batch", "3", "--n", "x"], [("TFC512", 2), ("TFC513", 0)]),
    (BATCHES, ["--oops", "--batch=3"], [("TFC512", 0), ("TFC513", 1)]),
    (BATCHES, ["--batch_norm=3", "--batc", "3"], [("TFC513", 1)]),
    (BATCHES + PLACE, ["--batc", "3"], [("TFC513", 0)]),
    (TEXT, [], [("TFC513", None)]),
    (TEXT, ["--other=3"], [("TFC512", 0), ("TFC513", None)]),
    (TEXT, ["--num=x"], [("TFC513", 0)]),
    (TEXT, ["--nun=3"], [("TFC512", 0)]),
    (TEXT.replace("'1e3'", "'1e3', nargs='*'"), [], [("TFC513", None)]),
    (TEXT.replace("'--num'", "'num', nargs='?'") + EPS, ["--eps=1"], [("TFC513", None)]),
    ("p.add_argument('n', nargs='?', choices=['a'], default='b')\n", [], [("TFC513", None)]),
]


@pytest.mark.parametrize(("options", "args", "told"), MISTAKES)
def test_a_mistake_is_told_once_where_it_is(
    options: str, args: list[str], told: list[tuple[str, int | None]], tmp_path: Path
) -> None:
    code = f"{HEAD}{options}p.parse_args()\n"

    assert refuses(code, args)
    assert found(tmp_path, code, args) == told


@pytest.mark.parametrize(
    ("options", "args"),
    [
        (LAYERS, ["--layers", "64", "-3"]),
        (LAYERS, ["--layers=64", "--layers", "1", "2"]),
        (OPTS, ["--opts"]),
        (OPTS + LAYERS, ["--opts", "a", "b", "--lay", "3"]),
        (MANY, ["--steps", "1", "2", "--steps=3"]),
        (GPU, ["--gpu=0", "--gpu", "1"]),
        (EPS, ["--eps", "-1.5"]),
        (EPS, ["--eps=-1e-8"]),
        (BATCH, ["-b32", "-b=3", "--batch", "3"]),
        (SYNC, ["--every", "3"]),
        (REST, []),
        (REST + EPS, ["--eps=3", "--", "-3"]),
        (TEXT, ["--num=3"]),
        (TEXT.replace("1e3", "1000"), []),
        (TEXT + "p.set_defaults(num=3)\n", []),
        (TEXT + "p.parse_args(namespace=argparse.Namespace(num=3))\np.set_defaults(num=3)\n", []),
        ("p.add_argument('--num', default=3)\n" + TEXT.replace("--", "--x', dest='"), []),
        (TEXT.replace("'--num'", "'num', nargs='*'"), []),
        ("p.add_argument('--n', choices=['a'], default='b')\n", []),
        ("p.add_argument('--n', type=int, default=argparse.SUPPRESS)\n", []),
    ],
)
def test_what_argparse_takes_has_no_finding(options: str, args: list[str], tmp_path: Path) -> None:
    code = f"{HEAD}{options}p.parse_args()\n"

    assert not refuses(code, args)
    assert found(tmp_path, code, args) == []


def test_a_value_that_looks_like_an_option_is_told_with_the_way_to_write_it(tmp_path: Path) -> None:
    code = f"{HEAD}{EPS}p.parse_args()\n"

    (one,) = checked(tmp_path, {"train.py": code}, ["--eps", "-1e-8"]).findings

    assert one.words.endswith("(write --eps=-1e-8)")


XLA = "p.add_argument('--xla', action='store_true')\n"
HERE = " (train.py:3) "


@pytest.mark.parametrize(
    ("options", "arg", "words"),
    [
        (EPS, "--eps 0.1", f"the script has no option \"--eps 0.1\"{HERE}({{}}: '--eps', '0.1')"),
        (EPS, "--epz 0.1", f"the script has no option \"--epz 0.1\"{HERE}({{}}: '--eps', '0.1')"),
        (
            EPS,
            "--epz=1 -b",
            f"the script has no option \"--epz=1 -b\"{HERE}({{}}: '--eps=1', '-b')",
        ),
        (
            EPS,
            "--eps 1 -b",
            f'the script has no option "--eps 1 -b"{HERE}(write each of its words as an argument)',
        ),
        (XLA, "--xla true", f'the script has no option "--xla true"{HERE}(write --xla)'),
        (XLA, "-q 3", 'the script has no option "-q 3" (train.py:2)'),
        (
            EPS + XLA,
            "--eps=1 --xla",
            f'--eps is "1 --xla", not a number{HERE}(write --xla as an argument of its own)',
        ),
    ],
)
def test_several_arguments_in_one_are_told_with_the_way_to_write_them(
    options: str, arg: str, words: str, tmp_path: Path
) -> None:
    assert words_of_refused(tmp_path, options, arg) == words.format("write two arguments")


OPT = "p.add_argument('--opt', choices=['adam', 'sgd'])\n"
GPUS = "p.add_argument('--gpus', choices=[1, 2])\n"
PIPE = "p.add_argument('--pipe', action=argparse.BooleanOptionalAction)\n"
OFF = "p.add_argument('--off', dest='on', action='store_false')\n"


@pytest.mark.parametrize(
    ("options", "arg", "words"),
    [
        (XLA, "--xla=True", f"--xla takes no value{HERE}(write --xla)"),
        (XLA, "--xla=False", f"--xla takes no value{HERE}(leave it out)"),
        (XLA.replace("'--x", "'-x', '--x"), "-x=1", f"--xla takes no value{HERE}(write --xla)"),
        (OFF, "--off=False", f"--off takes no value{HERE}(write --off)"),
        (PIPE, "--pipe=true", f"--pipe takes no value{HERE}(write --pipe)"),
        (PIPE, "--pipe=no", f"--pipe takes no value{HERE}(write --no-pipe)"),
        (OPT, "--opt='sgd'", f'--opt is "\'sgd\'", not "adam" or "sgd"{HERE}({{}})'),
        (EPS, '--eps="1"', f'--eps is "\\"1\\"", not a number{HERE}({{}})'),
        (
            GPUS,
            "--gpus=1",
            f'--gpus is "1", not 1 or 2{HERE}'
            "(add type=int to --gpus in the script: the choices are numbers)",
        ),
        (
            BATCHES,
            "--batch=1",
            "--batch may be --batch_size or --batch_norm (train.py:3) (write the whole name)",
        ),
    ],
)
def test_a_wrong_value_is_told_with_what_would_be_right(
    options: str, arg: str, words: str, tmp_path: Path
) -> None:
    assert words_of_refused(tmp_path, options, arg) == words.format("leave out the inner quotes")


GROUP = "g = p.add_mutually_exclusive_group({})\ng.add_argument('--{}')\n"


@pytest.mark.parametrize(
    ("options", "args", "wrong"),
    [
        (GROUP.format("", "a") + GROUP.format("", "b"), ["--a=1", "--b=1"], False),
        (GROUP.format("required=True", "a") + GROUP.format("", "b"), ["--a=1"], False),
        (GROUP.format("", "a") + GROUP.format("required=True", "b"), ["--b=1"], False),
        (GROUP.format("", "a") + GROUP.format("required=True", "b"), ["--a=1"], True),
        (
            GROUP.format("", "a") + "g = p.add_argument_group('x')\ng.add_argument('--b')\n",
            ["--a=1", "--b=1"],
            False,
        ),
        (
            GROUP.format("", "a") + "g.add_argument('--c')\n" + GROUP.format("", "b"),
            ["--a=1", "--c=1"],
            True,
        ),
    ],
)
def test_a_variable_may_hold_one_group_after_another(
    options: str, args: list[str], wrong: bool, tmp_path: Path
) -> None:
    code = f"{HEAD}{options}p.parse_args()\n"

    assert bool(found(tmp_path, code, args)) == wrong
    assert refuses(code, args) == wrong


def test_a_required_group_without_an_option_is_told(tmp_path: Path) -> None:
    code = f"{HEAD}p.add_mutually_exclusive_group(required=True)\np.parse_args()\n"

    assert found(tmp_path, code, []) == [("TFC514", None)]
    with pytest.raises(ValueError, match="empty group"):  # by argparse, as it writes its usage
        refuses(code, [])


@pytest.mark.parametrize(
    ("option", "likely"),
    [
        ("--oops=3", ""),
        ("--stepz=3", "--steps"),
        ("--step_s=3", "--steps"),
        ("-steps=3", "--steps"),
        ("--lern=3", ""),
        ("--leern=3", "--learning_rate"),
        ("--max-step=3", "--steps"),
        ("--V=3", "-v"),
        ("--bad=3", ""),
        ("--batsh=3", ""),
    ],
)
def test_an_option_is_likely_where_its_letters_are_without_the_dashes(
    option: str, likely: str, tmp_path: Path
) -> None:
    names = ("--steps", "--learning_rate", "-v", "--batch_size", "--batch_normal")
    code = HEAD + "".join(f"p.add_argument('{name}')\n" for name in names) + "p.parse_args()\n"

    (one,) = checked(tmp_path, {"train.py": code}, [option]).findings

    assert one.code == "TFC512"
    assert one.words.partition("did you mean ")[2].rstrip("?)") == likely


@pytest.mark.parametrize(
    "made",
    [
        "import argparse\np: argparse.ArgumentParser = argparse.ArgumentParser()\n",
        "from argparse import ArgumentParser as Parser\np = Parser()\n",
        "from argparse import ArgumentParser\np: ArgumentParser = ArgumentParser()\n",
        "import argparse as ap\np: 'ap.ArgumentParser' = ap.ArgumentParser()\n",
    ],
)
def test_a_parser_is_read_however_its_line_is_written(made: str, tmp_path: Path) -> None:
    code = f"{made}{EPS}p.parse_args()\n"

    assert found(tmp_path, code, ["--eps=3"]) == []
    assert found(tmp_path, code, ["--eps=x"]) == [("TFC513", 0)]
    assert found(tmp_path, code, ["--epz=3"]) == [("TFC512", 0)]


def test_two_parsers_of_another_name_are_not_guessed(tmp_path: Path) -> None:
    code = f"from argparse import ArgumentParser as P\np = P()\nq = P()\n{EPS}p.parse_args()\n"

    assert found(tmp_path, code, ["--epz=3"]) == []


MAIN = (
    "def main(argv=None):\n{}    p = argparse.ArgumentParser()\n"
    "    p.add_argument('--n', type=int)\n"
)


@pytest.mark.parametrize(
    ("before", "parse", "call", "is_known"),
    [
        ("    if argv is None:\n        argv = sys.argv[1:]\n", "argv", "", True),
        ("    argv = sys.argv[1:]\n", "argv", "", True),
        ("", "argv or sys.argv[1:]", "", True),
        ("", "argv or sys.argv[1:]", "sys.argv[1:]", True),
        ("", "argv or sys.argv[1:]", "['--n=3']", False),
        ("", "argv or sys.argv", "", False),
        ("    if argv is None:\n        argv = ['--n=3']\n", "argv", "", False),
        ("    argv = sys.argv[1:]\n    argv += ['--n=3']\n", "argv", "", False),
        ("    for argv in [['--n=3']]:\n        pass\n", "argv", "", False),
    ],
)
def test_arguments_that_a_function_takes_from_sys_argv_are_known(
    before: str, parse: str, call: str, is_known: bool, tmp_path: Path
) -> None:
    code = f"import argparse, sys\n{MAIN.format(before)}    p.parse_args({parse})\nmain({call})\n"

    assert found(tmp_path, code, ["--n=3"]) == []
    assert found(tmp_path, code, ["--n=x"]) == ([("TFC513", 0)] if is_known else [])
    if is_known:
        assert refuses(code, ["--n=x"])
        assert not refuses(code, ["--n=3"])


GET_ARGS = (
    "import argparse\n\n\ndef get_args(args=None):\n    p = argparse.ArgumentParser()\n"
    "    p.add_argument('--eps', type=float)\n    return p.parse_args(args)\n"
)


@pytest.mark.parametrize(
    ("call", "wrong"),
    [
        ("from opts import get_args\nget_args()", [0]),
        ("from opts import get_args as get\nget()", [0]),
        ("import opts\nopts.get_args()", [0]),
        ("from opts import *\n\n\ndef main():\n    get_args()\n\n\nmain()", [0]),
        ("from opts import get_args\nget_args(['--eps=3'])", []),
        ("from opts import get_args as get\nget(['--eps=3'])", []),
        ("import opts\nget = opts.get_args\nget(['--eps=3'])", []),
        ("import opts", []),
    ],
)
def test_a_parser_of_a_module_is_read_where_the_script_calls_for_it(
    call: str, wrong: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"train.py": f"{call}\n", "opts.py": GET_ARGS}

    one = checked(tmp_path, files, ["--eps=x"])

    told = [(finding.code, *finding.pointer[2:]) for finding in one.findings]
    assert told == [("TFC513", at) for at in wrong]
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "opts", raising=False)
    assert refuses(files["train.py"], ["--eps=x"]) == bool(wrong)


def test_a_parser_that_the_script_does_not_call_for_is_named_in_the_note(tmp_path: Path) -> None:
    files = {"train.py": "import opts\ngetattr(opts, 'get_args')()\n", "opts.py": GET_ARGS}

    one = checked(tmp_path, files, ["--eps=x"])

    assert one.findings == ()
    why = "opts.py:5: the script's way to this parser is unknown"
    assert one.notes[-1] == f"not checked: the script's arguments ({why})"


def test_the_options_that_were_read_are_listed(tmp_path: Path) -> None:
    one = checked(tmp_path, {"train.py": f"{HEAD}{EPS}{OPT}p.parse_args()\n"}, [])

    assert one.notes[-1] == "read: options --eps, --opt (train.py)"


def test_without_a_parser_the_note_names_the_import_that_may_bring_one(tmp_path: Path) -> None:
    one = checked(tmp_path, {"train.py": "from opts import *\nmain()\n"}, ["--eps=x"])

    assert one.notes[-1] == "not checked: the script's arguments (train.py:1 imports all of opts)"


def test_without_any_parser_the_note_names_the_script(tmp_path: Path) -> None:
    one = checked(tmp_path, {"train.py": "import opts\n", "opts.py": "x = 1\n"}, ["--eps=x"])

    assert one.notes[-1].endswith("(train.py: no argparse, and no flags of absl)")
