"""A training written by hand: the processes of one program of by_hand/, on loopback or links."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.links import Links
from tests.bench.training import Point, Training, quiet_environment
from tests.ports import free_port

PORT = 2222  # on a link, where nobody else is
BY_HAND = Path(__file__).parent / "by_hand"
_STEP = re.compile(r"^step (\d+) at ([0-9.]+)$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """A program by hand: its file, arguments and steps a call, and the tasks it needs.

    `steps_per_call` is None where the program has no such choice: it makes one.
    `after_the_first`: TensorFlow 1 workers that find nothing to join look again after 30 s, so who
    runs them starts worker 0 first.
    """

    file: str
    arguments: tuple[str, ...]
    steps_per_call: int | None
    workers: int = 2
    ps: int = 1
    chief: bool = True
    after_the_first: bool = False

    @property
    def command(self) -> tuple[str, ...]:
        """What Python runs."""
        steps = () if self.steps_per_call is None else (str(self.steps_per_call),)
        return (str(BY_HAND / self.file), *self.arguments, *steps)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many tasks of each kind there are."""
        all_kinds = {"ps": self.ps, "worker": self.workers, "chief": int(self.chief)}
        return {kind: number for kind, number in all_kinds.items() if number}

    @property
    def tasks(self) -> list[str]:
        """Their names, in the order in which they start."""
        return [f"{kind}-{i}" for kind, number in self.counts.items() for i in range(number)]

    @property
    def client(self) -> str:
        """The task that tells the steps."""
        return "chief-0" if self.chief else "worker-0"


class ByHand(Training):
    """All tasks of a program, each one process with TF_CONFIG. `links`: each has its own."""

    def __init__(self, program: Program, links: Links | None = None) -> None:
        super().__init__()
        self._program = program
        self._links = links
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._cluster = {
            kind: [self._address(f"{kind}-{index}") for index in range(number)]
            for kind, number in program.counts.items()
        }
        late = [
            name
            for name in program.tasks
            if program.after_the_first and name.startswith("worker-") and name != program.client
        ]
        for name in program.tasks:
            if name not in late:
                self._start(name)
        self._late = threading.Thread(target=self._start_late, args=(late,), daemon=True)
        self._late.start()

    def start_client_again(self) -> float:
        """Kill the client and start it at once, as somebody would who sees it end; when."""
        name = self._program.client
        killed = time.time()
        self._started[name].kill()
        self._started[name].wait()
        self._start(name)
        return killed

    def processes(self) -> Sequence[subprocess.Popen[bytes]]:
        return tuple(self._started.values())

    def points(self) -> list[Point]:
        return self._points_of(self._program.client)

    def tasks(self) -> dict[str, list[int]]:
        return {name: [process.pid] for name, process in self._started.items()}

    def everybody_trains(self) -> bool:
        return not self._program.after_the_first or all(
            self._points_of(f"worker-{index}") for index in range(self._program.workers)
        )

    def words(self) -> str:
        return "\n".join(self._log(name).read_text(errors="replace") for name in self._started)

    def _points_of(self, name: str) -> list[Point]:
        try:
            text = self._log(name).read_text(errors="replace")
        except OSError:
            return []
        return [Point(float(time), {"all": int(step)}) for step, time in _STEP.findall(text)]

    def _start_late(self, names: Sequence[str]) -> None:
        while names and not self.points():
            if self._started[self._program.client].poll() is not None:
                return
            threading.Event().wait(0.1)
        for name in names:
            self._start(name)

    def _start(self, name: str) -> None:
        kind, _, index = name.partition("-")
        config = {"cluster": self._cluster, "task": {"type": kind, "index": int(index)}}
        command = (sys.executable, *self._program.command)
        with self._log(name).open("wb") as log:
            self._started[name] = subprocess.Popen(
                self._links.inside(name, *command) if self._links else command,
                cwd=self.folder,
                env={
                    **quiet_environment(),
                    "TMPDIR": str(self.folder),
                    "TF_CONFIG": json.dumps(config),
                    "TF_CPP_MIN_LOG_LEVEL": "2",
                    "TF_USE_LEGACY_KERAS": "1",
                    "GRPC_FAIL_FAST": "use_caller",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _address(self, name: str) -> str:
        if self._links:
            return f"{self._links.host(name)}:{PORT}"
        return f"127.0.0.1:{free_port()}"

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"
