"""Every ps works on its own rows, all of them at once, each on one slice after the other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


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

    def each(
        self, work: Callable[[str, Iterator[tuple[int, Item]]], Result]
    ) -> Iterator[tuple[str, Result]]:
        """Call `work(device, items with their numbers)` in each thread; yield what each returns.

        Raises the first error. The items of the others end then, and it waits for those under way.
        """
        ended = threading.Event()

        def until_ended(items: Sequence[Item]) -> Iterator[tuple[int, Item]]:
            for numbered in enumerate(items):
                if ended.is_set():
                    return
                yield numbered

        working = {
            self._threads.submit(work, device, until_ended(items)): device
            for device, items in self._shares.items()
        }
        try:
            for one in futures.as_completed(working):
                yield working[one], one.result()
        finally:
            ended.set()
            futures.wait(working)
