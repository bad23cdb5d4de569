"""Children of tests: real processes on loopback, spoken to as a supervisor would."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar

from tf_cluster_trainer import protocol
from tf_cluster_trainer.protocol import Channel, Finish, Go, Message

from tests.ports import free_port
from tests.support.forked import Forked, ForkServer, fork_server_of
from tests.tied import tied_to_us

PROGRAMS = Path(__file__).parents[1] / "trainer/child/programs"
DIGITS = "tf_cluster_trainer.examples.digits:Digits"
DEADLINE = 150.0

Kind = TypeVar("Kind")


class Child:
    """A child process and all it has said."""

    def __init__(
        self,
        environment: Mapping[str, str],
        log: Path,
        where: Path | None = None,
        within: Sequence[str] = (),
        server: ForkServer | None = None,
    ) -> None:
        to_child, our_writer = os.pipe()
        our_reader, from_child = os.pipe()
        self.log = log
        self.process: subprocess.Popen[bytes] | Forked
        with log.open("ab") as output:
            control = (to_child, from_child)
            if server and not within and server.can_fork(environment):
                where = Path.cwd() if where is None else where
                self.process = server.fork(environment, where, output.fileno(), control)
            else:
                self.process = _process(environment, output, control, where, within)
        os.close(to_child)
        os.close(from_child)
        self.started = time.monotonic()
        self.messages: list[Message] = []
        self.times: list[float] = []
        self._writer = os.fdopen(our_writer, "w")
        self._channel = Channel(os.fdopen(our_reader), self._writer)
        self._news = threading.Condition()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def go(self) -> float:
        self._channel.send(Go())
        return time.monotonic()

    def finish(self, step: int | None) -> None:
        """As when training is done, with this step as its last."""
        self._channel.send(Finish(step))

    def hang_up(self) -> None:
        """As when the supervisor is gone."""
        self._writer.close()

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [message for message in list(self.messages) if isinstance(message, kind)]

    def when(self, message: Message) -> float:
        """Time at which a message came."""
        return self.times[self.messages.index(message)]

    def wait_for(
        self,
        kind: type[Kind],
        which: Callable[[Kind], bool] = lambda _: True,
        *,
        deadline: float = DEADLINE,
    ) -> Kind:
        """The first message of a kind that passes."""
        end = time.monotonic() + deadline
        with self._news:
            while True:
                for message in self.of(kind):
                    if which(message):
                        return message
                if self.process.poll() is not None and not self._listener.is_alive():
                    raise AssertionError(f"{kind.__name__} never came; {self.tail()}")
                if time.monotonic() > end:
                    raise AssertionError(f"no {kind.__name__} in {deadline} s; {self.tail()}")
                self._news.wait(0.2)

    def wait_until_it_listens(self) -> None:
        """Until its handler for SIGTERM is there (Linux says so)."""
        end = time.monotonic() + DEADLINE
        while time.monotonic() < end:
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
            if int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1:
                return
            time.sleep(0.01)
        raise AssertionError("no handler for SIGTERM")

    def wait_until_it_says(self, words: str) -> None:
        end = time.monotonic() + DEADLINE
        while words not in self.text():
            if time.monotonic() > end or self.process.poll() is not None:
                raise AssertionError(f"never said {words!r}; {self.tail()}")
            time.sleep(0.05)

    def exit_code(self, *, deadline: float = DEADLINE) -> int:
        try:
            code = self.process.wait(deadline)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still runs after {deadline} s; {self.tail()}") from None
        self._listener.join(5)
        return code

    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def tail(self) -> str:
        return f"last said {self.messages[-3:]}; its log ends:\n{self.text()[-3000:]}"

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _listen(self) -> None:
        for message in self._channel.receive():
            with self._news:
                self.messages.append(message)
                self.times.append(time.monotonic())
                self._news.notify_all()


def _process(
    environment: Mapping[str, str],
    output: IO[bytes],
    control: tuple[int, int],
    where: Path | None,
    within: Sequence[str],
) -> subprocess.Popen[bytes]:
    """A child as its supervisor starts it."""
    return subprocess.Popen(
        tied_to_us(*within, sys.executable, "-m", "tf_cluster_trainer.child"),
        env={**environment, protocol.CONTROL_VARIABLE: ",".join(map(str, control))},
        pass_fds=control,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=output,
        cwd=where,
        # Linux shares the processor between sessions.
        start_new_session=True,
    )


@dataclass
class Children:
    """One attempt's tasks: ps and workers once for several chiefs, as a worker pod has it.

    Without a chief the workers train by themselves: `train` starts them, each time anew.
    """

    directory: Path
    workers: int
    ps: int
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    where: Path | None = None  # the children's working directory, when not ours
    has_chief: bool = True
    within: Sequence[str] = ()  # what a child's command line begins with
    forks: bool = True  # else every child starts by itself, not only those that have to

    def __post_init__(self) -> None:
        self._count = itertools.count()
        self.children: list[Child] = []
        self._workers: list[Child] = []
        self.addresses = {
            kind: [f"127.0.0.1:{free_port()}" for _ in range(number)]
            for kind, number in (
                ("chief", int(self.has_chief)),
                ("worker", self.workers),
                ("ps", self.ps),
            )
            if number
        }

    def __enter__(self) -> Children:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for child in self.children:
            child.end()

    def serve(self, *kinds: str) -> dict[str, Child]:
        """Start every worker and ps, or those of these kinds, and wait until they serve."""
        servers = {
            f"{kind}-{index}": self.start(kind, index)
            for kind, number in (("worker", self.workers), ("ps", self.ps))
            if not kinds or kind in kinds
            for index in range(number)
        }
        for server in servers.values():
            server.wait_for(protocol.Serving)
        return servers

    def start(
        self,
        kind: str,
        index: int = 0,
        *,
        pod: str = "pod-1",
        export_best: str = "",
        **settings: Any,
    ) -> Child:
        number = next(self._count)
        config = self.directory / f"config-{number}"
        config.mkdir(parents=True)
        run = training(self.directory, **settings)
        cluster = {
            "version": 1,
            "attempt": "test",
            "cluster": self.addresses,
            "status": self.addresses,
        }
        (config / "cluster.json").write_text(json.dumps(cluster))
        (config / "training.json").write_text(json.dumps(run))
        temporary = self.directory / "tmp"  # TensorFlow leaves files there
        temporary.mkdir(exist_ok=True)
        child = Child(
            {
                **self.environment,
                "TMPDIR": str(temporary),
                "TF_CLUSTER_CONFIG": str(config),
                "TF_CLUSTER_TASK_TYPE": kind,
                "TF_CLUSTER_TASK_INDEX": str(index),
                "TF_CLUSTER_JOB_UID": "job-1",
                "TF_CLUSTER_POD_UID": pod,
                "TF_CLUSTER_STATUS": "127.0.0.1:1",
                "TF_CLUSTER_EXPORT_BEST": export_best,
            },
            self.directory / f"{number}-{kind}-{index}.log",
            self.where,
            self.within,
            self._fork_server(kind, run),
        )
        self.children.append(child)
        return child

    def _fork_server(self, kind: str, run: Mapping[str, Any]) -> ForkServer | None:
        """Who forks a child of this kind for this training; None: it has to start by itself."""
        if not self.forks or run["train"]["xla"]:  # XLA's flags are read in the import
            return None
        serves = kind == "ps" or (kind == "worker" and self.has_chief)
        return fork_server_of("bare" if serves else "whole")

    def chief(self, **settings: Any) -> Child:
        """A chief's child whose attempt owns the run."""
        own(self.run_dir(settings.get("run_id", "1")))
        return self.start("chief", **settings)

    def train(self, **settings: Any) -> list[Child]:
        """Let the children of all workers train, where there is no chief; the client is first."""
        own(self.run_dir(settings.get("run_id", "1")))
        for left in self._workers:  # by a case that failed: it must fail no other
            left.end()
        workers = [self.start("worker", index, **settings) for index in range(self.workers)]
        self._workers = workers
        let_go(workers)
        return workers

    def run_dir(self, run_id: str = "1") -> Path:
        return self.directory / "log" / "digits" / run_id

    def checkpoints(self, run_id: str = "1") -> list[int]:
        found = (self.run_dir(run_id) / "checkpoints").glob("ckpt-*")
        return sorted(int(p.name[5:]) for p in found if p.name[5:].isdecimal())


