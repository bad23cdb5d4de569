"""A cluster on loopback ports: real supervisors, stand-in children, a run directory."""

from __future__ import annotations

import functools
import json
import os
import signal
import subprocess
import sys
import urllib.request
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, ask

from tests.ports import free_port
from tests.support.waiting import eventually

STAND_IN = Path(__file__).with_name("stand_in.py")
SCHEMAS = Path(__file__).parents[3] / "trainer/src/tf_cluster_trainer/schemas"
# While the file BUSY_DISK is there, no fsync of a supervisor returns, as if a save kept the disk.
PROGRAM = """
import ctypes, os, sys, time
from tf_cluster_trainer.sources.limits import Limits
from tf_cluster_trainer.supervisor.peers import ask as peers
from tf_cluster_trainer.supervisor.main import supervise
from tf_cluster_trainer.supervisor.process.die_with_parent import signal_on_parent_death
from tf_cluster_trainer.supervisor.timing import Timing
if not signal_on_parent_death(9, int(os.environ["OF_TESTS"])):
    sys.exit("the test run is gone")
poll = float(os.environ.get("POLL_SECONDS", "0.1"))
fast = Timing(grace=1, worker_poll=poll, quick_poll=poll, calm_poll=poll, backoff=0.1, tick=0.1,
              renewal=float(os.environ.get("RENEWAL_SECONDS", "0.3")),
              save=float(os.environ.get("SAVE_SECONDS", "600")),
              guard=float(os.environ.get("GUARD_SECONDS", "600")),
              stall=float(os.environ.get("STALL_SECONDS", "600")))
peers.UNANNOUNCED_SECONDS = 1.0
if "GETS_ORPHANS" in os.environ:  # as PID 1 of a pod does
    PR_SET_CHILD_SUBREAPER = 36
    assert ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1) == 0
flush = os.fsync
def flush_when_the_disk_is_free(descriptor):
    while os.path.exists(os.environ["BUSY_DISK"]):
        time.sleep(0.01)
    flush(descriptor)
if "BUSY_DISK" in os.environ:
    os.fsync = flush_when_the_disk_is_free
sys.exit(supervise(os.environ, sys.argv[1:], fast, Limits(tries=2, pause=0.1)))
"""
DEADLINE_SECONDS = 60.0


@functools.cache
def _progress_schema() -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(json.loads((SCHEMAS / "progress.schema.json").read_text()))


