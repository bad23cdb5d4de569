"""Run a command that the kernel kills when the process that started it ends.

    python -I -S die_with_parent.py <pid of the starter> <command> [<argument> …]

It is a separate program, because Python's `preexec_fn` is not safe in a process with threads.
PR_SET_PDEATHSIG watches the *thread* that started this process, and survives exec.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def signal_on_parent_death(death_signal: int, parent: int) -> bool:
    """Ask the kernel for a signal when the parent ends; False if the parent is not `parent` any
    more.

    The comparison comes after the request, so a parent that ended before it is detected.
    """
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0)
    return os.getppid() == parent


if __name__ == "__main__":
    if not signal_on_parent_death(signal.SIGKILL, int(sys.argv[1])):
        sys.exit(1)
    os.execvp(sys.argv[2], sys.argv[2:])
