"""Sends progress to the supervisor and points to TensorBoard, from one reading of the counters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import tensorflow as tf

from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.event_file import EventFile
from tf_cluster_trainer.protocol import Channel, Progress


class Reports:
    """Rates and means cover the time since the previous report. `first` is the start.

    `rate` returns the learning rate at a step of the run.
    """

    def __init__(
        self,
        *,
        events: Path,
        first: TrainingCounters,
        rate: Callable[[int], float],
        channel: Channel,
        clock: Callable[[], float],
    ) -> None:
        self._channel = channel
        self._clock = clock
        self._rate = rate
        self._last = first
        self._said = False
        self._events: EventFile | None = None
        self._directory = events
        # First step to purge in TensorBoard; None once an event file has recorded it.
        self._forgets: int | None = None
        self._begin_anew(first.step)
        self._time = clock()
        channel.send(Progress(first.step, first.examples, None, None, first.worker_steps))

    def report(self, counters: TrainingCounters) -> None:
        """Send and write where training stands; write nothing if no step was made."""
        now = self._clock()
        seconds, steps = now - self._time, counters.steps_since_start - self._last.steps_since_start
        rate = steps / seconds if seconds > 0 else None
        loss = (counters.loss_sum - self._last.loss_sum) / steps if steps else None
        if steps > counters.step - self._last.step:  # some of them were lost
            self._begin_anew(counters.origin_step)
        self._channel.send(
            Progress(counters.step, counters.examples, rate, loss, counters.worker_steps)
        )
        # If it went back to what was reported, only lost steps were made since.
        if (
            steps
            and loss is not None
            and counters.step > min(counters.origin_step, self._last.step)
        ):
            values = {"loss": loss, "learning_rate": self._rate(counters.step)}
            for name, total in counters.metric_sums.items():
                values[f"training/{name}"] = (total - self._last.metric_sums[name]) / steps
            if rate is not None:
                values["steps_per_second"] = rate
                examples = max(0, counters.examples - self._last.examples)
                values["examples_per_second"] = examples / seconds
            for name, made in counters.worker_steps.items():
                values[f"workers/{name}_steps"] = made
            with self._tolerating():
                events = self._events or self._open(self._forgets or counters.step)
                events.scalars(counters.step, values)
        self._last, self._time = counters, now

    def close(self) -> None:
        """Close the event file after the last report."""
        with self._tolerating():
            if self._events:
                self._events.close()

    def _begin_anew(self, step: int) -> None:
        """Resume from this step: TensorBoard drops the points beyond it."""
        self._forgets = min(step + 1, self._forgets or step + 1)
        with self._tolerating():
            if self._events:
                self._events.close()
            self._open(self._forgets)

    def _open(self, step: int) -> EventFile:
        """Open a file for points from this step on."""
        self._events = EventFile(self._directory, step=step)
        self._forgets = None
        return self._events

    @contextlib.contextmanager
    def _tolerating(self) -> Iterator[None]:
        """A full or failing volume costs points in TensorBoard, not the training.

        The next report opens a new file, because TensorBoard reads nothing after a half-written
        point.
        """
        try:
            yield
        except (OSError, tf.errors.OpError) as error:
            self._events = None
            if not self._said:
                self._said = True
                log(f"TensorBoard's events can't be written, training goes on: {error}", WARNING)
