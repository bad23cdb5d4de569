"""A power cut never leaves a checkpoint or an export that is named and not whole.

What the disk was told to keep is watched by inode, size and time of change: a copy of what was
flushed, or a byte written afterwards, is another one.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from tf_cluster_trainer.checkpoint import export, pieces
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import Meta, TensorSpec
from tf_cluster_trainer.errors import NotOwnerError
from tf_cluster_trainer.program.trial import build_model, run_trial

from tests.support.trainings import context
from tests.trainer.child.programs.fixed import Fixed

Kept = tuple[int, int, int]
Write = Callable[[Path, Callable[[], None]], Path]


def kept(stat: os.stat_result) -> Kept:
    return stat.st_ino, stat.st_size, stat.st_mtime_ns


@dataclass
class Disk:
    """What was flushed while nothing had the name yet, and what afterwards."""

    named: Callable[[], bool]
    before: set[Kept] = field(default_factory=set)
    after: set[Kept] = field(default_factory=set)


def checkpoint(log: Path, check_owner: Callable[[], None]) -> Path:
    spec = {"model/w": TensorSpec((3,), "float32")}
    meta = Meta(7, 56, {"0": 7}, "SGD", spec)
    held = [[Piece("model/w", np.ones(3, np.float32))]]
    into = checkpoint_write.temporary_of(log / "named", 7)
    return checkpoint_write.write(meta, held, into, check_owner=check_owner)


def exported(log: Path, check_owner: Callable[[], None]) -> Path:
    program, ctx = Fixed(), context(log)
    features = run_trial(program, ctx).features
    model = build_model(program, ctx, features)
    return export.export(
        model, features, export.About("a", "1", 7), log / "named", check_owner=check_owner
    )


WRITERS = pytest.mark.parametrize("write", [checkpoint, exported])


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Disk]:
    def named() -> bool:
        return any(tmp_path.glob("named/ckpt-7")) or any(tmp_path.glob("named/1"))

    disk, fsync = Disk(named), os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        (disk.after if disk.named() else disk.before).add(kept(os.fstat(descriptor)))

    monkeypatch.setattr(os, "fsync", watched)
    yield disk


@WRITERS
def test_every_file_and_directory_is_on_the_disk_before_it_is_named_and_not_touched_after(
    write: Write, tmp_path: Path, disk: Disk
) -> None:
    final = write(tmp_path, lambda: None)

    inside = [final, *final.rglob("*")]
    assert len(inside) > 3
    assert [path for path in inside if kept(path.stat()) not in disk.before] == []


@WRITERS
def test_the_name_itself_is_on_the_disk_before_it_is_told(
    write: Write, tmp_path: Path, disk: Disk
) -> None:
    final = write(tmp_path, lambda: None)

    assert kept(final.parent.stat()) in disk.after


@WRITERS
def test_an_attempt_that_loses_the_run_while_it_writes_names_nothing_and_leaves_nothing(
    write: Write, tmp_path: Path
) -> None:
    answers = iter([None, NotOwnerError("lost")])

    def lost_while_writing() -> None:
        if error := next(answers):
            raise error

    with pytest.raises(NotOwnerError):
        write(tmp_path, lost_while_writing)
    assert list((tmp_path / "named").iterdir()) == []


@WRITERS
def test_a_disk_that_does_not_keep_it_is_told_and_nothing_is_named_or_left(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(OSError, match="No space left"):
        write(tmp_path, lambda: None)
    assert list((tmp_path / "named").iterdir()) == []


def test_what_is_written_is_flushed_while_the_rest_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a save is not all its reads and writes, and then the disk's work."""
    monkeypatch.setattr(pieces, "PIECE_BYTES", 64)
    begun, fsync = threading.Event(), os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        begun.set()

    monkeypatch.setattr(os, "fsync", watched)
    specs = {f"model/{at}": TensorSpec((16,), "float32") for at in range(3)}

    def coming() -> Iterator[list[Piece]]:
        for key in specs:
            yield [Piece(key, np.ones(16, np.float32))]
        assert begun.wait(30), "nothing was flushed before all was read"

    into = checkpoint_write.temporary_of(tmp_path, 7)
    checkpoint_write.write(
        Meta(7, 56, {"0": 7}, "SGD", specs), coming(), into, check_owner=lambda: None
    )
