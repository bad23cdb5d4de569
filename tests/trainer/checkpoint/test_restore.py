"""Which tensors of a checkpoint a run goes on with."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tf_cluster_trainer.checkpoint import read, restore, write
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.checkpoint.variables import StoredTensor

SPEC = TensorSpec((2,), "float32")


def saved(directory: Path, *keys: str) -> Checkpoint:
    pieces = [[Piece(key, np.ones(2, np.float32))] for key in keys]
    into = write.temporary_of(directory, 100)
    meta = Meta(100, 800, {"0": 100}, "Adam", dict.fromkeys(keys, SPEC))
    return read.described(write.write(meta, pieces, into, check_owner=lambda: None))


def trained(*names: str) -> list[StoredTensor]:
    """Model variables and, after all of them, their two slots."""
    slots = [
        StoredTensor(f"optimizer/{slot}/{name}", SPEC, (), slot_of=f"model/{name}")
        for name in names
        for slot in ("m", "v")
    ]
    return [*(StoredTensor(f"model/{name}", SPEC, ()) for name in names), *slots]


def chosen(found: Checkpoint, optimizer: str, stored: list[StoredTensor]) -> list[str]:
    pieces = restore.chosen(found, optimizer, iter(stored), check_owner=lambda: None)
    return [one.key for some in pieces for one in some]


def test_slots_that_a_checkpoint_lacks_are_said_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Layers that were frozen when it was saved, and are trained now."""
    keys = [one.key for one in trained("a")]
    found = saved(tmp_path, *keys, "model/b", "model/c")
    capsys.readouterr()
    assert sorted(chosen(found, "Adam", trained("a", "b", "c"))) == sorted(
        [*keys, "model/b", "model/c"]
    )
    assert capsys.readouterr().err.splitlines() == [
        "the checkpoint of step 100 lacks 4 of 6 slots of the optimizer, which start afresh: "
        "m/b, v/b, m/c, …"
    ]


def test_nothing_is_said_of_slots_that_are_all_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = saved(tmp_path, *(one.key for one in trained("a")))
    capsys.readouterr()
    assert len(chosen(found, "Adam", trained("a"))) == 3
    assert capsys.readouterr().err == ""


def test_of_another_optimizer_no_slots_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = saved(tmp_path, *(one.key for one in trained("a")))
    capsys.readouterr()
    assert chosen(found, "Ftrl", trained("a", "b"))[:1] == ["model/a"]
    (line,) = capsys.readouterr().err.splitlines()
    assert line == "the optimizer was Adam and is Ftrl: its slots are reset"
