"""When a checkpoint is written, and by whom old ones are removed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.errors import NotFiniteError, NotOwnerError
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.saver import Saver
from tf_cluster_trainer.protocol import Message, Saved

from tests.support.children import PROGRAMS


class Heard:
    """A channel's one end."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)


def saves(
    directory: Path,
    channel: Any,
    check_owner: Callable[[], None] = lambda: None,
    keep: int = 3,
    weight: float = 0.0,
    trained: Collection[str] = ("model/w",),
) -> Saver:
    return Saver(
        directory=directory,
        keep=keep,
        optimizer="SGD",
        trained=trained,
        copy=lambda: {"model/w": np.full(2, weight, np.float32)},
        check_owner=check_owner,
        channel=channel,
        saved_step=None,
    )


MANY = PROGRAMS / "many_saves.py"
BUFFER_KIB = 8 * 1024  # what TensorFlow's writer leaves in a thread's arena


def at(step: int) -> TrainingCounters:
    return TrainingCounters(step, 8 * step, {"0": step}, step, 0.0, {}, 0)


def test_a_step_is_saved_once(tmp_path: Path) -> None:
    channel = Heard()
    some = saves(tmp_path, channel)
    some.last(at(5))
    kept = (tmp_path / "ckpt-5").stat().st_ino
    some.begin(at(5))
    some.last(at(5))
    assert [one.step for one in channel.messages if isinstance(one, Saved)] == [5]
    assert (tmp_path / "ckpt-5").stat().st_ino == kept


def test_an_attempt_that_lost_the_run_in_a_slow_flush_removes_nothing(tmp_path: Path) -> None:
    saves(tmp_path, Heard()).last(at(5))

    def lost_once_it_is_there() -> None:
        if (tmp_path / "ckpt-7").exists():
            raise NotOwnerError("lost")

    with pytest.raises(NotOwnerError):
        saves(tmp_path, Heard(), lost_once_it_is_there, keep=1).last(at(7))
    assert (tmp_path / "ckpt-5").is_dir()


def test_an_error_of_the_writer_is_the_next_saves(tmp_path: Path) -> None:
    def lost() -> None:
        raise NotOwnerError("lost")

    some = saves(tmp_path, Heard(), lost)
    some.begin(at(5))
    with pytest.raises(NotOwnerError):
        some.last(at(6))


def test_twenty_saves_take_no_more_memory_than_two(tmp_path: Path) -> None:
    done = subprocess.run(
        (sys.executable, str(MANY), str(tmp_path), "20"), capture_output=True, text=True, check=True
    )
    resident = [int(line) for line in done.stdout.split()]
    assert resident[-1] - resident[1] < 4 * BUFFER_KIB, resident


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path, weight: float) -> None:
    with pytest.raises(NotFiniteError, match="w is NaN or infinite at step 5"):
        saves(tmp_path, Heard(), weight=weight).last(at(5))
    assert list(tmp_path.iterdir()) == []


def test_large_finite_weights_are_saved(tmp_path: Path) -> None:
    saves(tmp_path, Heard(), weight=3e38).last(at(5))  # their sum is not finite in float32
    assert (tmp_path / "ckpt-5").is_dir()


def test_what_no_gradient_changes_may_be_infinite(tmp_path: Path) -> None:
    saves(tmp_path, Heard(), weight=float("-inf"), trained=()).last(at(5))
    assert (tmp_path / "ckpt-5").is_dir()


def test_what_a_killed_child_left_half_written_makes_room_for_the_next(tmp_path: Path) -> None:
    left = tmp_path / "ckpt-3.tmp-0123"
    left.mkdir()
    checkpoint_write.remove_partial(tmp_path)
    assert not left.exists()
