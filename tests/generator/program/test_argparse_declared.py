"""A declaration that argparse refuses is a finding: the real argparse is the judge."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pytest

from tests.generator.program.test_argparse_args import HEAD, checked

REFUSED = [
    (
        "'--a'); p.add_argument('--b'); p.add_argument('--a'",
        "--a is declared twice, at train.py:3 too",
    ),
    ("'-h', '--hosts'", "-h is declared twice: argparse has it for its help"),
    ("'--a', action='store_true', type=bool", "--a can't have type with this action (store_true)"),
    ("'--a', action='count', metavar='N'", "--a can't have metavar with this action (count)"),
    (
        "'--a', action='store_const', const=1, type=int, nargs=1",
        "--a can't have nargs and type with this action (store_const)",
    ),
    (
        "'--a', action=argparse.BooleanOptionalAction, nargs='?'",
        "--a can't have nargs with this action (optional)",
    ),
    ("'--a', action='version', version='1', required=True", "--a can't have required with"),
    ("'--a', version='1'", "--a can't have version (train.py:3)"),
    ("'a', required=True", "a can't have required (train.py:3)"),
    ("'--a', nargs=0", "--a has nargs=0"),
    ("'a', 'b'", "a has several names, and not all begin with -"),
    ("'-a', 'b'", "-a has several names, and not all begin with -"),
]
TAKEN = [
    "'--a'); p.add_argument('--b', '-a'",
    "'--a', action='store_const', const=1, metavar='A', required=True",
    "'--a', action='version', version='1'",
    "'--a', action=argparse.BooleanOptionalAction, required=False",
    "'--a', action='append', type=int, nargs=2, choices=[1, 2], metavar='A'",
    "'a', nargs='?', const=1, default='3'",
    "'a'); p.add_argument('a'",
]


def is_refused(code: str) -> bool:
    """Whether the code ends before it parses anything."""
    before, sys.argv = sys.argv, ["train.py"]
    try:
        exec(compile(code, "train.py", "exec"), {"__name__": "__main__"})
    except (argparse.ArgumentError, TypeError, ValueError):
        return True
    except SystemExit:
        return False  # an argument is missing
    finally:
        sys.argv = before
    return False


@pytest.mark.parametrize(("declared", "words"), REFUSED)
def test_a_declaration_that_argparse_refuses_is_told(
    declared: str, words: str, tmp_path: Path
) -> None:
    code = f"{HEAD}p.add_argument({declared})\np.parse_args()\n"

    (one,) = checked(tmp_path, {"train.py": code}, ["--oops"]).findings

    assert (one.code, one.pointer) == ("TFC517", ("program", "script"))
    assert one.words.startswith(words)
    assert is_refused(code)


@pytest.mark.parametrize("declared", TAKEN)
def test_a_declaration_that_argparse_takes_is_good(declared: str, tmp_path: Path) -> None:
    code = f"{HEAD}p.add_argument({declared})\np.parse_args()\n"

    findings = checked(tmp_path, {"train.py": code}, []).findings

    assert "TFC517" not in {one.code for one in findings}
    assert not is_refused(code)


@pytest.mark.parametrize(
    ("declared", "refused"),
    [("'--a', required=True", True), ("'a'", True), ("'--a'", False), ("'a', nargs='?'", False)],
)
def test_no_option_of_a_group_that_excludes_is_required(
    declared: str, refused: bool, tmp_path: Path
) -> None:
    code = (
        f"{HEAD}g = p.add_mutually_exclusive_group()\ng.add_argument({declared})\np.parse_args()\n"
    )

    findings = checked(tmp_path, {"train.py": code}, []).findings

    assert [one.code for one in findings] == ["TFC517"] * refused
    assert is_refused(code) == refused


CHOOSE = "import os\nif os.environ.get('MODE') == 'a':\n    a()\nelse:\n    b()\n"
MAKE = "import argparse\ndef make():\n    return argparse.ArgumentParser()\n"


@pytest.mark.parametrize(
    "code",
    [
        f"{HEAD}def a():\n    p.add_argument('--x')\ndef b():\n    p.add_argument('--x')\n{CHOOSE}"
        "p.parse_args()\n",
        f"{MAKE}def a():\n    p = make()\n    p.add_argument('--x')\n    p.parse_args()\n"
        "def b():\n    p = make()\n    p.add_argument('--x')\n    p.parse_args()\n" + CHOOSE,
        f"{MAKE}p = make()\np.add_argument('--x')\np.parse_args()\n"
        "q = make()\nq.add_argument('--x')\nq.parse_args()\n",
    ],
)
def test_a_name_that_may_be_declared_for_another_parser_is_a_note(
    code: str, tmp_path: Path
) -> None:
    one = checked(tmp_path, {"train.py": code}, [])

    assert one.findings == ()
    assert one.notes[-1].startswith("not checked: the script's arguments (")
    assert not is_refused(code)


def test_a_name_that_a_function_declares_twice_is_told(tmp_path: Path) -> None:
    twice = "    p.add_argument('--x')\n" * 2
    code = MAKE.replace("return ", "p = ") + f"{twice}    return p\nmake().parse_args()\n"

    (one,) = checked(tmp_path, {"train.py": code}, []).findings

    assert one.words.startswith("--x is declared twice, at train.py:4 too (train.py:5)")
    assert is_refused(code)
