"""Saves the chief's checkpoints during training and at its end."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import Piece, State, Written, is_small, total
from tf_cluster_trainer.checkpoint.record import Meta
from tf_cluster_trainer.errors import NotFiniteError, NotNowError, PsVolumeError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.protocol import Channel, Finishing, Phase, Saved, StepsMade, Way
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.servers.lost import is_peer_lost

SETTLE_SECONDS = 30.0
# What takes longer is said: a save's own time, and its bytes at the rate of a slow volume.
LONG_SECONDS = 60.0
SLOW_BYTES = 10 << 20
LOOK_SECONDS = 5.0
NO_SPACE = os.strerror(errno.ENOSPC)


class Saver:
    """Reads the state on the ps, or of this process, and writes it in one other thread.

    A small state, or one that this process holds anyway (`holds_state`), is copied in the caller's
    thread, and training goes on while the copy is written. Another one is read while it is written,
    so that this process never holds it. Meanwhile training goes on, or stands still where an update
    must be whole (`lockstep`).

    Always the same thread writes, because TensorFlow leaves 8 MiB in the memory arena of every
    thread that saves. `trained` are the keys of the variables that gradients change.
    `saved_step` is the step of the checkpoint that this start resumed from.
    """

    def __init__(
        self,
        *,
        directory: Path,
        keep: int,
        optimizer: str,
        trained: Collection[str],
        state: State,
        lockstep: bool,
        check_owner: Callable[[], None],
        channel: Channel,
        saved_step: int | None,
        holds_state: bool = False,
    ) -> None:
        self._directory = directory
        self._keep = keep
        self._optimizer = optimizer
        self._trained = trained
        self._state = state
        self._check_owner = check_owner
        self._channel = channel
        self._saved_step = saved_step
        self._writer = futures.ThreadPoolExecutor(1, thread_name_prefix="save")
        self._reader = futures.ThreadPoolExecutor(1, thread_name_prefix="read")
        self._writing: futures.Future[None] | None = None
        size = total(state.specs.values())
        self._copies = holds_state or is_small(size)
        self._waits = lockstep and not self._copies
        self._long = LONG_SECONDS + size / SLOW_BYTES
        self._writing_step = 0
        self._began = self._said_long = 0.0
        self._by_ps = False  # wrote some of the checkpoint that is being written
        if not self._copies:
            meanwhile = "training stands still" if lockstep else "training goes on"
            log(f"the state has {size / 2**20:.0f} MiB: {meanwhile} while it is saved")

    def begin(self, counters: TrainingCounters) -> None:
        """Begin a save; unless training has to stand still, the write continues after the return.

        Raises the error of the previous save (NotOwnerError, NotFiniteError), and what reading the
        state in this thread raises. If the disk refuses the write, or a ps is lost while it is read
        beside the training, the log says so and training goes on: the next save may succeed.
        """
        if self._writing and not self._writing.done():
            self._say_if_long()
            return  # the disk is slower than the cadence
        self._settle()
        if counters.step == self._saved_step:
            return  # no step was made: what is there is as good
        began, step = self._note(counters.step), counters.step
        if self._waits:
            self._channel.send(Phase("saving", f"saving step {step}: training stands still"))
        into = checkpoint_write.temporary_of(self._directory, step)
        self._writing = self._writer.submit(
            self._write_or_say, self._meta(counters), self._pieces(into), into, began
        )
        if self._waits:
            self._settle()
            self._channel.send(Phase("running", f"training goes on from step {step}"))

    def settle_before_last(self) -> int | None:
        """Wait for a save under way; the step of a large state that was saved meanwhile.

        None: there was none, or it failed, which the log says. Raises NotOwnerError and
        NotFiniteError.
        """
        if not self._writing:
            return None
        before = self._saved_step
        self._settle()
        return None if self._copies or self._saved_step == before else self._saved_step

    def last(self, counters: TrainingCounters, *, finished: bool = False) -> Path:
        """Save, wait until the checkpoint is whole, and return its directory.

        `finished`: all steps are made, so no other task is needed once the variables are copied.
        Raises NotOwnerError, NotFiniteError, OSError and what reading the state raises.
        """
        self._settle()
        if self._saved_step != counters.step:
            began = self._note(counters.step)
            into = checkpoint_write.temporary_of(self._directory, counters.step)
            pieces = self._pieces(into)
            if finished:
                self._channel.send(Finishing() if self._copies else StepsMade())
            self._channel.send(Phase("saving", f"saving step {counters.step}"))
            meta = self._meta(counters)
            self._await(self._writer.submit(self._write, meta, pieces, into, began))
            if finished and not self._copies:
                self._channel.send(Finishing())
        elif finished:
            self._channel.send(Finishing())
        return self._directory / layout.checkpoint_name(counters.step)

    def drain(self) -> None:
        """Wait for a write under way, up to SETTLE_SECONDS: a copy is written by then."""
        if self._writing:
            futures.wait([self._writing], SETTLE_SECONDS)

    def _settle(self) -> None:
        """Wait for a write under way. Raises its error, once."""
        writing, self._writing = self._writing, None
        if writing:
            self._await(writing)

    def _await(self, writing: futures.Future[None]) -> None:
        """Wait for a write, and say it if that takes very long. Raises its error."""
        while not futures.wait([writing], LOOK_SECONDS).done:
            self._say_if_long()
        writing.result()

    def _note(self, step: int) -> float:
        """Note that a save of this step begins. Returns the time."""
        self._writing_step, self._began = step, time.monotonic()
        return self._began

    def _meta(self, counters: TrainingCounters) -> Meta:
        return Meta(
            step=counters.step,
            examples=counters.examples,
            workers=counters.worker_steps,
            optimizer=self._optimizer,
            tensors=self._state.specs,
        )

    def _pieces(self, into: Path | None) -> Iterable[Sequence[Piece | Written]]:
        """The state: a copy, or what will be read, or written, when it is asked for."""
        if self._copies:
            return list(self._state.pieces())
        return self._read_ahead(self._state.pieces(into))

    def _read_ahead(
        self, coming: Iterator[Sequence[Piece | Written]]
    ) -> Iterator[Sequence[Piece | Written]]:
        """The same, each read while the one before is written."""
        ahead = self._reader.submit(next, coming, None)
        try:
            while (some := ahead.result()) is not None:
                ahead = self._reader.submit(next, coming, None)
                yield some
        finally:
            futures.wait([ahead])
            _close(coming)  # no ps writes any more

    def _write_or_say(
        self, meta: Meta, pieces: Iterable[Sequence[Piece | Written]], into: Path, began: float
    ) -> None:
        try:
            self._write(meta, pieces, into, began)
        except Exception as error:
            read_beside = not (self._copies or self._waits)
            if isinstance(error, OSError):
                log(f"the checkpoint of step {meta.step} can't be written: {error}", WARNING)
            elif read_beside and (isinstance(error, NotNowError) or is_peer_lost(error)):
                # If a ps is gone, the steps find that out; one lost connection ends no training.
                words = str(error).partition("\n")[0]
                log(f"the checkpoint of step {meta.step} is given up: {words}", WARNING)
            else:
                raise

    def _say_if_long(self) -> None:
        """Say once of a save that it takes very long: a volume may hang."""
        took = time.monotonic() - self._began
        if took > self._long and self._said_long != self._began:
            self._said_long = self._began
            who = f"the volume of {self._directory}" + ("" if self._copies else ", or a ps,")
            log(
                f"the checkpoint of step {self._writing_step} is still being written after "
                f"{took:.0f} s, and no other is begun before its end: {who} is slow, or hangs",
                WARNING,
            )

    def _write(
        self, meta: Meta, pieces: Iterable[Sequence[Piece | Written]], into: Path, began: float
    ) -> None:
        try:
            self._write_so(meta, pieces, into, began)
        except PsVolumeError as error:
            if NO_SPACE in str(error):
                raise
            log(f"the ps can't write step {meta.step}, so this task does: {error}", WARNING)
            into = checkpoint_write.temporary_of(self._directory, meta.step)
            self._write_so(meta, self._pieces(None), into, began)

    def _write_so(
        self, meta: Meta, pieces: Iterable[Sequence[Piece | Written]], into: Path, began: float
    ) -> None:
        finite = self._all_finite(meta.step, pieces)
        self._by_ps = False
        checkpoint_write.write(meta, finite, into, check_owner=self._check_owner)
        self._saved_step = meta.step
        seconds, size = time.monotonic() - began, total(meta.tensors.values())
        way: Way = "copied" if self._copies else "ps" if self._by_ps else "streamed"
        if not self._copies:
            by = "by the ps" if self._by_ps else "through this task"
            log(f"saved step {meta.step}: {size / 2**20:.0f} MiB in {seconds:.1f} s, {by}")
        self._channel.send(Saved(meta.step, seconds, size, way))
        # Flushing may have taken long enough for another attempt to take over.
        self._check_owner()
        checkpoint_write.prune(self._directory, self._keep)

    def _all_finite(
        self, step: int, pieces: Iterable[Sequence[Piece | Written]]
    ) -> Iterator[Sequence[Piece | Written]]:
        """The pieces. Raises NotFiniteError if a trained variable or a slot is not finite.

        A gradient can be infinite though the loss is not. A variable that no gradient changes may
        be infinite for a reason.
        """
        try:
            for some in pieces:
                for piece in some:
                    self._check(piece, step)
                yield some
        finally:
            _close(pieces)

    def _check(self, piece: Piece | Written, step: int) -> None:
        for key in self._not_finite(piece):
            raise NotFiniteError(
                f"{key.removeprefix('model/')} is NaN or infinite at step {step}, "
                "though the loss was not; no checkpoint is made of it. A gradient was not "
                "finite (of sqrt or norm at 0, say)"
            )
        if isinstance(piece, Written):
            self._by_ps = True

    def _not_finite(self, piece: Piece | Written) -> list[str]:
        """The keys of tensors that must be finite and are not."""
        keys = (piece.key,) if isinstance(piece, Piece) else piece.not_finite
        checked = [key for key in keys if key in self._trained or key.startswith("optimizer/")]
        if checked and isinstance(piece, Piece) and _finite(piece.value):
            return []
        return checked


def _close(pieces: Iterable[Any]) -> None:
    """Let a generator end what it has under way."""
    if isinstance(pieces, Generator):
        pieces.close()


def _finite(value: Any) -> bool:
    """Whether all of an array is finite.

    It tries the sum first, because unlike isfinite that makes no array.
    """
    if value.dtype.kind not in "fc":
        if not tf.as_dtype(value.dtype).is_floating:
            return True
        value = value.astype(np.float32)  # NumPy knows no bfloat16
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.sum(value)) or np.isfinite(value).all())
