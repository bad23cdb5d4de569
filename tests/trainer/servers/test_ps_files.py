"""What a ps answers its chief: words in every case, and files that are whole."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import pieces, read
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import Piece, Written
from tf_cluster_trainer.checkpoint.record import Meta, TensorSpec
from tf_cluster_trainer.servers import ps_files

ROWS = 1000
DTYPES = [
    *("float32", "float64", "bfloat16", "complex64", "complex128"),
    *("int8", "int16", "int64", "uint8", "bool"),
]


def asked(question: str, *words: str, arrays: tuple[Any, ...] = ()) -> str:
    """The answer, as TensorFlow's operation gets it."""
    given = np.array([os.fsencode(word) for word in words], dtype=object)
    return os.fsdecode(ps_files.answer(question, None, [given, *arrays]).item())


def test_a_token_is_left_under_the_tasks_name(tmp_path: Path) -> None:
    (tmp_path / ps_files.TOKEN).write_text("sesame")
    assert asked(ps_files.REACH, str(tmp_path), "sesame", "ps-3") == ""
    assert (tmp_path / "ps-3").read_text() == "sesame"


def test_another_volume_is_told_from_a_fault_that_may_pass(tmp_path: Path) -> None:
    away = str(tmp_path / "away")
    missing = asked(ps_files.REACH, away, "sesame", "ps-3")
    assert missing == f"{ps_files.NOT_MOUNTED}{away}/token: No such file or directory"
    (tmp_path / ps_files.TOKEN).write_text("another")
    assert asked(ps_files.REACH, str(tmp_path), "sesame", "ps-3").startswith(ps_files.NOT_MOUNTED)
    (tmp_path / ps_files.TOKEN).write_text("sesame")
    (tmp_path / "ps-3").symlink_to("/dev/full")
    full = asked(ps_files.REACH, str(tmp_path), "sesame", "ps-3")
    assert "No space left on device" in full and not full.startswith(ps_files.NOT_MOUNTED)


@pytest.mark.parametrize("question", [ps_files.REACH, ps_files.WRITE, "tf_cluster.unknown"])
def test_what_makes_no_sense_is_answered_too(question: str) -> None:
    assert asked(question, "one")


def test_a_directory_that_was_given_up_is_not_made_again(tmp_path: Path) -> None:
    prefix = str(tmp_path / "gone" / "variables")
    said = asked(ps_files.WRITE, prefix, "1 0,1", "w", arrays=(np.ones(1, np.float32),))
    assert "is gone: the save was given up" in said
    assert not (tmp_path / "gone").exists()


@pytest.mark.parametrize("width", [(), (3,), (2, 5)], ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_slices_of_every_type_that_is_cut_come_back(
    dtype: str, width: tuple[int, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of a tensor and its slot, in any order, merged with what the chief wrote."""
    monkeypatch.setattr(pieces, "LEAST_BYTES", 0)
    chance = np.random.default_rng(7)
    kind = tf.as_dtype(dtype).as_numpy_dtype
    keys = "model/w", "optimizer/m/w"
    values = {key: chance.integers(0, 100, (ROWS, *width)).astype(kind) for key in keys}
    spec = TensorSpec((ROWS, *width), dtype)
    small = TensorSpec((), "int64")
    into = checkpoint_write.temporary_of(tmp_path, 5)
    into.mkdir(parents=True)
    starts = [*range(0, ROWS, 77)]
    written = []
    for number, first in enumerate(chance.permutation(starts).tolist()):
        rows = min(77, ROWS - first)
        where = [pieces.place(spec, first, rows)] * 2
        slices = tuple(values[key][first : first + rows] for key in keys)
        prefix = str(into / f"variables.tmp-ps-0-{number}")
        assert asked(ps_files.WRITE, prefix, *where, *keys, arrays=slices) == ""
        size = sum(one.nbytes for one in slices)
        written.append(Written(Path(prefix).name, tuple((key, first) for key in keys), size, ()))
    into.rename(into.with_name("filled"))

    def coming() -> Any:
        for file in (tmp_path / "filled").iterdir():
            file.rename(into / file.name)
        yield [Piece("count", np.int64(3))]
        yield written

    meta = Meta(5, 40, {"0": 5}, "Adam", {"count": small, **dict.fromkeys(keys, spec)})
    path = checkpoint_write.write(meta, coming(), into, check_owner=lambda: None)
    saved = read.read(path)
    assert saved.meta.slices == dict.fromkeys(keys, tuple(starts))
    for key in keys:
        np.testing.assert_array_equal(read.value(saved, key), values[key])
    assert int(read.value(saved, "count")) == 3


def test_a_file_that_the_chief_does_not_see_whole_is_no_checkpoint(tmp_path: Path) -> None:
    spec = TensorSpec((ROWS, 3), "float32")
    value = np.ones(spec.shape, np.float32)
    into = checkpoint_write.temporary_of(tmp_path, 5)

    def coming() -> Any:
        prefix = str(into / "variables.tmp-ps-0-0")
        where = pieces.place(spec, 0, ROWS)
        assert asked(ps_files.WRITE, prefix, where, "model/w", arrays=(value,)) == ""
        with Path(f"{prefix}.data-00000-of-00001").open("r+b") as data:
            data.truncate(value.nbytes - 4096)
        yield [Written("variables.tmp-ps-0-0", (("model/w", 0),), value.nbytes, ())]

    meta = Meta(5, 40, {"0": 5}, "SGD", {"model/w": spec})
    with pytest.raises(OSError, match=r"has 7904 bytes, but a ps wrote 12000"):
        checkpoint_write.write(meta, coming(), into, check_owner=lambda: None)
    assert not list(tmp_path.iterdir())
