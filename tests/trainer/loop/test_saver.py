"""When a checkpoint is written, and by whom old ones are removed."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import pieces
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import Piece, Written
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import NotFiniteError, NotNowError, NotOwnerError, PsVolumeError
from tf_cluster_trainer.loop import saver
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.saver import Saver
from tf_cluster_trainer.protocol import Finishing, Message, Phase, Saved, StepsMade
from tf_cluster_trainer.run_directory import layout

from tests.slices import in_turn
from tests.support.children import PROGRAMS
from tests.support.waiting import eventually


class Heard:
    """A channel's one end."""

    def __init__(self) -> None:
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)


class Weights:
    """A state of two tensors that come one after the other, the second once `gate` is open."""

    specs: Mapping[str, TensorSpec] = {
        "model/w": TensorSpec((2,), "float32"),
        "model/b": TensorSpec((), "float32"),
    }

    def __init__(self, weight: float = 0.0, errors: Sequence[Exception] = ()) -> None:
        self.weight = weight
        self.errors = [*errors]
        self.gate = threading.Event()
        self.gate.set()
        self.threads: set[str] = set()

    def pieces(self, into: Path | None = None) -> Iterator[list[Piece]]:
        self.threads.add(threading.current_thread().name)
        yield [Piece("model/w", np.full(2, self.weight, np.float32))]
        assert self.gate.wait(60)
        if self.errors:
            raise self.errors.pop(0)
        yield [Piece("model/b", np.float32(0))]


