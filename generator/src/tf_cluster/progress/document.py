"""Reads the status document of an attempt (docs/formats.md)."""

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Progress:
    """The part of the status document that is shown; None where unknown."""

    status: str
    final: bool = False
    message: str = ""
    step: int | None = None
    total: int | None = None
    percent: float | None = None
    steps_per_second: float | None = None
    eta_seconds: float | None = None
    loss: float | None = None
    workers: Mapping[str, int] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    export: str | None = None


def fetch_progress(port: int, attempt: str, timeout: float = 1.0) -> Progress | None:
    """Ask the chief; None if it does not answer, or answers for another attempt."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        connection.request("GET", "/progress")
        answer = connection.getresponse()
        return _of(answer.read(), attempt) if answer.status == 200 else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def read_progress(run_folder: Path, attempt: str) -> Progress | None:
    """The run directory's progress.json, if this attempt wrote it."""
    try:
        return _of((run_folder / "progress.json").read_bytes(), attempt)
    except OSError:
        return None


def read_message(message: str) -> Progress | None:
    """A client's termination message; None if it is none, but a log's end or another container's.

    A long one lacks what Kubernetes has no room for (docs/formats.md).
    """
    document = _document(message)
    return _shown(document) if document else None


def _of(raw: bytes, attempt: str) -> Progress | None:
    document = _document(raw)
    return _shown(document) if document and document.get("attempt") == attempt else None


def _document(raw: bytes | str) -> Mapping[str, Any] | None:
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) and "attempt" in document else None


def _shown(document: Mapping[str, Any]) -> Progress:
    return Progress(
        status=str(document.get("status", "starting")),
        final=bool(document.get("final")),
        message=str(document.get("message") or ""),
        step=document.get("step"),
        total=document.get("total"),
        percent=document.get("percent"),
        steps_per_second=document.get("stepsPerSecond"),
        eta_seconds=document.get("etaSeconds"),
        loss=document.get("loss"),
        workers=document.get("workers") or {},
        metrics=document.get("metrics") or {},
        export=document.get("export"),
    )
