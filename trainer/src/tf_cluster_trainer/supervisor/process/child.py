"""One child: started, listened to, asked to end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from tf_cluster_trainer import protocol
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log
from tf_cluster_trainer.supervisor.process import die_with_parent
from tf_cluster_trainer.supervisor.rules.events import ChildEnded, ChildSaid

DRAIN_SECONDS = 5.0


class Child:
    """A running process of which no more is known than that it runs.

    Start it from the main thread only: the kernel kills it when the starting *thread* ends. It has
    a session of its own, so that Ctrl-C in a terminal reaches the supervisor alone and whatever
    it leaves behind can be found. stdout and stderr are the supervisor's.
    """

    def __init__(
        self,
        number: int,
        command: Sequence[str],
        environment: Mapping[str, str],
        inbox: Inbox,
        *,
        directory: Path | None = None,
        pass_fds: Sequence[int] = (),
    ) -> None:
        self.number = number
        self._inbox = inbox
        starter = str(Path(die_with_parent.__file__))
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", starter, str(os.getpid()), *command],
            env=environment,
            cwd=directory,
            pass_fds=pass_fds,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        threading.Thread(target=self._wait, daemon=True).start()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def terminate(self) -> None:
        """Ask it to save and end."""
        self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it now, and what it started."""
        self._kill_group()
        self._process.kill()

    def _wait(self) -> None:
        returncode = self._process.wait()
        self._kill_group()
        self._drain_output()
        self._inbox.put(ChildEnded(self.number, returncode))

    def _drain_output(self) -> None:
        """Called when it has ended, before that is told."""

    def _kill_group(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


class TalkingChild(Child):
    """A child of ours, with the pipes of protocol.py.

    It has a directory for temporary files, which is removed after it: TensorFlow leaves a file for
    every function that it rewrites, and a process that is killed can't clear up.
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
        self._reader.start()  # it hears nothing before the child is there
        ends = (child_reads, child_writes)
        try:
            self._temporary = tempfile.mkdtemp(prefix="tf-trainer-")
            ours = {
                "TMPDIR": self._temporary,
                protocol.CONTROL_VARIABLE: f"{child_reads},{child_writes}",
            }
            super().__init__(number, command, {**environment, **ours}, inbox, pass_fds=ends)
        finally:
            for end in ends:
                os.close(end)

    def go(self) -> None:
        """Let a waiting child begin. A child that is gone already is heard of as ChildEnded."""
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
            self._log.write(f"can't read the child's messages any more: {error!r}")

    def _drain_output(self) -> None:
        # Everything it said is heard before its end, unless something still holds its pipe: what
        # is not heard, a result, counts as never said.
        self._reader.join(DRAIN_SECONDS)
        shutil.rmtree(self._temporary, ignore_errors=True)


def reap_orphans(child: int | None) -> None:
    """Collect processes that were left to this one as PID 1, but not the child itself."""
    with contextlib.suppress(ChildProcessError):
        while True:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None or ended.si_pid == child:
                return
            os.waitpid(ended.si_pid, 0)
