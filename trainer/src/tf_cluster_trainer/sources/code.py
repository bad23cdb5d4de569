"""The code of this task's program, for as long as the task lives."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ..config import Source
from .errors import StoppedError, UnreachableError
from .fetch import described, fetch
from .limits import Limits
from .login import DEFAULT_LOGIN_DIRECTORY


@contextlib.contextmanager
def fetched(
    source: Source,
    log: Callable[[str], None],
    stopped: Callable[[], bool],
    limits: Limits,
    logins: Path = Path(DEFAULT_LOGIN_DIRECTORY),
) -> Iterator[Path]:
    """A context that gives a directory with the code, and removes it at the end.

    `logins` is the directory with the login of a private source.

    The fetch runs in a thread, so that no hanging connection or file system keeps the task from
    ending. Raises what `fetch` raises, and StoppedError once `stopped` returns True.
    """
    place = Path(tempfile.mkdtemp(prefix="tf-cluster-code-"))
    try:
        code = place / "code"
        code.mkdir()
        began = time.monotonic()
        _in_a_thread(
            lambda: fetch(source, code, place / "scratch", limits, log, logins=logins),
            *(source, stopped, limits),
        )
        shutil.rmtree(place / "scratch", ignore_errors=True)
        log(f"code: {described(source)}, here after {time.monotonic() - began:.1f} s")
        yield code
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _in_a_thread(
    work: Callable[[], None], source: Source, stopped: Callable[[], bool], limits: Limits
) -> None:
    failed: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:  # it is raised where it is waited for
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    until = time.monotonic() + limits.seconds
    while thread.is_alive():
        if stopped():
            raise StoppedError
        if time.monotonic() >= until:
            words = f"not here after {limits.seconds:g} s"
            raise UnreachableError(f"program.source: {described(source)}: {words}")
        thread.join(0.1)
    if failed:
        raise failed[0]
