"""Commands that end in time, and with whoever runs them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from tests.tied import tied_to_us

TIMED_OUT = 124  # as coreutils' timeout says it
CLEANING_SECONDS = 90.0


def run_command(
    command: Sequence[str], folder: Path, environment: Mapping[str, str], seconds: float
) -> int:
    """Run it to its end; its exit code, or TIMED_OUT when it was ended after `seconds`.

    It is ended, too, when this process is asked to end.
    """
    process = subprocess.Popen(
        tied_to_us(*command), cwd=folder, env=dict(environment), start_new_session=True
    )
    try:
        return process.wait(max(seconds, 0))
    except subprocess.TimeoutExpired:
        end(process)
        return TIMED_OUT
    except BaseException:
        end(process)
        raise


def end(
    process: subprocess.Popen[bytes],
    asked: signal.Signals = signal.SIGINT,
    seconds: float = CLEANING_SECONDS,
) -> None:
    """End a session: asked first, so that pytest cleans up and writes its report, then killed."""
    for number, patience in ((asked, seconds), (signal.SIGKILL, None)):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)


def weigh(nice: int, session: int | None = None) -> None:
    """Give a session, else our own, more (-20) or less (19) of the machine, where that can be.

    Linux gives all sessions the same, and heeds `nice` only inside of one (sched(7), autogroup).
    """
    with suppress(OSError):
        Path(f"/proc/{session or 'self'}/autogroup").write_text(str(nice))


@contextmanager
def weighed(nice: int) -> Iterator[None]:
    """Give our session more or less of the machine while the block runs."""
    weigh(nice)
    try:
        yield
    finally:
        weigh(0)


def leave(number: int, _: object) -> NoReturn:
    """The handler of a signal that asks this process to end: what it runs is ended first."""
    sys.exit(128 + number)
