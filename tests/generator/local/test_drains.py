"""Every combination has each of its tasks drained, and several at once."""

from __future__ import annotations

import pytest

from tests.generator.conftest import RunParams
from tests.generator.local.losing import LOSSES, loses
from tests.slices import in_turn, sliced


# In another order, so that one commit sees two losses.
@in_turn(1, of=2)
@pytest.mark.parametrize(("name", "tasks"), sliced(LOSSES[::-1], 1))
def test_drained_tasks_cost_no_result(
    run_params: RunParams, name: str, tasks: tuple[str, ...]
) -> None:
    loses(run_params, name, tasks, drained=True)
