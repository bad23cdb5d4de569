"""Writes TensorBoard's event files; each has one writer, the chief or the evaluator.

We write TensorFlow's records and protocol buffers without tf.summary. That makes graph operations,
which land on other machines with parameter servers, and it can't mark where a run resumed.
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
    """The event file of one start of a run, in `directory`.

    TensorBoard drops points of an earlier start at or after `step`, because they are made again.
    Every method raises OSError or tf.errors.OpError if the disk refuses a write.
    """

    def __init__(
        self, directory: Path, *, step: int, clock: Callable[[], float] = time.time
    ) -> None:
        self._clock = clock
        directory.mkdir(parents=True, exist_ok=True)
        # TensorBoard reads files in the order of their names: this one must be last, whatever the
        # clock says.
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
        """Write one point for each name; on return they are on disk."""
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
        """Close the file."""
        self._records.close()

    def _write(self, event: tf.compat.v1.Event) -> None:
        event.wall_time = self._clock()
        self._records.write(event.SerializeToString())
        self._records.flush()


def _newest(directory: Path) -> int:
    """The seconds in the name of the last event file; 0 if there is none."""
    named = (path.name.removeprefix(_PREFIX).split(".")[0] for path in directory.iterdir())
    return max((int(seconds) for seconds in named if seconds.isdecimal()), default=0)
