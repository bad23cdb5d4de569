"""The child's log: one plain sentence a line, on standard error."""

from __future__ import annotations

import sys


def log(sentence: str) -> None:
    """Print one sentence and flush it."""
    print(sentence, file=sys.stderr, flush=True)
