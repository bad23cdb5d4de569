"""Virtual time: what is due next, and chance."""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable
from typing import Any


class Steady(random.Random):
    """No chance: what is between two bounds is in the middle, of some things it is the first.

    A schedule that is written out event by event stays what it is with this, whatever is drawn in
    others.
    """

    def random(self) -> float:
        return 0.5

    def uniform(self, a: float, b: float) -> float:
        return (a + b) / 2

    def randint(self, a: int, b: int) -> int:
        return (a + b) // 2

    def choice(self, seq: Any) -> Any:
        return seq[0]


class Engine:
    """Runs what was put on its agenda in the order of time; equal times in the order of putting."""

    def __init__(self, chance: random.Random) -> None:
        self.now = 0.0
        self.chance = chance
        self.story: list[str] = []
        self._agenda: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._put = 0

    def after(self, seconds: float, do: Callable[..., None], *arguments: Any) -> None:
        """Do this so many virtual seconds from now."""
        self._put += 1
        heapq.heappush(self._agenda, (self.now + seconds, self._put, do, arguments))

    def soon(self, least: float, most: float, do: Callable[..., None], *arguments: Any) -> None:
        """Do this at a random time between the two."""
        self.after(self.chance.uniform(least, most), do, *arguments)

    def step(self) -> bool:
        """Do what is due next; False when nothing is left."""
        if not self._agenda:
            return False
        self.now, _, do, arguments = heapq.heappop(self._agenda)
        do(*arguments)
        return True

    def tell(self, who: str, what: str) -> None:
        """A line of the story, for whoever reads a seed that failed."""
        self.story.append(f"{self.now:8.2f} {who}: {what}")
