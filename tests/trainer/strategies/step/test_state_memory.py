"""A state that fits no ps is an error with its numbers; what may be too little is said."""

from __future__ import annotations

import os

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import container_memory
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.config import ConfigError, Optimizer
from tf_cluster_trainer.program.trial import Trial
from tf_cluster_trainer.servers import ps_files
from tf_cluster_trainer.strategies.step import state_memory
from tf_cluster_trainer.strategies.step.state_memory import PsMemory, Spread, ps_memory

MIB = 1 << 20
STATE = 3000 * MIB


def ps(*limits: int | None) -> list[PsMemory | None]:
    return [PsMemory(120 * MIB, None if one is None else one * MIB) for one in limits]


def test_what_fits_no_ps_is_refused_with_the_numbers_and_the_way_out() -> None:
    told = (
        r"the state of 3,000 MiB does not fit 2 ps: one of them needs at least 1,620 MiB, and none "
        r"may have more than 1,500 MiB; give them more memory \(values: "
        r"ps.resources.limits.memory; params: resources.ps.limits.memory\) or take 5 of them"
    )
    with pytest.raises(ConfigError, match=told):
        state_memory.check_ps(STATE, ps(1500, 1400))


def test_a_variable_that_one_ps_has_whole_is_reckoned_with(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """More ps would not take any of it."""
    whole = Spread(fullest=2700 * MIB, largest=2700 * MIB)
    told = r"one of them needs at least 2,820 MiB, and none may have more than 2,500 MiB; give them"
    with pytest.raises(ConfigError, match=rf"{told} more memory \([^)]+\)$"):
        state_memory.check_ps(STATE, ps(2500, 2500), whole)
    state_memory.check_ps(STATE, ps(5000, 5000), whole)
    said = capsys.readouterr().err
    assert "the fullest ps has 2,700 MiB; it needs up to about 4,530 MiB for that" in said
    state_memory.check_ps(STATE, ps(5000, 5000), Spread(1500 * MIB, 1500 * MIB))
    assert "a ps has about 1,500 MiB" in capsys.readouterr().err


def test_more_ps_help_where_one_has_several_whole_variables() -> None:
    uneven = Spread(fullest=2000 * MIB, largest=1000 * MIB)
    with pytest.raises(ConfigError, match=r"\) or take more of them, 3 at least$"):
        state_memory.check_ps(STATE, ps(2050, 2050), uneven)


def test_before_a_model_is_in_graph_only_another_precision_keeps_its_variables_whole() -> None:
    specs = {"model/a": TensorSpec((50, 2), "float32"), "model/b": TensorSpec((200,), "float32")}
    trial = Trial(None, None, (), specs, frozenset({"model/a"}))
    adam = Optimizer("Adam", 0.001, None)
    assert state_memory.whole_in_graph(trial, adam, "float32") is None
    largest = state_memory.whole_in_graph(trial, adam, "mixed_bfloat16")
    assert largest == Spread(3 * 4 * 100, 3 * 4 * 100)
    assert state_memory.state_bytes(trial, adam) == 3 * 4 * 100 + 4 * 200


def test_what_may_be_too_little_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    state_memory.check_ps(STATE, ps(2500, 2500))
    assert "a ps may have 2,500 MiB: that may be too little" in capsys.readouterr().err
    state_memory.check_ps(STATE, ps(2800, 2800))
    said = capsys.readouterr().err
    assert "too little" not in said
    assert "a ps has about 1,500 MiB; it needs up to about 2,730 MiB for that" in said


@pytest.mark.parametrize("known", [ps(100, None), [*ps(100), None], [None, None]])
def test_where_one_has_no_limit_or_says_nothing_all_goes_on(
    known: list[PsMemory | None],
) -> None:
    state_memory.check_ps(STATE, known)


def test_a_ps_that_still_has_an_earlier_state_is_not_counted_twice() -> None:
    state_memory.check_ps(STATE, [PsMemory(1700 * MIB, 1900 * MIB)] * 2)


def test_a_small_state_asks_nobody() -> None:
    def never() -> list[bytes]:
        raise AssertionError

    state_memory.look_at_ps(200 * MIB, 2, never)


def test_a_ps_of_another_image_is_asked_in_vain() -> None:
    def unknown() -> list[bytes]:
        raise tf.errors.InvalidArgumentError(None, None, "no such token")

    state_memory.look_at_ps(STATE, 1, unknown)
    assert ps_memory(b"KeyError: 'tf_cluster.memory'") is None


def test_a_ps_says_what_it_takes_and_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> PsMemory | None:
        answer = ps_files.answer(ps_files.MEMORY, None, [np.array([b""], dtype=object)])
        return ps_memory(os.fsencode(os.fsdecode(answer.item())))

    monkeypatch.setattr(container_memory, "limit", lambda: 512 * MIB)
    first = said()
    assert first and first.limit == 512 * MIB and first.taken > 50 * MIB
    monkeypatch.setattr(container_memory, "limit", lambda: None)
    second = said()
    assert second and second.limit is None


def test_a_worker_of_all_reduce_holds_the_whole_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_memory, "taken", lambda: 400 * MIB)
    monkeypatch.setattr(container_memory, "limit", lambda: 3500 * MIB)
    state_memory.check_held(STATE)
    monkeypatch.setattr(container_memory, "limit", lambda: 3300 * MIB)
    with pytest.raises(ConfigError, match=r"needs at least 3,400 MiB and may have 3,300 MiB"):
        state_memory.check_held(STATE)