@pytest.fixture(params=["copied", "streamed"])
def how(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """A small state, which is copied, and one that is taken for large."""
    if request.param == "streamed":
        monkeypatch.setattr(pieces, "SMALL_STATE_BYTES", 0)
    return str(request.param)


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state is taken for large."""
    monkeypatch.setattr(pieces, "SMALL_STATE_BYTES", 0)


def saves(
    directory: Path,
    channel: Any,
    check_owner: Callable[[], None] = lambda: None,
    keep: int = 3,
    state: Weights | None = None,
    trained: Collection[str] = ("model/w",),
    lockstep: bool = False,
    holds_state: bool = False,
) -> Saver:
    return Saver(
        directory=directory,
        keep=keep,
        optimizer="SGD",
        trained=trained,
        state=state or Weights(),
        lockstep=lockstep,
        check_owner=check_owner,
        channel=channel,
        saved_step=None,
        holds_state=holds_state,
    )


MANY = PROGRAMS / "many_saves.py"
BUFFER_KIB = 8 * 1024  # what TensorFlow's writer leaves in a thread's arena


def at(step: int) -> TrainingCounters:
    return TrainingCounters(step, 8 * step, {"0": step}, step, 0.0, {}, 0)


@pytest.mark.usefixtures("how")
def test_a_step_is_saved_once(tmp_path: Path) -> None:
    channel = Heard()
    some = saves(tmp_path, channel)
    assert some.last(at(5)) == tmp_path / "ckpt-5"
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


@in_turn(1, of=2)
def test_twenty_saves_take_no_more_memory_than_two(tmp_path: Path) -> None:
    done = subprocess.run(
        (sys.executable, str(MANY), str(tmp_path), "20"), capture_output=True, text=True, check=True
    )
    resident = [int(line) for line in done.stdout.split()]
    assert resident[-1] - resident[1] < 4 * BUFFER_KIB, resident


@pytest.mark.usefixtures("how")
@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_never_saved(tmp_path: Path, weight: float) -> None:
    some = saves(tmp_path, Heard(), state=Weights(weight))
    with pytest.raises(NotFiniteError, match="w is NaN or infinite at step 5"):
        some.last(at(5))
    assert list(tmp_path.iterdir()) == []


def test_large_finite_weights_are_saved(tmp_path: Path) -> None:
    saves(tmp_path, Heard(), state=Weights(3e38)).last(at(5))  # their sum is not, in float32
    assert (tmp_path / "ckpt-5").is_dir()


def test_what_no_gradient_changes_may_be_infinite(tmp_path: Path) -> None:
    saves(tmp_path, Heard(), state=Weights(float("-inf")), trained=()).last(at(5))
    assert (tmp_path / "ckpt-5").is_dir()


@pytest.mark.usefixtures("large")
def test_a_large_state_is_read_while_training_goes_on(tmp_path: Path) -> None:
    """The caller's thread reads nothing of it."""
    state = Weights()
    some = saves(tmp_path, Heard(), state=state)
    state.gate.clear()
    some.begin(at(5))  # returns, though half of the state is still to be read
    some.begin(at(6))  # one save at a time
    assert not (tmp_path / "ckpt-5").exists()
    state.gate.set()
    some.last(at(7))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["ckpt-5", "ckpt-7"]
    assert threading.current_thread().name not in state.threads


@pytest.mark.usefixtures("large")
def test_in_lockstep_training_stands_still_until_a_large_state_is_written(tmp_path: Path) -> None:
    some = saves(tmp_path, Heard(), lockstep=True)
    some.begin(at(5))
    assert (tmp_path / "ckpt-5").is_dir()


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("what", ["begins", "in lockstep", "is the last"])
def test_a_save_that_takes_very_long_is_said_once(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Be it that the next would begin, or that this task waits for it."""
    monkeypatch.setattr(saver, "LONG_SECONDS", 0.2)
    monkeypatch.setattr(saver, "LOOK_SECONDS", 0.1)
    said: list[str] = []
    state = Weights()

    def log(words: str, severity: str = "") -> None:
        said.append(words)
        if "still being written" in words:
            state.gate.set()

    monkeypatch.setattr(saver, "log", log)
    some = saves(tmp_path, Heard(), state=state, lockstep=what == "in lockstep")
    state.gate.clear()
    if what == "is the last":
        some.last(at(5))
    else:
        some.begin(at(5))

    def said_when_the_next_is_due() -> bool:
        if not state.gate.is_set():
            some.begin(at(6))
        return state.gate.is_set()

    eventually("the words", said_when_the_next_is_due)
    some.settle_before_last()
    (words,) = (one for one in said if "still being written" in one)
    assert words.startswith("the checkpoint of step 5 is still being written after ")
    assert words.endswith(f"the volume of {tmp_path}, or a ps, is slow, or hangs")


LOST = [
    pytest.param(NotNowError("ps-0 is lost"), id="not-now"),
    pytest.param(tf.errors.UnavailableError(None, None, "Connection reset by peer"), id="wire"),
]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("error", LOST)
def test_what_could_not_be_read_beside_the_training_is_said_and_the_next_save_is_whole(
    tmp_path: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    some = saves(tmp_path, Heard(), state=Weights(errors=[error]))
    some.begin(at(5))
    some.drain()
    assert list(tmp_path.iterdir()) == []
    assert "the checkpoint of step 5 is given up: " in "".join(capsys.readouterr())
    some.begin(at(6))
    some.drain()
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-6"]


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("error", LOST)
def test_what_can_not_be_read_in_lockstep_is_the_callers_error(
    tmp_path: Path, error: Exception
) -> None:
    some = saves(tmp_path, Heard(), state=Weights(errors=[error]), lockstep=True)
    with pytest.raises(type(error)):
        some.begin(at(5))
    some.begin(at(5))
    assert [path.name for path in tmp_path.iterdir()] == ["ckpt-5"]


@pytest.mark.usefixtures("large")
def test_an_error_of_the_program_in_reading_is_not_swallowed(tmp_path: Path) -> None:
    some = saves(tmp_path, Heard(), state=Weights(errors=[ZeroDivisionError("ours")]))
    some.begin(at(5))
    with pytest.raises(ZeroDivisionError):
        some.last(at(6))


def test_a_large_state_that_is_being_saved_at_a_stop_is_told(tmp_path: Path, how: str) -> None:
    state = Weights()
    some = saves(tmp_path, Heard(), state=state)
    assert some.settle_before_last() is None
    some.begin(at(5))
    # A copy is followed by another save: that takes no ps long.
    assert some.settle_before_last() == (5 if how == "streamed" else None)
    assert some.settle_before_last() is None


def test_the_ps_are_needed_until_the_state_is_read(tmp_path: Path, how: str) -> None:
    channel = Heard()
    saves(tmp_path, channel).last(at(5), finished=True)
    copied, streamed = [Finishing, Phase, Saved], [StepsMade, Phase, Saved, Finishing]
    assert [type(one) for one in channel.messages] == (copied if how == "copied" else streamed)


@pytest.mark.usefixtures("large")
def test_what_this_process_holds_anyway_is_copied(tmp_path: Path) -> None:
    state = Weights()
    some = saves(tmp_path, Heard(), state=state, holds_state=True)
    some.last(at(5))
    assert state.threads == {threading.current_thread().name}


def test_what_a_killed_child_left_half_written_makes_room_for_the_next(tmp_path: Path) -> None:
    left = tmp_path / "ckpt-3.tmp-0123"
    left.mkdir()
    checkpoint_write.remove_left(tmp_path)
    assert not left.exists()


class OnPs(Weights):
    """A state whose second tensor is written by a ps, if it can."""

    def __init__(self, error: Exception | None, not_finite: Sequence[str] = ()) -> None:
        super().__init__()
        self.error = error
        self.not_finite = tuple(not_finite)
        self.directories: list[Path | None] = []
        self.closed = 0

    def pieces(self, into: Path | None = None) -> Iterator[Any]:
        self.directories.append(into)
        if into is None:
            yield from super().pieces()
            return
        yield [Piece("model/b", np.float32(0))]
        try:
            if self.error:
                raise self.error
            tf.raw_ops.SaveV2(
                prefix=str(into / "by-ps"),
                tensor_names=["model/w"],
                shape_and_slices=["2 0,2"],
                tensors=[tf.zeros(2)],
            )
            yield [Written("by-ps", (("model/w", 0),), 8, self.not_finite)]
        finally:
            self.closed += 1


@pytest.mark.usefixtures("large")
def test_what_a_ps_wrote_is_a_part_of_the_checkpoint(tmp_path: Path) -> None:
    channel = Heard()
    state = OnPs(None)
    path = saves(tmp_path, channel, state=state).last(at(5))
    found = tf.train.load_checkpoint(str(path / "variables")).get_tensor("model/w")
    assert found.tolist() == [0, 0]
    (saved,) = (one for one in channel.messages if isinstance(one, Saved))
    assert (saved.way, saved.size) == ("ps", 12)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("last", [True, False])
def test_what_a_ps_cant_write_is_written_here_in_another_directory(
    last: bool, tmp_path: Path
) -> None:
    channel = Heard()
    state = OnPs(PsVolumeError("ps-1: /log/x: Read-only file system"))
    some = saves(tmp_path, channel, state=state)
    if last:
        some.last(at(5))
    else:
        some.begin(at(5))
        some.settle_before_last()
    (saved,) = (one for one in channel.messages if isinstance(one, Saved))
    assert (saved.step, saved.way) == (5, "streamed")
    assert len(state.directories) == 2 and state.directories[1] is None
    assert [one.name for one in tmp_path.iterdir()] == ["ckpt-5"]


@pytest.mark.usefixtures("large")
def test_on_a_full_volume_nobody_tries_again(tmp_path: Path) -> None:
    state = OnPs(PsVolumeError("ps-1: /log/x: No space left on device"))
    with pytest.raises(PsVolumeError, match="ps-1: /log/x: No space"):
        saves(tmp_path, Heard(), state=state).last(at(5))
    assert len(state.directories) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("large")
def test_what_is_under_way_has_ended_when_the_directory_is_removed(tmp_path: Path) -> None:
    state = OnPs(None, not_finite=["model/w"])
    with pytest.raises(NotFiniteError, match="w is NaN or infinite at step 5"):
        saves(tmp_path, Heard(), state=state).last(at(5))
    assert state.closed == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("how")
def test_a_bfloat16_variable_is_looked_at_too(tmp_path: Path) -> None:
    class Half(Weights):
        specs: Mapping[str, TensorSpec] = {"model/w": TensorSpec((2,), "bfloat16")}

        def pieces(self, into: Path | None = None) -> Iterator[list[Piece]]:
            yield [Piece("model/w", np.array([1, np.nan], tf.bfloat16.as_numpy_dtype))]

    with pytest.raises(NotFiniteError, match="w is NaN"):
        saves(tmp_path, Heard(), state=Half()).last(at(5))


def test_an_old_checkpoint_that_is_removed_half_does_not_seem_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = saves(tmp_path, Heard(), keep=3)
    for step in (5, 6):
        some.last(at(step))
    monkeypatch.setattr(checkpoint_write.shutil, "rmtree", lambda *_, **__: None)
    checkpoint_write.prune(tmp_path, keep=1)
    assert [path.name for _, path in layout.whole_checkpoints(tmp_path)] == ["ckpt-6"]
