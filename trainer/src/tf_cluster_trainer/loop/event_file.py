"""TensorBoard's event files: one writer each, the chief or the evaluator.

TensorFlow's own records and protocol buffers, without tf.summary: that makes graph operations,
which under parameter servers land on other machines, and it can't mark where a run resumed.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import tensorflow as tf

_SCALARS = tf.compat.v1.SummaryMetadata(
    plugin_data=tf.compat.v1.SummaryMetadata.PluginData(plugin_name="scalars")
)
_PREFIX = "events.out.tfevents."


class EventFile:
    """One file of one start of a run, in `directory`.

    Points of an earlier start at or after `step` are dropped by TensorBoard: they are made again.
    Everything here raises OSError or tf.errors.OpError when the disk does not take it.
    """

    def __init__(
        self, directory: Path, *, step: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        directory.mkdir(parents=True, exist_ok=True)
        # TensorBoard goes on to the next file by name: it has to be the last, whatever the clock.
        seconds = max(int(clock()), _newest(directory) + 1)
        path = directory / f"{_PREFIX}{seconds}.{socket.gethostname()}.{os.getpid()}"
        try:
            self._records = tf.io.TFRecordWriter(str(path))
            self._write(tf.compat.v1.Event(file_version="brain.Event:2"))
            self._write(
                tf.compat.v1.Event(
                    step=step,
                    session_log=tf.compat.v1.SessionLog(status=tf.compat.v1.SessionLog.START),
                )
            )
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """One point for each name, on disk when it returns."""
        summary = tf.compat.v1.Summary(
            value=[
                tf.compat.v1.Summary.Value(
                    tag=tag, metadata=_SCALARS, tensor=tf.make_tensor_proto(value, tf.float32)
                )
                for tag, value in values.items()
            ]
        )
        self._write(tf.compat.v1.Event(step=step, summary=summary))

    def close(self) -> None:
        """Nothing more comes."""
        self._records.close()

    def _write(self, event: tf.compat.v1.Event) -> None:
        event.wall_time = self._clock()
        self._records.write(event.SerializeToString())
        self._records.flush()


def _newest(directory: Path) -> int:
    """The seconds that the last event file is named by; 0 when there is none."""
    named = (path.name.removeprefix(_PREFIX).split(".")[0] for path in directory.iterdir())
    return max((int(seconds) for seconds in named if seconds.isdecimal()), default=0)