@dataclass
class Task:
    """One supervisor process."""

    name: str
    address: str
    process: subprocess.Popen[bytes]
    log: Path
    directory: Path

    def progress(self) -> dict[str, Any]:
        """Its status document, {} while it does not answer; held to the schema."""
        document = self._answer("/progress")
        if document:
            _progress_schema().validate(document)
        return document

    def health(self) -> dict[str, Any]:
        return self._answer("/healthz")

    def _answer(self, path: str) -> dict[str, Any]:
        """A busy machine may take long; who is not there refuses at once."""
        try:
            return ask(self.address, path, timeout=10)
        except NoAnswerError:
            return {}

    def metrics(self) -> str:
        """What Prometheus would read."""
        with urllib.request.urlopen(f"http://{self.address}/metrics", timeout=5) as answer:
            return str(answer.read().decode())

    def until(self, **wanted: Any) -> dict[str, Any]:
        """Its status document once it holds all that is wanted."""
        last: dict[str, Any] = {}

        def look() -> dict[str, Any] | None:
            last.clear()
            last.update(self.progress())
            there = bool(last) and all(last.get(key) == value for key, value in wanted.items())
            return last if there else None

        try:
            return eventually(f"{self.name} {wanted}", look)
        except AssertionError as error:
            raise AssertionError(f"{error}; {last}; log:\n{self.said()}") from None

    def child(self, number: int) -> int:
        """The pid of its n-th child, once that has started."""
        note = self.directory / f"{self.name}.{number}.started"
        eventually(f"{self.name} starts child {number}", note.exists)
        return int(note.read_text().split()[0])

    def starts(self) -> int:
        return len(list(self.directory.glob(f"{self.name}.*.started")))

    def do(self, order: str) -> None:
        """Have its child do this next."""
        temporary = self.directory / f"{self.name}.do.tmp"
        temporary.write_text(order)
        temporary.rename(self.directory / f"{self.name}.do")

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def ends(self, seconds: float = DEADLINE_SECONDS) -> int:
        """Its exit code."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} does not end; log:\n{self.said()}") from None

    def said(self) -> str:
        return self.log.read_text()


@dataclass
class Supervisors:
    """One attempt (or several) of one run."""

    directory: Path
    steps: int = 1_000_000
    workers: int = 1
    restarts: int = 5
    deadline: float = 60.0
    final_seconds: float = 5.0
    attempt: str = "a1"
    files: str = ""  # what its own are called by; the attempt, unless another world has that too
    words: tuple[str, str, str] = ("parameter-server", "in-graph", "async")
    program: dict[str, Any] = field(default_factory=lambda: {"module": "program:Program"})
    counts: dict[str, int] = field(default_factory=dict)
    optimizer: dict[str, Any] = field(default_factory=lambda: {"name": "SGD", "learningRate": 0.1})
    jobs: dict[str, str] = field(
        default_factory=lambda: {"chief": "cj", "worker": "wj", "ps": "", "evaluator": "ej"}
    )
    tasks: list[Task] = field(default_factory=list)
    addresses: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.files = self.files or self.attempt
        for name in ("log", "data", "temporary"):
            (self.directory / name).mkdir(exist_ok=True)
        chiefs = int(self.words[1] == "in-graph")
        ps = int(self.words[0] == "parameter-server")
        counts = self.counts or {"chief": chiefs, "worker": self.workers, "ps": ps}
        self.addresses = {
            kind: [f"127.0.0.1:{free_port()}" for _ in range(count)]
            for kind, count in counts.items()
            if count
        }
        self.evaluator = f"127.0.0.1:{free_port()}"

    @property
    def run_dir(self) -> Path:
        return self.directory / "log" / "digits" / "1"

    @property
    def children(self) -> Path:
        """Where this attempt's stand-ins leave notes and find orders."""
        return self.directory / f"children-{self.files}"

    def write(self) -> Path:
        self.children.mkdir(exist_ok=True)
        place = self.directory / f"config-{self.files}"
        place.mkdir(exist_ok=True)
        cluster = {
            "version": 1,
            "attempt": self.attempt,
            "cluster": self.addresses,
            "status": self.addresses,
            "hint": "kubectl get pods",
        }
        training = {
            "version": 1,
            "run": {"name": "digits", "id": "1"},
            "program": self.program,
            **dict(zip(("strategy", "replication", "update"), self.words, strict=True)),
            "train": {
                "steps": self.steps,
                "batchSize": 64,
                "stepsPerCall": 1,
                "seed": 1,
                "optimizer": self.optimizer,
                "checkpoint": {"seconds": 60, "keep": 3},
                "reportSeconds": 0.2,
            },
            "flags": {},
            "dirs": {"data": str(self.directory / "data"), "log": str(self.directory / "log")},
            "peers": {"deadlineSeconds": self.deadline},
            "failure": {"restarts": self.restarts, "finalStateSeconds": self.final_seconds},
        }
        for name, document in (("cluster", cluster), ("training", training)):
            # A task that is just starting reads the file while the next one's start writes it.
            new = place / f"{name}.new"
            new.write_text(json.dumps(document))
            new.replace(place / f"{name}.json")
        return place

    def start(self, kind: str, index: int = 0, **environment: str) -> Task:
        """Start a supervisor as a platform would: a pod UID of its own."""
        place = self.write()
        name = f"{kind}-{index}"
        address = self.evaluator if kind == "evaluator" else self.addresses[kind][index]
        log = self.directory / f"{self.files}-{name}.log"
        with log.open("ab") as stream:
            process = subprocess.Popen(
                [sys.executable, "-c", PROGRAM, sys.executable, str(STAND_IN), str(self.children)],
                env={
                    **os.environ,
                    "OF_TESTS": str(os.getpid()),
                    "TMPDIR": str(self.directory / "temporary"),
                    "TF_CLUSTER_CONFIG": str(place),
                    "TF_CLUSTER_TERMINATION_LOG": "",  # of a pod that the tests run in
                    "TF_CLUSTER_TASK_TYPE": kind,
                    "TF_CLUSTER_TASK_INDEX": str(index),
                    "TF_CLUSTER_JOB_UID": self.jobs[kind],
                    "TF_CLUSTER_POD_UID": uuid.uuid4().hex[:8],
                    "TF_CLUSTER_STATUS": address,
                    **environment,
                },
                stdout=stream,
                stderr=stream,
            )
        task = Task(name, address, process, log, self.children)
        self.tasks.append(task)
        return task

    def start_all(self, **environment: str) -> tuple[Task, Task, Task]:
        """Chief, worker-0, ps-0."""
        kinds = ("chief", "worker", "ps")
        chief, worker, ps = (self.start(kind, 0, **environment) for kind in kinds)
        return chief, worker, ps

    def close(self) -> None:
        for task in self.tasks:
            task.kill()
