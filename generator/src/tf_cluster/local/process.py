"""The process of one task, which ends together with all processes that it started."""

import os
import signal
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from tf_cluster.local.logs import log_header
from tf_cluster.local.task import Task


class TaskProcess:
    """A supervisor of the trainer, in a session of its own.

    `restarts` counts restarts after faults; `due` is the time of the next restart, or None.
    """

    def __init__(
        self, task: Task, *, command: str, log: Path, environment: Mapping[str, str]
    ) -> None:
        self.task = task
        self.log = log
        self.restarts = 0
        self.due: float | None = None
        self.exit_code: int | None = None
        self._command = command
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def alive(self) -> bool:
        """Whether it was started and is not known to have ended."""
        return self._process is not None

    def start(self) -> None:
        """Start it with a new pod UID; output is appended to its log."""
        pod_uid = str(uuid.uuid4())
        environment = {
            **self._environment,
            "TF_CLUSTER_TASK_TYPE": self.task.type,
            "TF_CLUSTER_TASK_INDEX": str(self.task.index),
            "TF_CLUSTER_POD_UID": pod_uid,
        }
        self.due = self.exit_code = None
        with self.log.open("ab") as log:
            log.write(log_header(self.task.name).encode())
            log.flush()
            self._process = subprocess.Popen(
                [self._command],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def poll(self) -> int | None:
        """The exit code if it has ended; then nothing of its session is left."""
        if self._process is None:
            return self.exit_code
        # Not reaped yet, so that its process group's number can't be reused.
        ended = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if ended is None:
            return None
        self._signal_group(signal.SIGKILL)
        self.exit_code = self._process.wait()
        self._process = None
        return self.exit_code

    def ask_to_end(self) -> None:
        """SIGTERM to the supervisor, which passes it on."""
        if self._process is not None:
            # not send_signal, which would reap: until `poll` reaps it, the PID can't be reused
            os.kill(self._process.pid, signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL to its process group, and wait for it."""
        if self._process is not None:
            self._signal_group(signal.SIGKILL)
            self._process.kill()
            self.exit_code = self._process.wait()
            self._process = None

    def _signal_group(self, number: int) -> None:
        if self._process is not None:
            try:
                os.killpg(self._process.pid, number)
            except (ProcessLookupError, PermissionError):
                return  # nothing is left but perhaps the zombie
