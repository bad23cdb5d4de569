"""Children that are forked from a process that has imported TensorFlow already.

The import is 2.5 of the CPU seconds that a child costs before it does anything; a fork is 0.1. What
it can't show is a start: where that is the point a child is a process of its own.

All forks of one server share the seed of Python's hashes, and so the order of sets of text. Tasks
that disagree on such an order are seen where processes are real: in `tests/generator/local` and in
the cluster.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from tests.support import fork_server
from tests.tied import tied_to_us

# A child or its program reads these when it needs them. All others may be read in an import.
_READ_LATE = ("TF_CLUSTER_", "TMPDIR", "PYTEST_CURRENT_TEST")


class Forked:
    """A process that a fork server has forked; to be used as a Popen."""

    def __init__(self, pid: int, handle: int, status: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._handle = handle
        self._status = status

    def poll(self) -> int | None:
        """The exit code, a signal's negative; None while it runs."""
        return self._ended(0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code; TimeoutExpired when there is none in so many seconds."""
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(fork_server.MODULE, timeout or 0)
        return code

    def send_signal(self, number: int) -> None:
        """Nothing once it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        """SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def _ended(self, timeout: float | None) -> int | None:
        if self.returncode is None:
            waits = select.poll()
            waits.register(self._status, select.POLLIN)
            if not waits.poll(None if timeout is None else timeout * 1000):
                return None
            status = os.read(self._status, fork_server.STATUS.size)
            if not status:
                raise AssertionError("the fork server is gone, and its children with it")
            (self.returncode,) = fork_server.STATUS.unpack(status)
            os.close(self._status)
            os.close(self._handle)
        return self.returncode


class ForkServer:
    """The tester's side of a process that forks children."""

    def __init__(self, imports: str, environment: Mapping[str, str]) -> None:
        self.environment = dict(environment)
        self._requests, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        program = str(Path(fork_server.__file__))
        with its:
            self.process = subprocess.Popen(
                tied_to_us(sys.executable, program, str(its.fileno()), imports),
                env=self.environment,
                pass_fds=(its.fileno(),),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
            )
        self._asking = threading.Lock()

    def can_fork(self, environment: Mapping[str, str]) -> bool:
        """Whether a child of this environment finds nothing in it that its imports would read."""
        names = {*self.environment, *environment}
        return all(
            self.environment.get(name) == environment.get(name)
            for name in names
            if not name.startswith(_READ_LATE)
        )

    def fork(
        self,
        environment: Mapping[str, str],
        directory: Path,
        output: int,
        control: tuple[int, int],
    ) -> Forked:
        """A child that reads and writes `control`, with `output` as its standard output and error.

        These are file descriptors of ours; the child has its own.
        """
        request = json.dumps({"environment": dict(environment), "directory": str(directory)})
        status, its = os.pipe()
        try:
            with self._asking:
                socket.send_fds(self._requests, [request.encode()], [output, *control, its])
                answer, handles, *_ = socket.recv_fds(self._requests, fork_server.STATUS.size, 1)
        finally:
            os.close(its)
        if not answer:
            raise AssertionError(f"the fork server ended with {self.process.wait()}")
        (pid,) = fork_server.STATUS.unpack(answer)
        return Forked(pid, handles[0], status)

    def end(self) -> None:
        """It and all of its children end."""
        self._requests.close()
        self.process.wait()


@functools.cache
def fork_server_of(imports: Literal["whole", "bare"]) -> ForkServer:
    """This process' own server, with the environment of now; it ends with us."""
    server = ForkServer(imports, os.environ)
    atexit.register(server.end)
    return server
