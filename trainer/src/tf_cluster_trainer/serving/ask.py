"""`tf-trainer ask-serving`: sends a model server the recorded request and compares the answer.

It prints one document on one line, the last one (docs/formats.md). Imports no TensorFlow.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.run_directory import export_record, tensors
from tf_cluster_trainer.serving import ask_compare, ask_messages, ask_recorded
from tf_cluster_trainer.serving.ask_recorded import Recorded, RecordError, Tensors
from tf_cluster_trainer.serving.ask_state import SERVES, Place, Seen, wait
from tf_cluster_trainer.serving.compare import TOLERANCE
from tf_cluster_trainer.serving.documents import hand_over

WAIT_SECONDS = 60.0
ANSWER_SECONDS = 60.0


def main(arguments: Sequence[str]) -> int:
    """Wait, ask, compare and print; return the exit code.

    It is 0 whatever the server says, and 2 for a file that can't be read.
    """
    # The first process of a container is ended by no signal that it does not ask for.
    signal.signal(signal.SIGTERM, _stop)
    given = _parser().parse_args(arguments)
    try:
        of = ask_recorded.of_export(given.export) if given.export else None
        recorded = of or ask_recorded.of_file(given.request)
    except RecordError as error:
        hand_over({"error": str(error)})
        return exit_codes.CONFIG
    place = Place(given.rest.rstrip("/"), given.model, given.version, given.label)
    began = time.monotonic()
    seen = wait(place, given.wait, _say)
    seconds = round(time.monotonic() - began, 3)
    difference, problem, outputs = None, seen.problem, None
    if seen.state == SERVES and recorded.inputs is not None:
        difference, problem, outputs = _asked(given, recorded)
    elif seen.state == SERVES:
        _say("it serves the version; no request is recorded, so none is sent")
    ok = seen.state == SERVES and problem is None
    hand_over(_document(seen, seconds, difference, ok, problem, outputs))
    return exit_codes.DONE


def _document(
    seen: Seen,
    seconds: float,
    difference: float | None,
    ok: bool,
    problem: str | None,
    outputs: Tensors | None,
) -> Mapping[str, Any]:
    return {
        "version": 1,
        "state": seen.state,
        "seconds": seconds,
        "difference": difference,
        "ok": ok,
        "problem": problem,
        "answer": _answer(outputs),
    }


def _answer(outputs: Tensors | None) -> Mapping[str, Any] | None:
    """The outputs as an export's record has them; None where they are none, or too large."""
    if outputs is None:
        return None
    try:
        made = {"outputs": {name: tensors.as_json(array) for name, (_, array) in outputs.items()}}
    except ValueError:  # of a type that is not recorded
        return None
    return made if len(json.dumps(made)) <= export_record.LARGEST else None


def _asked(
    given: argparse.Namespace, recorded: Recorded
) -> tuple[float | None, str | None, Tensors | None]:
    """The difference and the problem of the server's answer, and the answer."""
    request = ask_messages.request_of(
        given.model, given.version, recorded.signature, recorded.inputs or {}
    )
    options = (("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0))
    try:
        with grpc.insecure_channel(given.grpc, options=options) as channel:
            predict: Any = channel.unary_unary(ask_messages.PREDICT)
            version, outputs = ask_messages.answer_of(predict(request, timeout=ANSWER_SECONDS))
    except grpc.RpcError as error:
        return None, str(error.details() or error.code().name), None
    except ask_messages.MessageError as error:
        return None, str(error), None
    if version != given.version:
        return None, f"version {version} answered, not {given.version}", outputs
    if recorded.outputs is None:
        return None, None, outputs
    found = ask_compare.compared(outputs, recorded.outputs, given.tolerance)
    return found.difference, found.problem, outputs


def _say(words: str) -> None:
    print(json.dumps({"said": words}), flush=True)


def _stop(*_: object) -> None:
    sys.exit(exit_codes.STOPPED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tf-trainer ask-serving",
        description="Send a model server the request that was recorded with a version, and compare "
        "its answer with the recorded one.",
    )
    parser.add_argument("--grpc", required=True, metavar="HOST:8500", type=_address)
    parser.add_argument("--rest", required=True, metavar="http://HOST:8501", type=_url)
    parser.add_argument("--model", required=True, help="its name in the server")
    parser.add_argument("--version", required=True, type=_version, help="which of its versions")
    parser.add_argument(
        "--label", default="", metavar="NAME", help="wait until this label names the version, too"
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--export", type=Path, metavar="DIR", help="the version's directory")
    source.add_argument(
        "--request", type=Path, metavar="FILE", help="a file as its tf-cluster.json"
    )
    parser.add_argument(
        "--wait",
        type=_amount,
        default=WAIT_SECONDS,
        metavar="SECONDS",
        help=f"for the server to serve it (default {WAIT_SECONDS:g})",
    )
    parser.add_argument(
        "--tolerance",
        type=_amount,
        default=TOLERANCE,
        help=f"the largest difference that is none (default {TOLERANCE:g})",
    )
    return parser


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not (host and colon and port.isdecimal() and 0 < int(port) < 65536):
        raise argparse.ArgumentTypeError(f"{text!r} is no HOST:PORT")
    return text


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme != "http" or not parts.hostname or parts.path not in ("", "/") or parts.query:
        raise argparse.ArgumentTypeError(f"{text!r} is no http://HOST:PORT")
    return text


def _version(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no version's number")
    return int(text)


def _amount(text: str) -> float:
    try:
        amount = float(text)
    except ValueError:
        amount = -1.0
    if not 0 <= amount < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return amount
