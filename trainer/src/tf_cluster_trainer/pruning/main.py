"""`tf-trainer prune-runs`: says what lies on a log volume, or removes some of it.

It prints one document on one line, the last one (docs/formats.md).
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.pruning.look import TRAINING, as_line, listing, look
from tf_cluster_trainer.pruning.remove import Result, Wanted, remove

LIST_FORMAT = "tf-cluster.io/volume/v1"
REMOVED_FORMAT = "tf-cluster.io/removed/v1"


def main(arguments: Sequence[str]) -> int:
    """List or remove as the arguments say; return the exit code."""
    # The first process of a container is ended by no signal that it does not ask for.
    signal.signal(signal.SIGTERM, _stop)
    given = _parser().parse_args(arguments)
    try:
        seen = look(given.log, given.training)
        if given.command == "list":
            print(as_line({"format": LIST_FORMAT, **dict(listing(seen, given.log))}), flush=True)
            return exit_codes.DONE
        results = remove(given.log, seen, given.run, _say)
        after = look(given.log, given.training, sleep=lambda _: None)
    except OSError as error:
        print(f"tf-trainer prune-runs: {error}", file=sys.stderr, flush=True)
        return exit_codes.CONFIG
    document: dict[str, object] = {
        "format": REMOVED_FORMAT,
        "bytesBefore": seen.size,
        "bytesAfter": after.size,
        "freeBytesAfter": dict(listing(after, given.log))["freeBytes"],
        "runs": [
            {"training": one.training, "run": one.run, "outcome": one.outcome, "why": one.why}
            for one in results
        ],
    }
    print(as_line(document), flush=True)
    return exit_codes.FAILED if any(one.outcome == "failed" for one in results) else 0


def _stop(*_: object) -> None:
    sys.exit(exit_codes.STOPPED)


def _say(result: Result) -> None:
    words = f"{result.training}/{result.run} {result.outcome}"
    print(as_line({"said": f"{words}: {result.why}" if result.why else words}), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tf-trainer prune-runs",
        description="Say what lies on a log volume, or remove some of it.",
    )
    parser.add_argument("--log", type=Path, default=Path("/log"), help="the volume's directory")
    parser.add_argument(
        "--training", type=_training, help="of this training alone: the name of its directory"
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("list", help="say what is there")
    removing = commands.add_parser("remove", help="remove some runs")
    removing.add_argument(
        "--run",
        type=_wanted,
        action="append",
        default=[],
        metavar="JSON",
        help="one that goes: its training, run and the time written, as `list` says them",
    )
    return parser


def _training(text: str) -> str:
    if not TRAINING.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is no training's name")
    return text


def _wanted(text: str) -> Wanted:
    try:
        one: Any = json.loads(text)
        return Wanted(str(one["training"]), str(one["run"]), int(one["written"]))
    except (ValueError, KeyError, TypeError) as error:
        raise argparse.ArgumentTypeError(f"{text}: {error!r}") from None
