"""Where each worker builds the model for itself: another one is told, not waited for."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.protocol import Result
from tf_cluster_trainer.strategies.step import same_model

from tests.slices import sliced
from tests.support.children import let_go
from tests.support.trainings import HERE
from tests.trainer.strategies.ways import two_workers

PROGRAMS = "tests.trainer.child.programs.other_model:"
BETWEEN_GRAPH = [f"parameter-server-between-graph-{update}" for update in ("async", "sync")]
ALL_REDUCE = "all-reduce-between-graph-sync"
TOLD = {"path": HERE, "batch": 8, "per_call": 5, "steps": 20}
SAYS = "build_model made another model on worker-1 than on worker-0"


@pytest.mark.parametrize("combination", sliced([*BETWEEN_GRAPH, ALL_REDUCE], 2))
@pytest.mark.parametrize("program", ["ByTask", "TrainsLess"])
def test_a_worker_with_another_model_ends_and_says_so(
    program: str, combination: str, tmp_path: Path
) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        told = {**TOLD, **settings, "module": PROGRAMS + program}
        for index in range(world.ps):
            world.start("ps", index, **told)
        first, other = world.train(**told)
        # All of all-reduce see it, and the one that is slower may have lost the other by then.
        saw = first if combination == ALL_REDUCE else other
        assert saw.exit_code() == exit_codes.CONFIG, saw.tail()
        assert SAYS in saw.text()
        assert other.exit_code() in (exit_codes.CONFIG, exit_codes.PEER_LOST), other.tail()


@pytest.mark.parametrize("combination", sliced(BETWEEN_GRAPH, 1))
def test_a_worker_whose_variables_are_whole_by_mistake_starts_again(
    combination: str, tmp_path: Path
) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        told = {**TOLD, **settings, "module": f"{PROGRAMS}WholeAtFirst"}
        for index in range(world.ps):
            world.start("ps", index, **told)
        first, other = world.train(**told)
        assert other.exit_code() == exit_codes.PEER_LOST, other.tail()
        assert "each variable stays whole, on one ps, since in parts: " in other.text()
        assert "by other names or in other parts than this worker" in other.text()
        again = world.start("worker", 1, **told)
        let_go([again])
        assert again.exit_code() == exit_codes.DONE, again.tail()
        assert first.exit_code() == exit_codes.DONE, first.tail()
        (result,) = first.of(Result)
        assert result.step == TOLD["steps"]


def test_a_worker_that_is_short_of_memory_is_not_whole_but_starts_again(tmp_path: Path) -> None:
    with two_workers(BETWEEN_GRAPH[0], tmp_path) as (world, settings):
        told = {**TOLD, **settings, "module": f"{PROGRAMS}WithoutMemoryAtFirst"}
        first = world.start("worker", 1, **told)
        assert first.exit_code() == exit_codes.PEER_LOST, first.tail()
        assert "the model could not be built in parts: " in first.text()


ONE = {"a": TensorSpec((2, 3), "float32"), "b": TensorSpec((2,), "float32")}


@pytest.mark.parametrize(
    ("other", "trained"),
    [
        ({**ONE, "a": TensorSpec((3, 2), "float32")}, {"a"}),
        ({**ONE, "a": TensorSpec((2, 3), "float64")}, {"a"}),
        ({**ONE, "c": TensorSpec((), "int64")}, {"a"}),
        ({"a": ONE["a"]}, {"a"}),
        ({"b": ONE["b"], "a": ONE["a"]}, {"a"}),
        (ONE, {"a", "b"}),
    ],
    ids=["shape", "type", "more", "less", "order", "trained"],
)
def test_what_makes_a_model_another_one(
    other: dict[str, TensorSpec], trained: Collection[str]
) -> None:
    one = same_model.fingerprint(ONE, {"a"})
    assert 0 <= one < 2**63
    by_other_names = {f"model_1/{key}": spec for key, spec in ONE.items()}
    assert one == same_model.fingerprint(by_other_names, {"model_1/a"})
    same_model.check([one, one, one])
    with pytest.raises(ProgramError, match="on worker-2 than on worker-0"):
        same_model.check([one, one, same_model.fingerprint(other, trained)])
