"""The status document (docs/formats.md; schemas/progress.schema.json) as frozen data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tf_cluster_trainer import exit_codes

STARTING, WAITING, RUNNING, SAVING = "starting", "waiting", "running", "saving"
DONE, FAILED, SUPERSEDED, STOPPED = "done", "failed", "superseded", "stopped"


@dataclass(frozen=True)
class Document:
    """A task's status; the chief's is the attempt's."""

    attempt: str
    start: float
    total: int | None  # None: a script's, which nobody here knows
    examples_per_step: int
    chief_uid: str | None = None
    worker_uid: str | None = None
    evaluator_uid: str | None = None
    epoch: str | None = None
    status: str = STARTING
    final: bool = False
    exit_code: int | None = None
    message: str = "starting"
    now: float = 0.0
    step: int | None = None
    examples: int | None = None
    steps_per_second: float | None = None
    eta_seconds: float | None = None
    loss: float | None = None
    checkpoint_step: int | None = None
    restarts: int = 0
    workers: Mapping[str, int] = field(default_factory=dict)
    placement: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    export: str | None = None

    @property
    def percent(self) -> float | None:
        """The part of the total that is done, at most 100."""
        if self.step is None or self.total is None:
            return None
        return round(min(100.0, 100.0 * self.step / self.total), 2)

    @property
    def examples_per_second(self) -> float | None:
        """The rate in examples; a step has the batch of one worker, or of each worker when sync."""
        if self.steps_per_second is None:
            return None
        return self.steps_per_second * self.examples_per_step

    def as_json(self) -> dict[str, Any]:
        """The document in the form of its schema."""
        return {
            "version": 1,
            "attempt": self.attempt,
            "jobUids": {
                "chief": self.chief_uid,
                "worker": self.worker_uid,
                "evaluator": self.evaluator_uid,
            },
            "epoch": self.epoch,
            "status": self.status,
            "final": self.final,
            "exitCode": self.exit_code,
            "message": self.message,
            "start": self.start,
            "now": self.now,
            "step": self.step,
            "total": self.total,
            "percent": self.percent,
            "stepsPerSecond": _number(self.steps_per_second),
            "examples": self.examples,
            "examplesPerSecond": _number(self.examples_per_second),
            "etaSeconds": _number(self.eta_seconds),
            "loss": _number(self.loss),
            "checkpointStep": self.checkpoint_step,
            "restarts": self.restarts,
            "workers": dict(self.workers),
            "placement": dict(self.placement),
            "metrics": {name: _number(value) for name, value in self.metrics.items()},
            "export": self.export,
        }


@dataclass(frozen=True)
class Outcome:
    """How a supervisor ends: exit code, status, and the words that go with it."""

    exit_code: int
    status: str
    message: str

    @property
    def final(self) -> bool:
        """Whether no new pod of this attempt can change it."""
        return self.status in (DONE, SUPERSEDED) or self.exit_code == exit_codes.CONFIG

    @property
    def last_line(self) -> str:
        """The log's last line: the exit code, what it means for a retry, and the reason."""
        return (
            f"{self.status}, exit code {self.exit_code}{_ADVICE.get(self.exit_code, '')}: "
            + (self.message.partition("\n")[0])
        )


_ADVICE = {
    exit_codes.CONFIG: " (no retry can help: change what is named here)",
    exit_codes.PEERS_LOST: " (worth another try when the other tasks run)",
    exit_codes.FAILED: " (worth another try, which resumes from the checkpoint)",
}


def as_bytes(document: Document) -> bytes:
    """What /progress answers and progress.json holds."""
    return (json.dumps(document.as_json(), allow_nan=False) + "\n").encode()


def _number(value: float | None) -> float | None:
    """None for NaN and infinity, which JSON does not have."""
    if value is None or value != value or value in (float("inf"), float("-inf")):
        return None
    return value
