"""One of our trainings: a `tf-cluster run`, asked through what it writes for TensorBoard."""

from __future__ import annotations

import contextlib
import json
import struct
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tensorboard.compat.proto.event_pb2 import Event

from tests.bench import processes
from tests.bench.earlier import python_path
from tests.bench.training import Point, Training, quiet_environment

PROGRAMS = Path(__file__).parent / "ours"
ENDLESS = 100_000_000
NEVER = 1_000_000.0
_HEADER, _FOOTER = 12, 4  # bytes around a record: its length and two checksums


class Ours(Training):
    """`tf-cluster run` with these params.

    `trainer` is a script to run as the trainer; it finds the folder in BENCH_FOLDER. `sources` has
    the tool and the trainer of an earlier commit.
    """

    def __init__(
        self,
        document: Mapping[str, Any],
        *,
        trainer: Path | None = None,
        data: Path | None = None,
        sources: Path | None = None,
    ) -> None:
        super().__init__()
        self._of_sources = {"PYTHONPATH": python_path(sources)} if sources else {}
        (self.folder / "params.yaml").write_text(json.dumps(document))
        self._shared = document.get("update") == "sync" or document.get("strategy") == "all-reduce"
        self._workers = int(document["workers"])
        self._said = self.folder / "words"
        self._said.touch()
        self._started = self._start(trainer, data)

    @property
    def run_dir(self) -> Path:
        """Checkpoints, events and so on."""
        return self.folder / "runs" / "bench" / "1"

    def processes(self) -> Sequence[subprocess.Popen[bytes]]:
        return self._started

    def event_files(self) -> list[Path]:
        """One for each start of the chief's child."""
        return sorted(self.run_dir.glob("events/events.out.tfevents.*"))

    def points(self) -> list[Point]:
        found = [point for file in self.event_files() for point in self.points_of(file)]
        return sorted(found, key=lambda point: point.time)

    def points_of(self, file: Path) -> list[Point]:
        """Those of one start."""
        return [
            Point(event.wall_time, self._counts(event))
            for event in _events(file.read_bytes())
            if event.HasField("summary")
        ]

    def tasks(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for pid in self.pids():
            told = processes.environment(pid)
            if "TF_CLUSTER_TASK_TYPE" in told:
                name = f"{told['TF_CLUSTER_TASK_TYPE']}-{told['TF_CLUSTER_TASK_INDEX']}"
                found.setdefault(name, []).append(pid)
        return found

    def everybody_trains(self) -> bool:
        counts = self.points()[-1].counts
        made = [steps for steps in counts.values() if steps]
        return len(made) == (1 if self._shared else self._workers)

    def status_address(self, task: str) -> str | None:
        """host:port of a task's status; None before the run has said."""
        kind, _, index = task.partition("-")
        with contextlib.suppress(OSError, ValueError):
            cluster = json.loads((self.run_dir.parent / "config" / "cluster.json").read_text())
            return str(cluster["status"][kind][int(index)])
        return None

    def words(self) -> str:
        logs = sorted((self.run_dir.parent / "logs").glob("*.log"))
        return "\n".join(file.read_text(errors="replace")[-1500:] for file in (self._said, *logs))

    def _start(self, trainer: Path | None, data: Path | None) -> Sequence[subprocess.Popen[bytes]]:
        with self._said.open("wb") as words:
            one = subprocess.Popen(
                (
                    *(sys.executable, "-m", "tf_cluster", "run", "params.yaml"),
                    *(("--data", str(data)) if data else ()),
                ),
                cwd=self.folder,
                env={
                    **quiet_environment(),
                    **self._of_sources,
                    "TMPDIR": str(self.folder),
                    **self._other_trainer(trainer),
                },
                stdin=subprocess.DEVNULL,
                stdout=words,
                stderr=words,
                start_new_session=True,
            )
        return (one,)

    def _other_trainer(self, script: Path | None) -> dict[str, str]:
        if script is None:
            return {}
        program = self.folder / "tf-trainer"
        program.write_text(f"#!/bin/sh\nexec {sys.executable} {script}\n")
        program.chmod(0o755)
        return {"TF_CLUSTER_TRAINER": str(program), "BENCH_FOLDER": str(self.folder)}

    def _counts(self, event: Any) -> dict[str, int]:
        if self._shared:
            return {"all": event.step}
        return {
            value.tag: int(value.tensor.float_val[0])
            for value in event.summary.value
            if value.tag.startswith("workers/")
        }


def params(*, steps_per_call: int | None, report: float, **settings: Any) -> dict[str, Any]:
    """Params of a training that never ends and does not save: two workers, one ps, the digits.

    `settings` are further params; a `train` among them is merged.
    """
    train = {
        "steps": ENDLESS,
        "batchSize": 32,
        "optimizer": {"name": "Adam", "learningRate": 0.001},
        "checkpoint": {"seconds": NEVER},
        "reportSeconds": report,
        **({} if steps_per_call is None else {"stepsPerCall": steps_per_call}),
        **settings.pop("train", {}),
    }
    program = {"module": "programs:Digits", "path": str(PROGRAMS)}
    shape = {"workers": 2} if settings.get("strategy") == "all-reduce" else {"workers": 2, "ps": 1}
    return {"name": "bench", "program": program, **shape, "train": train, **settings}


def _events(data: bytes) -> Iterator[Any]:
    at = 0
    while at + _HEADER <= len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        begin, at = at + _HEADER, at + _HEADER + length + _FOOTER
        if at <= len(data):
            yield Event.FromString(data[begin : begin + length])
