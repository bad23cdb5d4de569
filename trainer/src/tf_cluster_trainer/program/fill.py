"""Gives a plain model the values of a checkpoint."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tf_cluster_trainer.checkpoint import read, variables
from tf_cluster_trainer.checkpoint.arrays import tensor_of
from tf_cluster_trainer.checkpoint.pages import Pages
from tf_cluster_trainer.checkpoint.record import Checkpoint, TensorSpec
from tf_cluster_trainer.log import log
from tf_cluster_trainer.program.storageless import inner


def fill_model(
    model: Any, full: Mapping[str, TensorSpec], saved: Checkpoint, held: Path | None = None
) -> None:
    """Give each variable of a plain model its tensor; `full` are their specs, by key.

    A variable without memory of its own gets pages of the checkpoint's files where it can (`held`
    is that of checkpoint/pages.py). Raises OSError, and DamagedError: then some values may be of
    this checkpoint already.
    """
    pages = Pages(saved, held)
    copied = {}
    for one in variables.of_model(full, model):
        empty = inner(one.parts[0])
        if empty is not None and empty.can_share and pages.has(one.key):
            empty.share(tensor_of(pages.array(one.key)))
        else:
            copied[one.key] = one
    some = read.pieces(saved, copied)
    variables.assign(copied.values(), itertools.chain.from_iterable(some))
    if pages.in_files or pages.copied:
        log(
            f"{pages.in_files / 2**20:.0f} MiB of the model are pages of the checkpoint's files"
            + (f"; {pages.copied / 2**20:.0f} MiB could not be" if pages.copied else "")
        )
