"""Wait for a condition with a deadline; never for a length of time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

# The suites share two cores: what takes 20 s alone took over a minute beside the others.
PATIENCE = 3


def eventually(what: str, probe: Callable[[], T | None], seconds: float, every: float = 0.5) -> T:
    """The first value of `probe` that is neither None nor False, within PATIENCE × `seconds`.

    Raises AssertionError that says what was waited for when the deadline has passed. A probe that
    raises AssertionError or LookupError counts as "not yet"; its words are in the message.
    """
    seconds *= PATIENCE
    deadline = time.monotonic() + seconds
    seen = "nothing"
    while True:
        try:
            value = probe()
            if value is not None and value is not False:
                return value
            seen = repr(value)
        except (AssertionError, LookupError) as error:
            seen = f"{type(error).__name__}: {error}"
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds:.0f} s for {what}; last seen: {seen[:2000]}")
        time.sleep(every)
