"""Reports of a loop, to a channel and a disk that a test holds."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.reports import Reports
from tf_cluster_trainer.protocol import Message


class Heard:
    """A channel's one end."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)


class Disk:
    """Takes no event file while it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.full = False
        real = tf.io.TFRecordWriter
        monkeypatch.setattr(
            tf.io, "TFRecordWriter", lambda path: real("/dev/full" if self.full else path)
        )


def reports_to(events: Path, channel: Any = None, *, first: int = 0) -> Reports:
    return Reports(
        events=events,
        first=at(first),
        rate=lambda step: 0.1,
        channel=channel or Heard(),
        clock=map(float, itertools.count()).__next__,
    )


def at(step: int) -> TrainingCounters:
    return TrainingCounters(step, 8 * step, {"0": step}, step, 1.0 * step, {}, 0)
