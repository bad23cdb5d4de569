"""Wait for a condition with a deadline; never for a length of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Seen = TypeVar("Seen")

# The suites share two cores: what takes 20 s alone took over a minute beside the others.
PATIENCE = 3
# A command that takes longer hangs: that is told before the case's own limit, with what it printed.
HANG_SECONDS = 240.0


def eventually(
    what: str, look: Callable[[], Seen | None], seconds: float = 20, every: float | None = None
) -> Seen:
    """What `look` finds, as soon as it is true in Python's sense, within PATIENCE × `seconds`.

    It looks `every` so many seconds; when not told, so rarely that looking is a tenth of the
    wait. Raises AssertionError, with what was waited for and what was last seen, when the deadline
    has passed. A look that raises AssertionError or LookupError counts as "not yet".
    """
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        try:
            found = look()
            if found:
                return found
            seen = repr(found)
        except (AssertionError, LookupError) as error:
            seen = f"{type(error).__name__}: {error}"
        ended = time.monotonic()
        if ended > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}; last seen: {seen[:2000]}")
        time.sleep(min(0.5, max(0.03, 10 * (ended - began))) if every is None else every)
