"""Where each worker builds the model for itself: another one is told, not waited for."""

from __future__ import annotations

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
def test_a_worker_with_another_model_ends_and_says_so(combination: str, tmp_path: Path) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        told = {**TOLD, **settings, "module": f"{PROGRAMS}ByTask"}
        for index in range(world.ps):
            world.start("ps", index, **told)
        first, other = world.train(**told)
        assert other.exit_code() == exit_codes.CONFIG, other.tail()
        assert SAYS in other.text()
        if combination == ALL_REDUCE:  # a step needs both
            assert first.exit_code() == exit_codes.CONFIG, first.tail()
            assert SAYS in first.text()


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
        assert "worker-0 cut the large variables otherwise" in other.text()
        again = world.start("worker", 1, **told)
        let_go([again])
        assert again.exit_code() == exit_codes.DONE, again.tail()
        assert first.exit_code() == exit_codes.DONE, first.tail()
        (result,) = first.of(Result)
        assert result.step == TOLD["steps"]


@pytest.mark.parametrize(
    "other",
    [
        {"b": TensorSpec((2, 3), "float32")},
        {"a": TensorSpec((3, 2), "float32")},
        {"a": TensorSpec((2, 3), "float64")},
        {"a": TensorSpec((2, 3), "float32"), "b": TensorSpec((), "int64")},
        {},
    ],
    ids=["name", "shape", "type", "more", "less"],
)
def test_what_makes_a_model_another_one(other: dict[str, TensorSpec]) -> None:
    one = same_model.fingerprint({"a": TensorSpec((2, 3), "float32")})
    assert 0 <= one < 2**63
    assert one == same_model.fingerprint({"a": TensorSpec((2, 3), "float32")})
    same_model.check([one, one, one])
    with pytest.raises(ProgramError, match="on worker-2 than on worker-0"):
        same_model.check([one, one, same_model.fingerprint(other)])
