"""Run a command that the kernel kills when the process that started it ends.

    python -I -S die_with_parent.py <pid of the starter> <command> [<argument> …]

A program of its own, because Python's `preexec_fn` is not safe in a process with threads. The tie
(PR_SET_PDEATHSIG) holds to the *thread* that started this process and survives exec.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def signal_on_parent_death(death_signal: int, parent: int) -> bool:
    """Have this process sent a signal when its parent ends; False when that is no longer `parent`.

    The comparison comes after the call: a parent that ended before it is not missed.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    return os.getppid() == parent


if __name__ == "__main__":
    if not signal_on_parent_death(signal.SIGKILL, int(sys.argv[1])):
        sys.exit(1)
    os.execvp(sys.argv[2], sys.argv[2:])
