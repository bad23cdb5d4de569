"""Saves the chief's checkpoints during training and at its end."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy as np

from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.errors import NotFiniteError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.protocol import Channel, Finishing, Phase, Saved

SETTLE_SECONDS = 30.0


class Saver:
    """Copies the variables in the caller's thread and writes the copy in one other thread.

    It is always the same thread, because TensorFlow leaves 8 MiB in the memory arena of every
    thread that saves. `trained` are the keys of the variables that gradients change. `saved_step`
    is the step of the checkpoint that this start resumed from.
    """

    def __init__(
        self,
        *,
        directory: Path,
        keep: int,
        optimizer: str,
        trained: Collection[str],
        copy: Callable[[], Mapping[str, Any]],
        check_owner: Callable[[], None],
        channel: Channel,
        saved_step: int | None,
    ) -> None:
        self._directory = directory
        self._keep = keep
        self._optimizer = optimizer
        self._trained = trained
        self._copy = copy
        self._check_owner = check_owner
        self._channel = channel
        self._saved_step = saved_step
        self._writer = futures.ThreadPoolExecutor(1, thread_name_prefix="save")
        self._writing: futures.Future[None] | None = None

    def begin(self, counters: TrainingCounters) -> None:
        """Begin a save; the write continues after the return.

        Raises the error of the previous save: NotOwnerError, NotFiniteError. If the disk refuses
        the write, the log says so and training goes on: the next save may succeed.
        """
        if self._writing:
            if not self._writing.done():
                return  # the disk is slower than the cadence
            self._writing.result()
        if counters.step == self._saved_step:
            return  # no step was made: what is there is as good
        began = time.monotonic()
        copied = self._checkpoint(counters, self._copy())
        self._writing = self._writer.submit(self._write_or_say, copied, began)

    def last(self, counters: TrainingCounters, *, finished: bool = False) -> Mapping[str, Any]:
        """Save, wait until the checkpoint is whole, and return its tensors.

        `finished`: all steps are made, so no other task is needed once the variables are copied.
        Raises NotOwnerError, NotFiniteError and OSError.
        """
        if self._writing:
            self._writing.result()
        began = time.monotonic()
        tensors = self._copy()
        if finished:
            self._channel.send(Finishing())
        if self._saved_step != counters.step:
            self._channel.send(Phase("saving", f"saving step {counters.step}"))
            self._writer.submit(self._write, self._checkpoint(counters, tensors), began).result()
        return tensors

    def drain(self) -> None:
        """Wait for a write under way, up to SETTLE_SECONDS: its copy is complete in any case."""
        if self._writing:
            futures.wait([self._writing], SETTLE_SECONDS)

    def _checkpoint(self, counters: TrainingCounters, tensors: Mapping[str, Any]) -> Checkpoint:
        meta = Meta(
            step=counters.step,
            examples=counters.examples,
            workers=counters.worker_steps,
            optimizer=self._optimizer,
            tensors={
                key: TensorSpec(value.shape, value.dtype.name) for key, value in tensors.items()
            },
        )
        return Checkpoint(meta, tensors)

    def _write_or_say(self, copied: Checkpoint, began: float) -> None:
        try:
            self._write(copied, began)
        except OSError as error:
            log(f"the checkpoint of step {copied.meta.step} can't be written: {error}", WARNING)

    def _write(self, copied: Checkpoint, began: float) -> None:
        self._check_finite(copied)
        checkpoint_write.write(copied, self._directory, check_owner=self._check_owner)
        self._saved_step = copied.meta.step
        self._channel.send(Saved(copied.meta.step, time.monotonic() - began))
        # Flushing may have taken long enough for another attempt to take over.
        self._check_owner()
        checkpoint_write.prune(self._directory, self._keep)

    def _check_finite(self, copied: Checkpoint) -> None:
        """Raise NotFiniteError if a trained variable or a slot is not finite.

        A gradient can be infinite though the loss is not. A variable that no gradient changes may
        be infinite for a reason.
        """
        for key, value in copied.tensors.items():
            if (key in self._trained or key.startswith("optimizer/")) and not _finite(value):
                raise NotFiniteError(
                    f"{key.removeprefix('model/')} is NaN or infinite at step {copied.meta.step}, "
                    "though the loss was not; no checkpoint is made of it. A gradient was not "
                    "finite (of sqrt or norm at 0, say)"
                )


def _finite(value: Any) -> bool:
    """Whether all of an array is finite. True for types that NumPy does not know, as bfloat16.

    It tries the sum first, because unlike isfinite that makes no array.
    """
    if value.dtype.kind not in "fc":
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(value)) or np.isfinite(value).all())
