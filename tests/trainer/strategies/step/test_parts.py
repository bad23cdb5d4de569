"""What no message between two tasks can hold is refused by its name, before anything trains."""

from __future__ import annotations

import pytest
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.strategies.in_graph.cluster import check_sizes
from tf_cluster_trainer.strategies.step import parts

SMALL = TensorSpec((1_000, 64), "float32")
LARGE = TensorSpec((9_000_000, 64), "float32")
WIDE = TensorSpec((2, 600_000_000), "float32")


def test_in_graph_a_variable_of_any_size_is_cut() -> None:
    check_sizes({"model/small": SMALL, "model/table": LARGE}, "float32")
    with pytest.raises(ProgramError, match=r"model's variable wide can't .* one row of it, here"):
        check_sizes({"model/wide": WIDE}, "float32")


def test_where_variables_are_whole_one_of_two_gigabytes_is_refused() -> None:
    just_below = TensorSpec(((2 << 30) - 1,), "int8")
    parts.check_whole({"model/small": SMALL, "model/most": just_below}, "here")
    told = r"variable table can't .*: in mixed_bfloat16 each variable is whole, here of 2\.1 GiB"
    with pytest.raises(ProgramError, match=told):
        check_sizes({"model/small": SMALL, "model/table": LARGE}, "mixed_bfloat16")
