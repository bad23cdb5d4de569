"""Seconds spent inside functions of a process, told through a file."""

from __future__ import annotations

import functools
import json
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = "BENCH_FOLDER"


class Stopwatch:
    """Adds up the time inside the functions it watches; one inside another counts once.

    `$BENCH_FOLDER/NAME.json` has the sums by the clock and of CPU, the calls, and the time of the
    last.
    """

    def __init__(self, name: str) -> None:
        self._file = Path(os.environ[FOLDER]) / f"{name}.json"
        self._lock = threading.Lock()
        self._inside = threading.local()
        self._seconds = self._cpu = 0.0
        self._calls = 0

    def watch(self, owner: Any, *names: str) -> None:
        """Replace functions of a class by ones that are timed."""
        for name in names:
            setattr(owner, name, self._timed(getattr(owner, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **named: Any) -> Any:
            if getattr(self._inside, "now", False):
                return function(*arguments, **named)
            self._inside.now = True
            began, worked = time.perf_counter(), time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self._inside.now = False
                self._add(time.perf_counter() - began, time.thread_time() - worked)

        return timed

    def _add(self, seconds: float, cpu: float) -> None:
        with self._lock:
            self._seconds += seconds
            self._cpu += cpu
            self._calls += 1
            told = {
                "seconds": self._seconds,
                "cpu": self._cpu,
                "calls": self._calls,
                "at": time.time(),
            }
            new = self._file.with_suffix(".new")
            new.write_text(json.dumps(told))
            new.replace(self._file)
