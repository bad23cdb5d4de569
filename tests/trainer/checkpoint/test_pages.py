"""Tensors as pages of a checkpoint's files."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import pieces, read
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.arrays import tensor_of
from tf_cluster_trainer.checkpoint.pages import Pages
from tf_cluster_trainer.checkpoint.reading import VariableState
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.checkpoint.variables import StoredTensor

from tests.slices import sliced

MOST = 64 << 10
TABLE, SLOT = "model/table", "optimizer/m/table"


@pytest.fixture(autouse=True)
def all_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", MOST)
    monkeypatch.setattr(pieces, "LEAST_BYTES", 4 << 10)
    monkeypatch.setattr(pieces, "SMALL_STATE_BYTES", 0)
    monkeypatch.setattr(pieces, "LEAST_MAPPED_BYTES", 16 << 10)


def drawn(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    numbers = np.random.default_rng(4).integers(-90, 90, shape)
    return numbers.astype(tf.as_dtype(dtype).as_numpy_dtype)


def saved(folder: Path, tensors: Mapping[str, Any], parts: int = 1) -> Checkpoint:
    """A checkpoint of tensors that so many ps hold, streamed; of 0 ps, of copies that are whole."""
    specs = {
        key: TensorSpec(value.shape, tf.as_dtype(value.dtype).name)
        for key, value in tensors.items()
    }
    stored = tuple(
        StoredTensor(
            key,
            specs[key],
            tuple(tf.Variable(part) for part in np.array_split(value, max(parts, 1))),
            slot_of=TABLE if key == SLOT else "",
        )
        for key, value in tensors.items()
    )
    coming = VariableState(stored, "CPU:0", by_rows=parts > 0).pieces()
    meta = Meta(7, 56, {"0": 7}, "Momentum", specs)
    into = checkpoint_write.temporary_of(folder, meta.step)
    return read.described(checkpoint_write.write(meta, coming, into, check_owner=lambda: None))


@pytest.mark.parametrize("parts", [0, 1, 2, 3, 7])
@pytest.mark.parametrize("width", sliced([1, 12, 16, 37, 1024, 5000], 2))
def test_rows_of_any_width_and_number_of_ps_are_pages(
    tmp_path: Path, parts: int, width: int
) -> None:
    value = drawn((600_000 // width + 3, width))
    # Names that come before and after the table's in any order.
    tensors = {TABLE: value, SLOT: value + 1, "model/a": drawn((5,)), "model/z": drawn((5,))}
    found = saved(tmp_path, tensors, parts)
    pages = Pages(found)
    assert not pages.has(SLOT) and not pages.has("model/a")
    unit = int(np.lcm(value.itemsize * width, pieces.PAGE_BYTES))
    assert pages.has(TABLE) == (unit <= MOST // 3)
    if not pages.has(TABLE):
        np.testing.assert_array_equal(read.value(found, TABLE), value)
        return

    np.testing.assert_array_equal(pages.array(TABLE), value)
    assert pages.in_files + pages.copied == value.nbytes
    # Of each ps, up to the first row that is on a page.
    assert pages.copied <= pieces.beside_pages(found.meta.tensors[TABLE], max(parts, 1))
    if unit == pieces.PAGE_BYTES and parts < 2:
        assert pages.copied == 0


@pytest.mark.parametrize("dtype", pieces._SHARED)
def test_pages_of_each_type_are_tensors_without_a_copy(tmp_path: Path, dtype: str) -> None:
    value = drawn((5_003, 8), dtype)
    array = Pages(saved(tmp_path, {TABLE: value})).array(TABLE)
    tensor = tensor_of(array)
    assert tensor.dtype == tf.as_dtype(dtype)
    np.testing.assert_array_equal(tensor, value)
    array[3] = 1
    np.testing.assert_array_equal(tensor[3], np.ones(8, value.dtype))


def test_a_type_that_can_not_be_shared_is_not_mapped(tmp_path: Path) -> None:
    found = saved(tmp_path, {TABLE: drawn((20_000, 8), "bfloat16")})
    assert not Pages(found).has(TABLE)
    assert found.meta.slices and not found.meta.files


def test_whoever_writes_to_a_page_writes_to_no_file(tmp_path: Path) -> None:
    value = drawn((10_000, 16))
    found = saved(tmp_path, {TABLE: value})
    array = Pages(found).array(TABLE)
    array[:] = 0
    np.testing.assert_array_equal(Pages(found).array(TABLE), value)


@pytest.mark.parametrize("removed", [True, False])
def test_pages_that_are_held_outlive_the_checkpoint(tmp_path: Path, removed: bool) -> None:
    value = drawn((10_000, 16))
    found, held = saved(tmp_path / "checkpoints", {TABLE: value}), tmp_path / "held" / "7"
    pages = Pages(found, held)
    array = pages.array(TABLE)
    assert pages.copied == 0
    files = {path.stat().st_ino for path in found.path.glob("*.data-*")}
    assert {path.stat().st_ino for path in held.iterdir()} <= files
    assert len([*held.iterdir()]) == len(found.meta.files[TABLE])
    if removed:
        shutil.rmtree(found.path)
    np.testing.assert_array_equal(array, value)


def test_a_volume_without_hard_links_has_its_files_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*names: Any) -> None:
        raise PermissionError("no links here")

    value = drawn((10_000, 16))
    found = saved(tmp_path / "checkpoints", {TABLE: value})
    monkeypatch.setattr(os, "link", refuse)
    pages = Pages(found, tmp_path / "held")
    np.testing.assert_array_equal(pages.array(TABLE), value)
    assert (pages.in_files, pages.copied) == (0, value.nbytes)


@pytest.mark.parametrize("wrong", ["turned", "unknown", "other"])
def test_files_that_meta_names_wrongly_give_right_values(tmp_path: Path, wrong: str) -> None:
    value = drawn((10_000, 16))
    found = saved(tmp_path, {TABLE: value, SLOT: value + 1})
    document = json.loads((found.path / "meta.json").read_text())
    numbers = document["files"][TABLE]
    document["files"][TABLE] = {
        "turned": numbers[::-1],
        "unknown": [9_999 for _ in numbers],
        "other": [0 for _ in numbers],
    }[wrong]
    (found.path / "meta.json").write_text(json.dumps(document))
    pages = Pages(read.described(found.path))
    np.testing.assert_array_equal(pages.array(TABLE), value)
    assert pages.copied > 0


def test_files_of_another_number_than_the_slices_are_a_damaged_checkpoint(tmp_path: Path) -> None:
    found = saved(tmp_path, {TABLE: drawn((10_000, 16))})
    document = json.loads((found.path / "meta.json").read_text())
    del document["files"][TABLE][0]
    (found.path / "meta.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="the files of model/table are not as many as its slices"):
        read.described(found.path)


def test_every_checksum_is_looked_at(tmp_path: Path) -> None:
    found = saved(tmp_path, {TABLE: drawn((10_000, 16))})
    for file in sorted(found.path.glob("*.data-*"))[1:]:
        whole = file.read_bytes()
        file.write_bytes(bytes([whole[0] ^ 1]) + whole[1:])
        with pytest.raises(read.DamagedError):
            Pages(found).array(TABLE)
        file.write_bytes(whole)


def test_the_files_of_a_large_state_are_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each slice that can be mapped begins a file; so a small tensor is not mapped."""
    monkeypatch.setattr(pieces, "_MOST_PIECES", 20)
    tensors = {f"model/w{at}": drawn((5_000, 1)) for at in range(100)}
    found = saved(tmp_path, {**tensors, TABLE: drawn((50_000, 16))})
    assert set(found.meta.files) == {TABLE}
    assert len([*found.path.glob("*.data-*")]) <= 3 * 20
