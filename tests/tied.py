"""Processes that a test starts and that must not outlive it, however it ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from tf_cluster_trainer.supervisor.process import die_with_parent


def tied_to_us(*command: str | os.PathLike[str]) -> tuple[str, ...]:
    """The command, killed by the kernel when this process ends, even by SIGKILL.

    To be started by the main thread: the tie is to the thread. Its pid is the command's own.
    """
    starter = (sys.executable, "-I", "-S", str(Path(die_with_parent.__file__)), str(os.getpid()))
    return (*starter, *map(str, command))
