"""Whether the ps reach the volume: what is tried, and what becomes of each answer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.config import ConfigError
from tf_cluster_trainer.errors import NotOwnerError
from tf_cluster_trainer.ps_volume import reach
from tf_cluster_trainer.servers import ps_files

Asked = Callable[[Sequence[str]], Iterable[bytes]]


def mounted(words: Sequence[str]) -> list[bytes]:
    """Two ps that see this machine's disk."""
    given = [np.array([word.encode() for word in (*words, f"ps-{task}")]) for task in range(2)]
    return [ps_files.answer(ps_files.REACH, None, [one]).item() for one in given]


def answering(*answers: str) -> Asked:
    return lambda words: [
        one.encode() if one else mine for one, mine in zip(answers, mounted(words), strict=True)
    ]


def tried(
    run_dir: Path, wanted: bool | None, ask: Asked, check_owner: Callable[[], None] = lambda: None
) -> bool:
    try:
        return reach.reach(run_dir, wanted, ask, check_owner=check_owner)
    finally:
        assert not list(run_dir.iterdir())


@pytest.mark.parametrize("wanted", [None, True])
def test_all_ps_reach_it(wanted: bool | None, tmp_path: Path) -> None:
    assert tried(tmp_path, wanted, mounted)


def test_nobody_is_asked_where_the_setting_is_false(tmp_path: Path) -> None:
    def never(words: Sequence[str]) -> list[bytes]:
        raise AssertionError(words)

    assert not tried(tmp_path, False, never)


def test_who_does_not_own_the_run_leaves_nothing(tmp_path: Path) -> None:
    def another() -> None:
        raise NotOwnerError("another attempt owns it")

    with pytest.raises(NotOwnerError):
        tried(tmp_path, None, mounted, another)


ABSENT = ps_files.NOT_MOUNTED + "/log/token: No such file or directory"


def test_a_ps_without_the_volume_is_exit_2_only_where_it_must_have_it(tmp_path: Path) -> None:
    ask = answering("", ABSENT)
    assert not tried(tmp_path, None, ask)
    with pytest.raises(ConfigError, match=r"ps-1 does not reach the log volume \(/log/token"):
        tried(tmp_path, True, ask)


def test_a_fault_that_may_pass_is_never_exit_2(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert not tried(tmp_path, True, answering("/log/ps-0: No space left on device", ""))
    said = "go through this task: ps-0 can't use the log volume (/log/ps-0: No space left on"
    assert said in "".join(capfd.readouterr())


def test_a_volume_that_hangs_is_waited_for_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reach, "DEADLINE_SECONDS", 0.2)

    def never(words: Sequence[str]) -> list[bytes]:
        time.sleep(2)  # the volume that hangs
        return []

    began = time.monotonic()
    assert not tried(tmp_path, True, never)
    assert time.monotonic() - began < 1.5


def test_a_lost_ps_is_lost_and_one_of_another_image_does_not_know_how(tmp_path: Path) -> None:
    def failing(error: Exception) -> Asked:
        def ask(words: Sequence[str]) -> list[bytes]:
            raise error

        return ask

    unknown = tf.errors.InvalidArgumentError(None, None, "Missing py trampoline.")
    assert not tried(tmp_path, True, failing(unknown))
    gone = tf.errors.UnavailableError(None, None, "Connection refused")
    with pytest.raises(tf.errors.UnavailableError):
        tried(tmp_path, None, failing(gone))
    replaced = tf.errors.InvalidArgumentError(None, None, "/job:ps/replica:0: unknown device")
    with pytest.raises(tf.errors.InvalidArgumentError):
        tried(tmp_path, True, failing(replaced))
