"""`tf-trainer check-exports` and `tf-trainer publish-export`.

Each prints one document on one line, the last one (docs/formats.md).
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.serving.check import WrongPlaceError, check
from tf_cluster_trainer.serving.compare import TOLERANCE
from tf_cluster_trainer.serving.documents import hand_over
from tf_cluster_trainer.serving.publish import publish


def check_exports(arguments: Sequence[str]) -> int:
    """Check the versions of a directory; return the exit code."""
    parser = _parser("check-exports", "Say which exported versions a server may get.")
    parser.add_argument("directory", type=Path, help="export/ or best/ of a run, or a model's")
    parser.add_argument(
        "--until-good", action="store_true", help="no further than the first good one"
    )
    given = parser.parse_args(arguments)
    where, number, tolerance = given.directory, given.version, given.tolerance
    return _ended(lambda: check(where, number, tolerance, until_good=given.until_good))


def publish_export(arguments: Sequence[str]) -> int:
    """Copy a version to where a server looks for it; return the exit code."""
    parser = _parser("publish-export", "Check a version and copy it under the next number.")
    parser.add_argument("source", type=Path, metavar="FROM", help="export/ or best/ of a run")
    parser.add_argument("target", type=Path, metavar="TO", help="the model's directory")
    given = parser.parse_args(arguments)
    return _ended(lambda: publish(given.source, given.target, given.version, given.tolerance))


def _parser(command: str, description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=f"tf-trainer {command}", description=description)
    parser.add_argument("--version", type=_number, metavar="N", help="this one alone")
    parser.add_argument(
        "--tolerance",
        type=_tolerance,
        default=TOLERANCE,
        help="how far an answer may be from the recorded one: |a - b| / max(1, |a|) (%(default)s)",
    )
    return parser


def _ended(work: Callable[[], dict[str, Any]]) -> int:
    # The first process of a container is ended by no signal that it does not ask for.
    signal.signal(signal.SIGTERM, _stop)
    try:
        document = work()
    except WrongPlaceError as error:
        print(error, file=sys.stderr, flush=True)
        hand_over({"version": 1, "error": str(error)})
        return exit_codes.CONFIG
    hand_over(document)
    return exit_codes.DONE


def _stop(*_: object) -> None:
    sys.exit(exit_codes.STOPPED)


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} is no version's number")
    return int(text)


def _tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no tolerance: 0 or more")
    return value
