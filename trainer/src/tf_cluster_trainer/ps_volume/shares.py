"""Every ps works on its own rows, all of them at once, each on one slice after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent import futures
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

import tensorflow as tf

SETTLE_SECONDS = 30.0
Item = TypeVar("Item")
Result = TypeVar("Result")


def task_of(device: str) -> str:
    """`ps-0` of a ps' device."""
    found = tf.DeviceSpec.from_string(device)
    return f"{found.job}-{found.task}"


class PsShares(Generic[Item]):
    """Items by the device of the ps whose share they are, and a thread for each ps.

    Always the same threads: see Saver.
    """

    def __init__(self, items: Iterable[Item], device_of: Callable[[Item], str]) -> None:
        shares: dict[str, list[Item]] = {}
        for one in items:
            shares.setdefault(device_of(one), []).append(one)
        self._shares: Mapping[str, Sequence[Item]] = shares
        self._threads = futures.ThreadPoolExecutor(max(1, len(shares)), "ps-share")

    def each(self, work: Callable[[str, int, Item], Result]) -> Running[Result]:
        """Call `work(device, number in its share, item)` for each, in the thread of its ps."""
        return Running(self._threads, self._shares, work)


class Running(Generic[Result]):
    """What is under way. It gives what `work` returned, as it comes, and raises the first error.

    It begins when it is first asked. Who goes through it no further closes the iterator, which
    waits a while for what is under way, or calls `end`, which does not.
    """

    def __init__(
        self,
        threads: futures.Executor,
        shares: Mapping[str, Sequence[Any]],
        work: Callable[[str, int, Any], Result],
    ) -> None:
        self._threads = threads
        self._shares = shares
        self._work = work
        self._ended = threading.Event()
        self._results: SimpleQueue[Result | _Through] = SimpleQueue()

    def end(self) -> None:
        """Begin no more item. Any thread may call it."""
        self._ended.set()

    def __iter__(self) -> Generator[Result, None, None]:
        shares = [self._threads.submit(self._share, *share) for share in self._shares.items()]
        for one in shares:
            one.add_done_callback(lambda share: self._results.put(_Through(share)))
        left = len(shares)
        try:
            while left:
                result = self._results.get()
                if isinstance(result, _Through):
                    result.share.result()
                    left -= 1
                else:
                    yield result
        finally:
            self.end()
            futures.wait(shares, SETTLE_SECONDS)

    def _share(self, device: str, items: Sequence[Any]) -> None:
        for number, one in enumerate(items):
            if self._ended.is_set():
                return
            self._results.put(self._work(device, number, one))


class _Through:
    """A share is through, or failed."""

    def __init__(self, share: futures.Future[None]) -> None:
        self.share = share
