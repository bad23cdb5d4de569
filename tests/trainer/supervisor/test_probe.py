"""Directories that can't be used, as a user who is not root meets them."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tf_cluster_trainer.supervisor import probe
from tf_cluster_trainer.supervisor.saved_step import saved_step

NOBODY = 65534


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """This process as a user that owns nothing."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody who may not")
    groups = os.getgroups()
    os.setgroups([])
    os.setegid(NOBODY)
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)
        os.setegid(0)
        os.setgroups(groups)


def open_up(path: Path) -> None:
    """pytest's own directories are closed to others."""
    for folder in [path, *path.parents][:4]:
        folder.chmod(folder.stat().st_mode | 0o055)


def test_a_directory_of_another_user_is_named_with_owner_mode_and_ourselves(
    tmp_path: Path,
) -> None:
    open_up(tmp_path)
    tmp_path.chmod(0o755)
    with as_nobody(), pytest.raises(probe.UnusableError) as raised:
        probe.writable(tmp_path / "digits" / "1", "log")
    said = str(raised.value)
    assert f"the log directory {tmp_path}/digits/1 can't be written: Permission denied" in said
    assert f"{tmp_path} belongs to 0:0, mode 0755; this process is 65534:65534" in said
    assert "security.podSecurityContext.fsGroup" in said
    assert "storage.log" in said


def test_data_need_not_be_writable_but_readable(tmp_path: Path) -> None:
    open_up(tmp_path)
    tmp_path.chmod(0o755)
    with as_nobody():
        probe.readable(tmp_path, "data")
    tmp_path.chmod(0o700)
    with as_nobody(), pytest.raises(probe.UnusableError, match="the data directory"):
        probe.readable(tmp_path, "data")


def test_a_probe_leaves_nothing_behind(tmp_path: Path) -> None:
    probe.writable(tmp_path / "digits" / "1", "log")
    assert list((tmp_path / "digits" / "1").iterdir()) == []


@pytest.mark.parametrize(
    ("number", "exit_code", "words"),
    [
        (errno.ENOSPC, 1, "its volume is full"),
        (errno.EDQUOT, 1, "its volume is full"),
        (errno.EIO, 1, "does not work at the moment"),
        (errno.ESTALE, 1, "does not work at the moment"),
        (errno.ETIMEDOUT, 1, "does not work at the moment"),
        (errno.EROFS, 2, "security.podSecurityContext"),
        (errno.EACCES, 2, "security.podSecurityContext"),
    ],
)
def test_only_a_wrong_set_up_is_final(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, exit_code: int, words: str
) -> None:
    def fail(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(probe.UnusableError) as raised:
        probe.writable(tmp_path, "log")
    assert raised.value.exit_code == exit_code
    said = str(raised.value)
    assert f"{tmp_path} can't be written: {os.strerror(number)}; " in said
    assert words in said
    assert ("podSecurityContext" in said) == (exit_code == 2)


def test_checkpoints_that_can_not_be_listed_are_named(tmp_path: Path) -> None:
    open_up(tmp_path)
    checkpoints = tmp_path / "checkpoints"
    checkpoints.mkdir()
    checkpoints.chmod(0o700)
    with as_nobody(), pytest.raises(probe.UnusableError) as raised:
        saved_step(tmp_path)
    assert raised.value.exit_code == 2
    said = str(raised.value)
    assert f"the log directory {checkpoints} can't be read: Permission denied" in said
    assert f"{checkpoints} belongs to 0:0, mode 0700; this process is 65534:65534" in said
