"""Arguments are read by the rules of the image's Python, whichever Python runs the tool.

Where all Pythons have the same rules, the real argparse is the judge.
"""

from __future__ import annotations

import argparse
import random
import time
from typing import Any, NoReturn

import pytest
from tf_cluster.program.argparse_judge import problems
from tf_cluster.program.options import CommandLine, Option

PLACE = "train.py:1"
DATA = Option(("data",), PLACE)
EXTRA = Option(("extra",), PLACE, nargs="?")
LR = Option(("--lr",), PLACE, type="float")
PAIR = Option(("--pair",), PLACE, nargs=2)
SIZES = Option(("--sizes",), PLACE, nargs=2, type="int")
VERBOSE = Option(("-v",), PLACE, "store_true")
QUIET = Option(("-q",), PLACE, "store_true")
NUMBER = Option(("-n",), PLACE, type="int")
LONG = Option(("-steps",), PLACE, type="int")
SYNC = Option(("--sync",), PLACE, "store_true", group=0)
ONCE = Option(("once",), PLACE, nargs="*", group=0)
BATCHES = (Option(("--batch_size",), PLACE), Option(("--batch_norm",), PLACE))


def line(*options: Option, **more: Any) -> CommandLine:
    return CommandLine(options, **{"strict": True, "place": PLACE, **more})


@pytest.mark.parametrize(
    ("options", "args"),
    [
        ((DATA, LR, EXTRA), ["/data", "--lr", "0.1", "extra.csv"]),
        ((PAIR, LR), ["--pair", "--lr", "-x"]),
        ((PAIR, *BATCHES), ["--pair", "--batch", "x"]),
        ((VERBOSE, NUMBER), ["-vn=3"]),
        ((LONG,), ["-st=3"]),
        ((Option(("--name",), PLACE),), ["--name=--"]),
        ((SYNC, ONCE), ["--sync"]),
    ],
)
def test_what_the_images_python_takes_is_good(options: tuple[Option, ...], args: list[str]) -> None:
    assert problems(line(*options, exclusive=(False,)), args) == []


@pytest.mark.parametrize(
    ("options", "more", "args", "told"),
    [
        ((DATA, EXTRA), {}, ["/data", "a", "b"], [("unknown", 2)]),
        ((VERBOSE,), {}, ["-vq"], [("unknown", 0)]),
        ((VERBOSE,), {}, ["-v=1"], [("value", 0)]),
        ((VERBOSE, NUMBER), {}, ["-vvn", "x", "-vn-"], [("value", 1), ("value", 2)]),
        ((VERBOSE, QUIET), {}, ["-vqv-q", "-vv=1"], [("value", 0), ("value", 1)]),
        ((LONG,), {"abbreviates": False}, ["-st=3"], [("unknown", 0)]),
        ((SIZES, LR), {}, ["--sizes", "1", "--lr=2"], [("value", 0)]),
        ((LR,), {}, ["--"], [("unknown", 0)]),
        ((LR,), {}, ["--lr=x", "--help"], [("value", 0)]),
        ((LR, DATA), {}, ["--oops", "--he"], []),
        ((), {"strict": False}, ["--oops", "x"], []),
    ],
)
def test_what_the_images_python_refuses_is_told(
    options: tuple[Option, ...], more: dict[str, Any], args: list[str], told: list[tuple[str, int]]
) -> None:
    found = problems(line(*options, **more), args)

    assert [(one.kind, one.index) for one in found] == told


@pytest.mark.parametrize(
    ("options", "args"),
    [
        ((VERBOSE, QUIET), ["-" + "vq" * 100_000] * 10),
        ([Option((f"at{at}",), PLACE, nargs="*") for at in range(400)] + [SIZES], ["1"] * 500),
        ([Option((f"at{at}",), PLACE, nargs=2) for at in range(400)] + [SIZES], ["1"] * 500),
        ((Option(("--at",), PLACE, nargs=500), LR), ["--at"] * 500),
    ],
)
def test_many_arguments_are_read_in_little_time(options: list[Option], args: list[str]) -> None:
    start = time.process_time()

    problems(line(*options), args)

    assert time.process_time() - start < 3


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


KINDS: tuple[dict[str, Any], ...] = (
    {},
    {"type": "int"},
    {"nargs": "+", "type": "int"},
    {"nargs": "*"},
    {"nargs": "?"},
    {"action": "store_true"},
    {"action": "count"},
    {"action": "append"},
    {"choices": ("a", "b")},
    {"required": True},
)
NAMES = ("--lr", "--steps", "-v", "-n", "--batch_size")


def drawn(random_: random.Random) -> tuple[CommandLine, list[str]]:
    """A command line and arguments that all Pythons read by the same rules."""
    options = [
        Option((name,), PLACE, **random_.choice(KINDS))
        for name in random_.sample(NAMES, random_.randint(1, 4))
    ]
    for at in range(random_.randint(0, 2)):
        nargs = random_.choice([None, "+"])
        options.insert(random_.randint(0, 3), Option((f"at{at}",), PLACE, nargs=nargs))
    names = [one.names[0] for one in options if one.names[0].startswith("-")]
    others = ["a", "1", "-1", "x y", "--lr=1", "-n1", "--batch", "--st=2", "--oops", "-q", "--"]
    args = random_.choices([*names, *names, *others], k=random_.randint(0, 6))
    return line(*options, has_help=False), args


def takes(line: CommandLine, args: list[str]) -> bool:
    parser = Parser(add_help=False)
    for one in line.options:
        given: dict[str, Any] = {"action": one.action, "required": one.required}
        if not one.names[0].startswith("-"):
            del given["required"]
        if one.action in ("store", "append"):
            given |= {"nargs": one.nargs, "choices": one.choices}
            given["type"] = int if one.type == "int" else str
        parser.add_argument(*one.names, **given)
    try:
        parser.parse_args(args)
    except ValueError:
        return False
    return True


def test_pythons_own_argparse_is_the_judge() -> None:
    good = 0
    for seed in range(2000):
        command, args = drawn(random.Random(seed))
        is_good = takes(command, args)
        good += is_good
        assert (problems(command, args) == []) == is_good, (command.options, args)
    assert 100 < good < 1900
