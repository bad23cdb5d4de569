"""Requests of several clients in one run of the model (batching/batching_session.cc).

Each signature has a queue; the threads are shared by all of a server's models.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.serving.stand_in.runtime import Array
from tests.serving.stand_in.status import StatusError, invalid

Feeds = Mapping[str, Array]
Run = Callable[[Feeds, Sequence[str]], list[Array]]


@dataclass(frozen=True)
class Parameters:
    """What BatchingParameters says, with the true server's defaults."""

    largest: int
    timeout_seconds: float
    most_waiting: int
    threads: int
    allowed: tuple[int, ...]


def parameters(given: Any) -> Parameters:
    """Of a BatchingParameters message. Raises StatusError for what can't be."""

    def value(name: str, default: int) -> int:
        return int(getattr(given, name).value) if given.HasField(name) else default

    largest = value("max_batch_size", 1000)
    allowed = tuple(given.allowed_batch_sizes)
    if allowed and (list(allowed) != sorted(set(allowed)) or allowed[-1] != largest):
        raise invalid(
            "Last entry in allowed_batch_sizes must match max_batch_size; last entry was "
            f"{allowed[-1]}; expected {largest}"
        )
    if given.enable_large_batch_splitting.value or given.HasField("max_execution_batch_size"):
        raise invalid(
            "the stand-in does not implement enable_large_batch_splitting and "
            "max_execution_batch_size"
        )
    if given.pad_variable_length_inputs:
        raise invalid("the stand-in does not implement pad_variable_length_inputs")
    threads = value("num_batch_threads", 2)
    if min(largest, threads) < 1 or value("batch_timeout_micros", 0) < 0:
        raise invalid("max_batch_size and num_batch_threads must be positive")
    return Parameters(
        largest,
        value("batch_timeout_micros", 0) / 1e6,
        value("max_enqueued_batches", 10),
        threads,
        allowed,
    )


@dataclass(frozen=True)
class _Task:
    feeds: Feeds
    size: int
    came: float
    answer: Future[list[Array]]


class Queue:
    """Runs of one signature of one version, in batches; `fetches` are all of its outputs."""

    def __init__(
        self, run: Run, fetches: Sequence[str], given: Parameters, pool: ThreadPoolExecutor
    ) -> None:
        self._run, self.fetches, self._given, self._pool = run, fetches, given, pool
        self._tasks: deque[_Task] = deque()
        self._changed = threading.Condition()
        self._closed = False
        threading.Thread(target=self._form, daemon=True).start()

    def run(self, feeds: Feeds) -> list[Array]:
        """The answer to this request, computed with others'. Raises StatusError."""
        sizes = {array.shape[0] if array.ndim else None for array in feeds.values()}
        if None in sizes:
            raise invalid("Batching session Run() input tensors must have at least one dimension")
        if len(sizes) != 1:
            raise invalid("Batching session Run() input tensors must have equal 0th-dimension size")
        (size,) = sizes
        assert size is not None
        if size > self._given.largest:
            raise invalid(
                f"Task size {size} is larger than maximum input batch size {self._given.largest}"
            )
        task = _Task(feeds, size, time.monotonic(), Future())
        with self._changed:
            waiting = sum(one.size for one in self._tasks)
            if waiting + size > self._given.largest * self._given.most_waiting:
                raise StatusError(
                    "UNAVAILABLE",
                    "The batch scheduling queue to which this task was submitted is full",
                )
            self._tasks.append(task)
            self._changed.notify_all()
        return task.answer.result()

    def close(self) -> None:
        """No request comes any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _form(self) -> None:
        free = threading.Semaphore(self._given.threads)
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._tasks or self._closed)
                if not self._tasks:
                    return
                due = self._tasks[0].came + self._given.timeout_seconds
                self._changed.wait_for(self._is_full, max(0.0, due - time.monotonic()))
            free.acquire()
            with self._changed:
                batch = self._taken()
            self._pool.submit(self._answer, batch).add_done_callback(lambda _: free.release())

    def _is_full(self) -> bool:
        return sum(one.size for one in self._tasks) >= self._given.largest

    def _taken(self) -> list[_Task]:
        batch: list[_Task] = []
        size = 0
        while self._tasks and size + self._tasks[0].size <= self._given.largest:
            batch.append(self._tasks.popleft())
            size += batch[-1].size
        return batch

    def _answer(self, batch: Sequence[_Task]) -> None:
        try:
            answers = self._computed(batch)
        except Exception as error:
            for task in batch:
                task.answer.set_exception(error)
            return
        for task, answer in zip(batch, answers, strict=True):
            task.answer.set_result(answer)

    def _computed(self, batch: Sequence[_Task]) -> Iterable[list[Array]]:
        size = sum(task.size for task in batch)
        padded = next((one for one in self._given.allowed if one >= size), size)
        feeds = {}
        for name in batch[0].feeds:
            parts = [task.feeds[name] for task in batch]
            if len({part.shape[1:] for part in parts}) > 1 or len({p.dtype for p in parts}) > 1:
                raise StatusError(
                    "FAILED_PRECONDITION",
                    f"Tensors with name '{name}' from different tasks have different shapes and "
                    "padding is turned off. Set pad_variable_length_inputs to true, or ensure "
                    "that all tensors with the same name have equal dimensions starting with the "
                    "first dim.",
                )
            parts += [parts[0][:1]] * (padded - size)
            feeds[name] = np.concatenate(parts)
        outputs = self._run(feeds, self.fetches)
        for output in outputs:
            if not output.ndim or output.shape[0] != padded:
                raise StatusError(
                    "FAILED_PRECONDITION",
                    "Batched output tensor's 0th dimension does not equal the sum of the 0th "
                    "dimension sizes of the input tensors",
                )
        at = 0
        for task in batch:
            yield [output[at : at + task.size] for output in outputs]
            at += task.size
