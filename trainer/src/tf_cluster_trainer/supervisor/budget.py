"""How often something may be started again before that is given up."""

from __future__ import annotations


class Budget:
    """`limit` restarts; getting on with the work fills it up again."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self.spent = 0

    def spend(self) -> bool:
        """Take one restart; False when there is none left."""
        if self.spent >= self._limit:
            return False
        self.spent += 1
        return True

    def refill(self) -> None:
        """The work got on: all restarts are there again."""
        self.spent = 0
