"""Every combination has each of its tasks crash, and several at once."""

from __future__ import annotations

import pytest

from tests.generator.conftest import RunParams
from tests.generator.local.losing import LOSSES, loses
from tests.slices import in_turn, sliced


@in_turn(0, of=2)
@pytest.mark.parametrize(("name", "tasks"), sliced(LOSSES, 1))
def test_crashed_tasks_cost_no_result(
    run_params: RunParams, name: str, tasks: tuple[str, ...]
) -> None:
    loses(run_params, name, tasks, drained=False)
