"""One child process: starts it, reads its messages, ends it."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tf_cluster_trainer import protocol
from tf_cluster_trainer.log import RECORDS_VARIABLE, WARNING
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log
from tf_cluster_trainer.supervisor.process import die_with_parent
from tf_cluster_trainer.supervisor.process.output import Output
from tf_cluster_trainer.supervisor.rules.events import ChildEnded, ChildSaid

QUIET_SECONDS = 5.0
"""After a child's end nothing more came from its pipes: another process holds them."""
DRAIN_SECONDS = 12.0
"""What its last words may take where they still come: on a machine that is busy, or from others.

With the time that a child has to end it stays below the 30 s of a pod.
"""


class Child:
    """A child process that sends no messages.

    Start it from the main thread only: the kernel kills it when the starting *thread* ends. It has
    its own session, so that Ctrl-C in a terminal reaches only the supervisor, and its leftover
    processes can be found. stdout and stderr are the supervisor's, or pass through its log, where
    that keeps them.
    """

    def __init__(
        self,
        number: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        log: Log,
        *,
        directory: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.number = number
        self._inbox = inbox
        self._output = Output(log.take) if log.keeps_output else None
        stdout, stderr = self._output.ends if self._output else (None, None)
        starter = str(Path(die_with_parent.__file__))
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", starter, str(os.getpid()), *command],
                env=environment,
                cwd=directory,
                pass_fds=pass_fds,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )
        finally:
            if self._output:
                self._output.begin()
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def terminate(self) -> None:
        """Ask the child to save and end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the child and the processes that it started."""
        self._kill_group()
        self._process.kill()

    def _wait(self) -> None:
        returncode = self._process.wait()
        self._kill_group()
        self._drain()
        self._inbox.put(ChildEnded(self.number, returncode))

    def _drain(self) -> None:
        """Called when the child has ended, before ChildEnded, which waits for its last words.

        A process that got away from the child's group may hold its pipes for ever.
        """
        if self._output:
            self._output.drain(QUIET_SECONDS, DRAIN_SECONDS)

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


class TalkingChild(Child):
    """A child of ours, with the pipes of protocol.py.

    It has a directory for temporary files, which is removed after its end: TensorFlow leaves a file
    for every function that it rewrites, and a killed process can't clean up.
    """

    def __init__(
        self,
        number: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        log: Log,
    ) -> None:
        self._log = log
        child_reads, we_write = os.pipe()
        we_read, child_writes = os.pipe()
        self._channel = protocol.Channel(os.fdopen(we_read), os.fdopen(we_write, "w"))
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()  # there is nothing to read before the child is there
        ends = (child_reads, child_writes)
        try:
            self._temporary = tempfile.mkdtemp(prefix="tf-trainer-")
            ours = {
                "TMPDIR": self._temporary,
                protocol.CONTROL_VARIABLE: f"{child_reads},{child_writes}",
            }
            if log.keeps_output:
                ours[RECORDS_VARIABLE] = "1"
            super().__init__(number, command, {**environment, **ours}, inbox, log, pass_fds=ends)
        finally:
            for end in ends:
                os.close(end)

    def go(self) -> None:
        """Let a waiting child begin. For a child that has ended, ChildEnded follows."""
        with contextlib.suppress(OSError):
            self._channel.send(protocol.Go())

    def finish(self, step: int | None) -> None:
        """Tell an evaluator's child which checkpoint is the last."""
        with contextlib.suppress(OSError):
            self._channel.send(protocol.Finish(step))

    def _listen(self) -> None:
        try:
            for message in self._channel.receive():
                self._inbox.put(ChildSaid(self.number, message))
        except (ValueError, KeyError, TypeError) as error:
            self._log.write(f"can't read the child's messages any more: {error!r}", WARNING)

    def _drain(self) -> None:
        deadline = time.monotonic() + QUIET_SECONDS
        super()._drain()
        # All its messages are read before its end is reported, unless another process still holds
        # its pipe. An unread message, even a result, counts as never sent.
        self._reader.join(max(0.0, deadline - time.monotonic()))
        shutil.rmtree(self._temporary, ignore_errors=True)


def reap_orphans(child: int | None) -> None:
    """Reap the orphans that this process gets as PID 1, but not the child itself."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == child:
                return
            os.waitpid(ended.si_pid, 0)
