"""One piece of work for each of many things: in processes when they are enough, always in order."""

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn, TypeVar

from tf_cluster.exits import RefusedError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

SERIAL = 50
"""Up to so many things a single process is faster."""
_MOST = 16
"""Most processes."""

Thing = TypeVar("Thing")
Result = TypeVar("Result")


def each(
    work: Callable[[Thing], Result], things: Sequence[Thing], processes: int | None = None
) -> Iterator[Result]:
    """The results for all things, in their order. `processes`: how many; by default, as fits.

    What `work` raises is raised here, at its turn. No process outlives this.
    """
    number = _fitting(len(things)) if processes is None else processes
    if len(things) > 1:
        # What is there now stays: the collector leaves it out, and processes go on sharing it.
        gc.freeze()
    if number < 2:
        yield from map(work, things)
        return
    children: list[_Child] = []
    try:
        for index in range(number):
            children.append(_started(work, things[index::number], children))
        for index in range(len(things)):
            yield _next(children[index % number])
    finally:
        for child in children:
            child.end()


def _fitting(things: int) -> int:
    """How many processes are worth it. A fork is safe only in a process without other threads."""
    if things <= SERIAL or not hasattr(os, "fork") or threading.active_count() > 1:
        return 1
    return min(_cpus(), _MOST, things // (SERIAL // 2))


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


class _Child:
    def __init__(self, pid: int, results: "Connection") -> None:
        self.pid = pid
        self.results = results

    def end(self) -> None:
        """Kill the process if it is still there, and wait for it."""
        self.results.close()
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, 0)


def _started(
    work: Callable[[Thing], Result], things: Sequence[Thing], others: Sequence[_Child]
) -> _Child:
    """A process that sends the results of these things."""
    from multiprocessing.connection import Pipe  # not for a few files: it imports sockets

    reader, writer = Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid:
        writer.close()
        return _Child(pid, reader)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it without a word
    for other in others:
        other.results.close()
    reader.close()
    _send_all(work, things, writer)


def _send_all(
    work: Callable[[Thing], Result], things: Sequence[Thing], writer: "Connection"
) -> NoReturn:
    """Send each result, or what was raised instead. Nothing of the parent's runs at the end."""
    status = 1
    try:
        for thing in things:
            try:
                answer = (work(thing), None)
            except Exception as error:
                writer.send((None, _with_its_traceback(error)))
                break
            writer.send(answer)
        status = 0
    finally:
        os._exit(status)


def _with_its_traceback(error: Exception) -> Exception:
    """The same error, which tells in another process where it was raised."""
    import traceback

    text = "".join(traceback.format_exception(error))
    error.__dict__["__notes__"] = [*getattr(error, "__notes__", []), text]
    return error


def _next(child: _Child) -> Result:  # type: ignore[type-var]
    try:
        result, error = child.results.recv()
    except EOFError:
        why = (
            "one of the processes that checked the files was ended: try again, or with fewer files"
        )
        raise RefusedError(why) from None
    if error is not None:
        raise error
    return result  # type: ignore[no-any-return]
