"""Checkpoints on disk, without any other task."""

from __future__ import annotations

import errno
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import pieces
from tf_cluster_trainer.checkpoint import read as checkpoint_read
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Checkpoint, Meta, TensorSpec
from tf_cluster_trainer.errors import NotNowError, ProgramError

WEIGHTS = {"model/w": np.arange(6, dtype=np.float32).reshape(3, 2)}


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE_BYTES", 1500)
    monkeypatch.setattr(pieces, "LEAST_BYTES", 1000)


def meta(step: int, tensors: dict[str, np.ndarray] = WEIGHTS) -> Meta:
    specs = {
        key: TensorSpec(value.shape, tf.as_dtype(value.dtype).name)
        for key, value in tensors.items()
    }
    return Meta(step, step * 8, {"0": step}, "SGD", specs)


def write(directory: Path, step: int, tensors: dict[str, np.ndarray] = WEIGHTS) -> Path:
    coming = [[Piece(key, value)] for key, value in tensors.items()]
    into = checkpoint_write.temporary_of(directory, step)
    return checkpoint_write.write(meta(step, tensors), coming, into, check_owner=lambda: None)


def tensors_of(saved: Checkpoint) -> dict[str, np.ndarray]:
    return {key: checkpoint_read.value(saved, key) for key in saved.meta.tensors}


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    write(tmp_path, 7)
    found = checkpoint_read.newest(tmp_path, print)
    assert found is not None
    assert found.meta == meta(7)
    np.testing.assert_array_equal(checkpoint_read.value(found, "model/w"), WEIGHTS["model/w"])


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize(
    "dtype",
    [
        *("float32", "float64", "bfloat16", "complex64", "int8", "int16", "int64", "uint8", "bool"),
        *("float16", "int32", "uint16", "uint32", "uint64", "float8_e4m3fn", "S"),
    ],
)
@pytest.mark.parametrize("shape", [(1000, 7), (999,), (3, 500), (1000, 2, 3)])
def test_what_is_written_in_slices_is_read_back_whole(
    tmp_path: Path, dtype: str, shape: tuple[int, ...]
) -> None:
    numbers = np.random.default_rng(1).integers(0, 99, shape)
    large = numbers.astype(object if dtype == "S" else tf.as_dtype(dtype).as_numpy_dtype)
    if dtype == "S":
        large = np.vectorize(lambda number: b"%d" % number, otypes=[object])(numbers)
    tensors = {
        "model/first": np.arange(6, dtype=np.float32).reshape(3, 2),
        "model/large": large,
        "model/none": np.zeros((0, 4), np.float32),
        "optimizer/iterations": np.asarray(7),
        "optimizer/m/large": large,
    }
    path = write(tmp_path, 7, tensors)

    bundle = tf.train.load_checkpoint(str(path / "variables"))
    assert bundle.get_tensor("step") == 7
    for key, value in tensors.items():
        if dtype.startswith("float8") and key.endswith("large"):
            continue  # TensorFlow's own reader knows no such arrays
        assert bundle.get_tensor(key).dtype == value.dtype
        np.testing.assert_array_equal(bundle.get_tensor(key), value)
    names = {one.name for one in path.iterdir()}
    sliced = dtype in pieces._CUT
    count = len(names) - 2
    assert count > 6 if sliced and large.nbytes > 9_000 else count >= 1
    data = {f"variables.data-{at:05}-of-{count:05}" for at in range(count)}
    assert names == {"variables.index", "meta.json", *data}
    found = checkpoint_read.newest(tmp_path, print)
    assert found is not None
    for key, value in tensors_of(found).items():
        np.testing.assert_array_equal(value, tensors[key])
        assert value.dtype == tensors[key].dtype
    assert bool(found.meta.slices) == (sliced and large.nbytes > 1500)
    # As trainers wrote it that knew no slices.
    text = json.loads((path / "meta.json").read_text())
    del text["slices"]
    (path / "meta.json").write_text(json.dumps(text))
    np.testing.assert_array_equal(
        checkpoint_read.value(checkpoint_read.read(path), "model/large"), large
    )