def let_go(children: Sequence[Child]) -> None:
    """Let them train, once all are ready."""
    for child in children:
        child.wait_for(protocol.Ready)
    for child in children:
        child.go()


def own(run_dir: Path, job_uid: str = "job-1", pod_uid: str = "pod-1") -> None:
    run_dir.mkdir(parents=True, exist_ok=True)
    owner = {
        "jobUid": job_uid,
        "podUid": pod_uid,
        "attempt": "test",
        "counter": 1,
        "released": False,
        "superseded": [],
    }
    (run_dir / "owner.json").write_text(json.dumps(owner))


def training(
    directory: Path,
    *,
    run_id: str = "1",
    module: str = DIGITS,
    path: str | None = None,
    steps: int = 2000,
    batch: int = 32,
    micro: int | None = None,
    per_call: int | None = 10,
    optimizer: Mapping[str, Any] | None = None,
    save_seconds: float = 3600,  # a test that wants saves on the way says so
    save_steps: int | None = None,
    keep: int = 3,
    report_seconds: float = 0.5,
    flags: Mapping[str, Any] | None = None,
    strategy: str = "parameter-server",
    replication: str = "in-graph",
    update: str = "async",
    precision: str = "float32",
    xla: bool = False,
    log_on_ps: bool | None = None,
) -> dict[str, Any]:
    """A training.json."""
    return {
        "version": 1,
        "run": {"name": "digits", "id": run_id},
        "program": {"module": module, **({"path": path} if path else {})},
        "strategy": strategy,
        "replication": replication,
        "update": update,
        "train": {
            "steps": steps,
            "batchSize": batch,
            **({} if micro is None else {"microBatches": micro}),
            "stepsPerCall": per_call,
            "seed": 1,
            "precision": precision,
            "xla": xla,
            "optimizer": dict(optimizer or {"name": "Adam", "learningRate": 0.001}),
            "checkpoint": {"seconds": save_seconds, "steps": save_steps, "keep": keep},
            "reportSeconds": report_seconds,
        },
        "flags": dict(flags or {}),
        "dirs": {"data": str(directory / "data"), "log": str(directory / "log")},
        **({} if log_on_ps is None else {"ps": {"logVolume": log_on_ps}}),
        "peers": {"deadlineSeconds": 60},
        "failure": {"restarts": 5, "finalStateSeconds": 5},
    }
