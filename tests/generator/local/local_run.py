"""A `tf-cluster run` in the background, with what a test asks of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.ports import ports_of_runs
from tests.support.waiting import HANG_SECONDS
from tests.tied import tied_to_us

HERE = Path(__file__).parent


def fake_trainer(folder: Path) -> Path:
    """An executable that runs fake_trainer.py beside this file."""
    program = folder / "fake-tf-trainer"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} {HERE / 'fake_trainer.py'}\n")
    program.chmod(0o755)
    return program


class LocalRunInTest:
    """One `tf-cluster run params.yaml` in `folder`, in a session of its own, output in files."""

    def __init__(self, folder: Path, *options: str, trainer: Path | None) -> None:
        self.folder = folder
        self._out = folder / "stdout"
        self._err = folder / "stderr"
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        if trainer is not None:
            environment["TF_CLUSTER_TRAINER"] = str(trainer)
        elif "--ports" not in options:
            options = (*options, "--ports", ports_of_runs())
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                tied_to_us(sys.executable, "-m", "tf_cluster", "run", "params.yaml", *options),
                cwd=folder,
                stdout=out,
                stderr=err,
                env=environment,
                start_new_session=True,
            )

    @property
    def stdout(self) -> str:
        return self._out.read_text()

    @property
    def stderr(self) -> str:
        return self._err.read_text()

    def starts(self, task: str) -> list[dict[str, Any]]:
        """What each process of a (fake) task was told, oldest first."""
        found = list(self.folder.glob(f"runs/*/data/{task}.starts"))
        lines = found[0].read_text().splitlines() if found else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def wait_until(
        self, what: str, true: Callable[[], bool], timeout: float = HANG_SECONDS
    ) -> None:
        """Wait for a condition; fail with what was last seen."""
        deadline = time.monotonic() + timeout
        while not true():
            seen = f"stdout:\n{self.stdout}\nstderr:\n{self.stderr}"
            assert time.monotonic() < deadline, f"{what}: not within {timeout:g} s\n{seen}"
            assert self.process.poll() is None or true(), f"{what}: the run ended before\n{seen}"
            time.sleep(0.05)

    def wait(self, timeout: float = HANG_SECONDS) -> int:
        """The exit code."""
        try:
            return self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout:g} s\n{self.seen()}") from None

    def seen(self) -> str:
        """What tells why a run does not end: its words, its processes, the end of each log."""
        logs = sorted(self.folder.glob("runs/*/logs/*.log"))
        ends = [f"{log.name}:\n" + "\n".join(log.read_text().splitlines()[-20:]) for log in logs]
        return "\n\n".join([self.stderr, "\n".join(self.processes()), *ends])

    def end(self) -> None:
        """Kill the command if it still runs: its tasks die with it."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def send(self, number: signal.Signals) -> None:
        """A signal to the command alone, as Ctrl-C reaches it: tasks have sessions of their own."""
        self.process.send_signal(number)

    def processes(self) -> list[str]:
        """Every process of this run, by what its environment says; command lines, sorted."""
        found = []
        marker = f"TF_CLUSTER_CONFIG={self.folder}/".encode()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if marker in (entry / "environ").read_bytes():
                    found.append((entry / "cmdline").read_bytes().decode().replace("\0", " "))
            except OSError:
                continue
        return sorted(command for command in found if command)


RunParams = Callable[..., LocalRunInTest]


@contextmanager
def runs_of_params(folder: Path) -> Iterator[RunParams]:
    """Starts `tf-cluster run` on the text of a params file; all of them end with this context."""
    started: list[LocalRunInTest] = []

    def run(text: str, *options: str, trainer: Path | None = None) -> LocalRunInTest:
        (folder / "params.yaml").write_text(text)
        started.append(LocalRunInTest(folder, *options, trainer=trainer))
        return started[-1]

    try:
        yield run
    finally:
        for one in started:
            one.end()