@pytest.mark.usefixtures("small_pieces")
def test_every_byte_of_a_sliced_tensor_is_looked_at(tmp_path: Path) -> None:
    path = write(tmp_path, 7, {"model/w": np.ones((1000, 3), np.float32)})
    write(tmp_path, 5)
    for file in sorted(path.glob("variables.data-*")):
        whole = file.read_bytes()
        file.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
        with pytest.raises(checkpoint_read.DamagedError, match="hecksum"):
            checkpoint_read.read(path)
        file.write_bytes(whole)
    checkpoint_read.read(path)
    file.write_bytes(whole[:-4])
    found = checkpoint_read.newest(tmp_path, print)
    assert found is not None and found.meta.step == 5


@pytest.mark.parametrize("first", [[], [1, 500], [0, 500, 500], [0, 1000], [0, 600, 500]])
def test_slices_that_are_not_all_rows_are_a_damaged_checkpoint(
    tmp_path: Path, first: list[int]
) -> None:
    path = write(tmp_path, 7, {"model/w": np.ones((1000, 3), np.float32)})
    document = json.loads((path / "meta.json").read_text())
    document["slices"] = {"model/w": first}
    (path / "meta.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match="the slices of model/w are not all of its rows"):
        checkpoint_read.read(path)


@pytest.mark.usefixtures("small_pieces")
def test_what_raises_while_it_is_written_leaves_nothing(tmp_path: Path) -> None:
    large = {"model/w": np.ones((1000, 3), np.float32)}
    written: list[str] = []

    def coming() -> Iterator[list[Piece]]:
        for first in range(0, 500, 100):
            yield [Piece("model/w", large["model/w"][first : first + 100], first)]
        (partial,) = tmp_path.iterdir()
        written.extend(path.name for path in partial.iterdir())
        raise NotNowError("the ps are lost")

    with pytest.raises(NotNowError):
        into = checkpoint_write.temporary_of(tmp_path, 7)
        checkpoint_write.write(meta(7, large), coming(), into, check_owner=lambda: None)
    assert len(written) > 4
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("small_pieces")
def test_a_disk_that_fails_half_way_leaves_nothing_and_is_an_os_error(tmp_path: Path) -> None:
    large = {"model/w": np.ones((1000, 3), np.float32)}

    def coming() -> Iterator[list[Piece]]:
        for first in range(0, 1000, 100):
            if first == 500:
                (partial,) = tmp_path.iterdir()
                shutil.rmtree(partial)
                partial.touch()  # no file can be written there
            yield [Piece("model/w", large["model/w"][first : first + 100], first)]

    with pytest.raises(OSError, match="ckpt-7"):
        into = checkpoint_write.temporary_of(tmp_path, 7)
        checkpoint_write.write(meta(7, large), coming(), into, check_owner=lambda: None)
    assert [path.is_dir() for path in tmp_path.iterdir()] in ([], [False])
    assert checkpoint_read.newest(tmp_path, print) is None


def test_a_tensor_of_strings_is_known_by_the_name_that_earlier_trainers_gave_it(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, 7, {"model/w": np.array([b"one", b"two"], object)})
    text = (path / "meta.json").read_text()
    (path / "meta.json").write_text(text.replace('"string"', '"object"'))
    found = checkpoint_read.read(path)
    checkpoint_read.check_model(found.meta, {"model/w": TensorSpec((2,), "string")})
    assert checkpoint_read.value(found, "model/w").tolist() == [b"one", b"two"]


def test_only_the_newest_stay_and_halves_are_removed(tmp_path: Path) -> None:
    for step in (5, 10, 100):
        write(tmp_path, step)
    (tmp_path / "ckpt-200.tmp-0").mkdir()
    checkpoint_write.prune(tmp_path, keep=2)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ckpt-10", "ckpt-100"]


def test_a_step_that_is_saved_again_never_moves_the_whole_one_away(tmp_path: Path) -> None:
    first = write(tmp_path, 7).stat().st_ino
    assert write(tmp_path, 7).stat().st_ino == first
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-7"]


@pytest.mark.parametrize("text", ["{", "[]", None])
def test_a_step_that_was_saved_badly_is_saved_again(tmp_path: Path, text: str | None) -> None:
    meta = write(tmp_path, 7) / "meta.json"
    if text is None:
        meta.unlink()
    else:
        meta.write_text(text)
    write(tmp_path, 7)
    checkpoint_write.prune(tmp_path, keep=3)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-7"]
    assert checkpoint_read.newest(tmp_path, print) is not None


def test_a_step_that_is_damaged_twice_does_not_stay_the_newest(tmp_path: Path) -> None:
    write(tmp_path, 5)
    for _ in range(2):
        (write(tmp_path, 7) / "variables.index").unlink()
        found = checkpoint_read.newest(tmp_path, lambda words: None)
        assert found is not None and found.meta.step == 5
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "ckpt-5",
        "ckpt-7.unreadable",
        "ckpt-7.unreadable-2",
    ]


