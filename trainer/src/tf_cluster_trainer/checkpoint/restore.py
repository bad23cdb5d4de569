"""Resumes from a checkpoint, or starts afresh."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tf_cluster_trainer.checkpoint import read as checkpoint_read
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.checkpoint.stored_rows import StoredRows, rows_of
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.errors import SetAsideError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.run_directory import layout

ByPs = Callable[[Checkpoint, Sequence[StoredRows]], None]
"""Has the ps read these rows of a checkpoint."""
_NAMED = 3


def newest(run_dir: Path, model: Mapping[str, TensorSpec]) -> Checkpoint | None:
    """Return the run's newest readable checkpoint, which fits this model; None for a new run.

    What is stored in slices was not looked at: `chosen` does that, as it reads them. Raises
    ProgramError if no checkpoint is readable, or if the model has changed.
    """
    found = checkpoint_read.newest(layout.checkpoints(run_dir), _warn, slices=False)
    if found:
        checkpoint_read.check_model(found.meta, model)
        log(f"going on from the checkpoint of step {found.meta.step}")
    return found


def resume_point_of(restored: Checkpoint | None, optimizer: str) -> ResumePoint:
    """The resume point of a start from this checkpoint with this optimizer."""
    if restored is None:
        return ResumePoint()
    meta = restored.meta
    same = meta.optimizer == optimizer
    updates = 0
    if same and checkpoint_variables.ITERATIONS in meta.tensors:
        with verified():
            updates = int(checkpoint_read.value(restored, checkpoint_variables.ITERATIONS))
    return ResumePoint(meta.step, meta.examples, meta.workers, updates)


def fill(
    restored: Checkpoint,
    optimizer: str,
    model: Iterable[StoredTensor],
    slots: Iterable[StoredTensor],
    check_owner: Callable[[], None],
    by_ps: ByPs | None = None,
) -> None:
    """Assign the checkpoint's tensors to the variables. Raises as `chosen` does."""
    stored = (*model, *slots)
    pieces = chosen(restored, optimizer, stored, check_owner, by_ps)
    checkpoint_variables.assign(stored, itertools.chain.from_iterable(pieces))


def described(path: Path) -> Checkpoint:
    """The checkpoint in this directory, which is known to be whole. Raises OSError."""
    with verified():
        return checkpoint_read.described(path)


def chosen(
    restored: Checkpoint,
    optimizer: str,
    stored: Iterable[StoredTensor],
    check_owner: Callable[[], None],
    by_ps: ByPs | None = None,
) -> Iterator[Sequence[Piece]]:
    """Read the tensors to restore.

    Raises OSError, and SetAsideError if the checkpoint turns out to be damaged: it is kept under
    another name then, as its owner may do. `check_owner` raises NotOwnerError.

    With `by_ps` the ps first read the rows of those that are stored in slices, and only the others
    come. The optimizer's slots and iteration count are among them if the optimizer is the same and
    the checkpoint has them; otherwise they start afresh, and the log says so.
    """
    stored = tuple(stored)
    same = restored.meta.optimizer == optimizer
    if not same:
        log(
            f"the optimizer was {restored.meta.optimizer} and is {optimizer}: its slots are reset",
            WARNING,
        )
    else:
        _say_what_is_new(restored.meta, stored)
    found = {
        one.key: one
        for one in stored
        if (same or not one.key.startswith("optimizer/"))
        and restored.meta.tensors.get(one.key) == one.spec
    }
    if by_ps:
        rows = rows_of(restored, found.values())
        try:
            by_ps(restored, rows)
        except OSError as error:
            log(f"the ps can't read the checkpoint, so this task does: {error}", WARNING)
        else:
            for one in rows:
                found.pop(one.stored.key, None)
    try:
        yield from checkpoint_read.pieces(restored, found)
    except checkpoint_read.DamagedError as error:
        check_owner()
        whole = checkpoint_read.newest(restored.path.parent, _warn)
        if whole and whole.path == restored.path:
            raise OSError(str(error)) from error  # it can be read now: the disk's fault
        raise SetAsideError(restored.meta.step) from error


def _say_what_is_new(meta: Meta, stored: Sequence[StoredTensor]) -> None:
    """Log slots that the checkpoint lacks: those of a layer that was frozen when it was saved."""
    slots = [one for one in stored if one.slot_of]
    new = [one.key for one in slots if meta.tensors.get(one.key) != one.spec]
    if new:
        names = ", ".join(key.removeprefix("optimizer/") for key in new[:_NAMED])
        log(
            f"the checkpoint of step {meta.step} lacks {len(new)} of {len(slots)} slots of the "
            f"optimizer, which start afresh: {names}{', …' if len(new) > _NAMED else ''}",
            WARNING,
        )


def _warn(sentence: str) -> None:
    log(sentence, WARNING)


@contextmanager
def verified() -> Iterator[None]:
    """The checkpoint was read before: what can't be read of it now is the disk's fault."""
    try:
        yield
    except checkpoint_read.DamagedError as error:
        raise OSError(str(error)) from error
