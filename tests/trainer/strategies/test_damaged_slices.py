"""A large tensor is read once at a start: a damaged slice is found then, and costs one new start.

Small tensors are looked at before (test_any_way.py).
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint import read
from tf_cluster_trainer.protocol import Failure, Progress

from tests.slices import sliced
from tests.trainer.strategies.ways import trained, two_workers

PROGRAM = "tests.trainer.child.programs.in_pieces:InPieces"
IN_GRAPH = "parameter-server-in-graph-async"
BETWEEN_GRAPH = "parameter-server-between-graph-sync"
ALL_REDUCE = "all-reduce-between-graph-sync"


def flip(data: Path) -> None:
    """Change one byte in the middle."""
    with data.open("r+b") as file:
        file.seek(data.stat().st_size // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 0x10]))


def cut_short(data: Path) -> None:
    """Leave half of it."""
    os.truncate(data, data.stat().st_size // 2)


CASES = [
    pytest.param(combination, by_ps, damage, id=f"{combination}-{by}-{damage.__name__}")
    for combination in (IN_GRAPH, BETWEEN_GRAPH, ALL_REDUCE)
    for by_ps, by in ((True, "by-the-ps"), (False, "through-the-client"))
    for damage in (flip, cut_short, Path.unlink)
    if by_ps or damage is flip
    if combination != ALL_REDUCE or not by_ps
]


@pytest.mark.parametrize(("combination", "by_ps", "damage"), sliced(CASES, 1))
def test_a_damaged_slice_is_found_before_a_step_and_the_one_before_is_taken(
    combination: str, by_ps: bool, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        told: dict[str, Any] = {"module": PROGRAM, **settings, "keep": 10}
        if settings["strategy"] != "all-reduce":
            told["log_on_ps"] = by_ps
        first = trained(world, steps=60, save_steps=20, **told)
        assert first.exit_code() == exit_codes.DONE, first.tail()
        *_, before, newest = world.checkpoints()
        path = world.run_dir() / "checkpoints" / f"ckpt-{newest}"
        meta = read.described(path).meta
        data = sorted(path.glob("*.data-*"))
        # The last slice of a tensor that is last read.
        damage(data[meta.files["model/table/embeddings"][-1]])

        client = trained(world, steps=newest + 10, **told)

        assert client.exit_code() == exit_codes.PEER_LOST, client.tail()
        words = f"the checkpoint of step {newest} is damaged: starting again from the one before"
        assert client.of(Failure)[-1].message == words
        assert f"the checkpoint of step {newest} can't be read" in client.text()
        assert all(progress.step == newest for progress in client.of(Progress))
        assert newest not in world.checkpoints()
        assert path.with_name(f"{path.name}.unreadable").is_dir()

        again = trained(world, steps=newest + 10, **told)

        assert again.exit_code() == exit_codes.DONE, again.tail()
        assert again.of(Progress)[0].step == before