def test_only_the_newest_unreadable_one_stays(tmp_path: Path) -> None:
    write(tmp_path, 5)
    said: list[str] = []
    for step in (7, 30, 30, 8):
        (write(tmp_path, step) / "variables.index").unlink()
        assert checkpoint_read.newest(tmp_path, said.append) is not None
        checkpoint_write.prune(tmp_path, keep=3)
    kept = tmp_path / "ckpt-30.unreadable-2"
    assert sorted(tmp_path.iterdir()) == [kept, tmp_path / "ckpt-5"]
    # A third one of the step is newer than the second, though there is no first one any more.
    (write(tmp_path, 30) / "variables.index").unlink()
    checkpoint_read.newest(tmp_path, said.append)
    checkpoint_write.remove_left(tmp_path)
    last = tmp_path / "ckpt-30.unreadable-3"
    assert sorted(tmp_path.iterdir()) == [last, tmp_path / "ckpt-5"]
    assert f"ckpt-30 is set aside as {last}; the one before is used. It may be deleted" in said[-1]


@pytest.mark.parametrize("name", ["variables.index", "meta.json"])
def test_a_missing_file_is_said_and_the_one_before_is_read(tmp_path: Path, name: str) -> None:
    write(tmp_path, 5)
    (write(tmp_path, 7) / name).unlink()
    said: list[str] = []
    found = checkpoint_read.newest(tmp_path, said.append)
    assert found is not None and found.meta.step == 5
    assert "step 7 can't be read" in said[0]
    assert (tmp_path / "ckpt-7.unreadable").is_dir()


def test_with_none_readable_a_new_run_id_is_advised(tmp_path: Path) -> None:
    (write(tmp_path, 5) / "meta.json").write_text("{")
    for _ in range(2):  # a second start must not take the run for a new one
        with pytest.raises(ProgramError, match=r"new run\.id"):
            checkpoint_read.newest(tmp_path, print)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"model/w": TensorSpec((3, 4), "float32")}, r"w is float32\[3, 4\], but float32\[3, 2\]"),
        ({"model/v": TensorSpec((3, 2), "float32")}, "variable v is not in the checkpoint"),
        ({}, "has a variable w that the model has not"),
    ],
)
def test_the_first_variable_that_differs_is_named(model: dict[str, TensorSpec], words: str) -> None:
    with pytest.raises(ProgramError, match=words):
        checkpoint_read.check_model(meta(7), model)


def test_a_disk_that_fails_for_a_moment_costs_no_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 7)
    read, errors = checkpoint_read.read, [RuntimeError("truncated")]

    def stumbles(path: Path, **_: bool) -> Any:
        if errors:
            raise errors.pop()
        return read(path)

    monkeypatch.setattr(checkpoint_read, "read", stumbles)
    found = checkpoint_read.newest(tmp_path, print)
    assert found is not None and found.meta.step == 7


def test_a_disk_that_fails_is_not_taken_for_a_damaged_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, 7)

    def fails(*_: object) -> Any:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoint_read, "read", lambda *_, **__: 1 / 0)
    monkeypatch.setattr(Path, "open", fails)
    with pytest.raises(OSError, match="Input/output"):
        checkpoint_read.newest(tmp_path, print)
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-7"]
