"""Keeps Python's garbage collection out of the long import of TensorFlow."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def put_off() -> Iterator[None]:
    """No collection meanwhile, and none ever looks at what was made meanwhile.

    What an import makes stays. To look through all of it again and again takes an eighth to a
    quarter of TensorFlow's import, and later a fifth of a second in each full collection.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
