"""Going on from a checkpoint, or starting afresh."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tf_cluster_trainer import checkpoint, checkpoint_read, checkpoint_variables
from tf_cluster_trainer.checkpoint import Checkpoint, TensorSpec
from tf_cluster_trainer.checkpoint_variables import Stored
from tf_cluster_trainer.child.say import say
from tf_cluster_trainer.strategies.tally import Origin


def newest(run_dir: Path, model: Mapping[str, TensorSpec]) -> Checkpoint | None:
    """The run's newest readable checkpoint, which fits this model; None for a new run.

    Raises ProgramError when none can be read, or when the model was changed.
    """
    found = checkpoint_read.newest(checkpoint.directory(run_dir), say)
    if found:
        checkpoint_read.check_model(found.meta, model)
        say(f"going on from the checkpoint of step {found.meta.step}")
    return found


def origin_of(restored: Checkpoint | None) -> Origin:
    """Where a start from this checkpoint begins."""
    if restored is None:
        return Origin()
    return Origin(restored.meta.step, restored.meta.examples, restored.meta.workers)


def fill(
    restored: Checkpoint, optimizer: str, model: Iterable[Stored], slots: Iterable[Stored]
) -> None:
    """Put the checkpoint into the variables."""
    stored = (*model, *slots)
    tensors = chosen(restored, optimizer, stored)
    checkpoint_variables.assign((one for one in stored if one.key in tensors), tensors)


def chosen(restored: Checkpoint, optimizer: str, stored: Iterable[Stored]) -> dict[str, Any]:
    """The checkpoint's tensors that are taken over, by key.

    Slots are when the optimizer is the same and it has them; else they start afresh and the log
    says so.
    """
    same = restored.meta.optimizer == optimizer
    if not same:
        say(f"the optimizer was {restored.meta.optimizer} and is {optimizer}: its slots are reset")
    return {
        one.key: restored.tensors[one.key]
        for one in stored
        if _is_kept(one.key, same) and restored.meta.tensors.get(one.key) == one.spec
    }


def _is_kept(key: str, same_optimizer: bool) -> bool:
    slot = key.startswith("optimizer/") and key != checkpoint_variables.ITERATIONS
    return same_optimizer or not slot
