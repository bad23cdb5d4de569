"""A run goes on from any combination's checkpoint in any other, bit for bit the same.

The second training has gradients of 0, so that all it was given is in its own last checkpoint. Half
of the trainings have the ps write and read the large tensors, the others the chief.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Result

from tests.slices import sliced
from tests.trainer.strategies.ways import COMBINATIONS, trained, two_workers

PROGRAM = "tests.trainer.child.programs.in_pieces:InPieces"
ADAGRAD = {"name": "Adagrad", "learningRate": 0.1}
BY_PS = "the ps write and read the large tensors of checkpoints themselves"
STEPS = 60
COUNT = "optimizer/iterations"
WAYS = list(COMBINATIONS)


def run(way: str, folder: Path, ps: int, by_ps: bool, **settings: Any) -> tuple[Path, Result]:
    """Train so, to the end; the last checkpoint, and what came of it."""
    with two_workers(way, folder, ps) as (world, told):
        told["log_on_ps"] = by_ps
        client = trained(world, module=PROGRAM, optimizer=ADAGRAD, **told, **settings)
        assert client.exit_code() == exit_codes.DONE, client.tail()
        assert (BY_PS in client.text()) == (by_ps and world.ps > 0)
        last = world.checkpoints()[-1]
        return world.run_dir() / "checkpoints" / f"ckpt-{last}", client.of(Result)[0]


def tensors_of(checkpoint: Path) -> dict[str, Any]:
    bundle = tf.train.load_checkpoint(str(checkpoint / "variables"))
    return {
        name: bundle.get_tensor(name)
        for name, _ in tf.train.list_variables(str(checkpoint / "variables"))
    }


def assert_goes_on(before: Path, way: str, folder: Path, ps: int, by_ps: bool) -> None:
    """Go on from this checkpoint; the next one has the same tensors."""
    expected = tensors_of(before)
    meta = json.loads((before / "meta.json").read_text())
    folder.mkdir()
    (folder / "log").symlink_to(before.parents[3])
    flags = {"scale": 0.0}
    after, result = run(way, folder, ps, by_ps, steps=meta["step"] + 1, flags=flags)
    assert after != before
    found = tensors_of(after)
    assert sorted(found) == sorted(expected)
    for key in sorted(set(expected) - {"step", COUNT}):
        np.testing.assert_array_equal(found[key], expected[key], err_msg=key)
    assert found[COUNT] > expected[COUNT]
    assert json.loads((after / "meta.json").read_text())["slices"]
    # The plain model of evaluate, too.
    for layer, variable in {"table": "embeddings", "wide": "kernel", "out": "kernel"}.items():
        whole = np.sum(expected[f"model/{layer}/{variable}"], dtype=np.float64)
        assert result.metrics[layer] == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize(
    ("before", "after"),
    sliced([pytest.param(one, other, id=f"{one}--{other}") for one in WAYS for other in WAYS], 2),
)
def test_a_run_goes_on_any_other_way_bit_for_bit(before: str, after: str, tmp_path: Path) -> None:
    ps = {way: 1 + (index + len(after)) % 4 for index, way in enumerate(WAYS)}
    # Each pair of hands has met each other, in every combination that has ps.
    first_by_ps = (WAYS.index(before) + WAYS.index(after)) % 2 == 0
    then_by_ps = WAYS.index(after) % 4 < 2
    first, _ = run(before, tmp_path / "first", ps[before], first_by_ps, steps=STEPS, save_steps=20)
    meta = json.loads((first / "meta.json").read_text())
    # Slices of every large tensor, in the order of their rows, and of no small one.
    large = {f"model/{name}" for name in ("table/embeddings", "wide/kernel")}
    large |= {key.replace("model/", "optimizer/accumulator/") for key in large}
    assert set(meta["slices"]) == large
    for rows in meta["slices"].values():
        assert rows[0] == 0 and rows == sorted(rows) and len(rows) > 1
    assert_goes_on(first, after, tmp_path / "second", 1 + ps[before] % 4, then_by_ps)


@pytest.mark.parametrize("way", sliced(WAYS, 1))
def test_a_checkpoint_of_whole_tensors_is_gone_on_from(way: str, tmp_path: Path) -> None:
    """As trainers wrote it that knew no slices."""
    first, _ = run(way, tmp_path / "first", 2, True, steps=STEPS)
    tensors = tensors_of(first)
    meta = json.loads((first / "meta.json").read_text())
    del meta["slices"], meta["files"]
    shutil.rmtree(first)
    first.mkdir()
    tf.raw_ops.SaveV2(
        prefix=str(first / "variables"),
        tensor_names=[*tensors],
        shape_and_slices=["" for _ in tensors],
        tensors=[tf.constant(value) for value in tensors.values()],
    )
    (first / "meta.json").write_text(json.dumps(meta))
    assert_goes_on(first, way, tmp_path / "second", 3, True)
