"""Finds what makes a step read a whole table, of which it could read the rows of its batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tf_cluster_trainer.checkpoint.pieces import size
from tf_cluster_trainer.checkpoint.variables import spec_of
from tf_cluster_trainer.log import WARNING, log

LEAST_BYTES = 16 << 20
_LOOK_UP = "ResourceGather"
_READ = "ReadVariableOp"


def warn(model: Any, graph: Any) -> None:
    """Log the large variables of the model that this graph, of its loss, looks up and reads."""
    for name, read in found(model, graph):
        log(
            f"each step reads all of {name} from the ps ({read / 2**20:.0f} MiB) beside the rows "
            "that it looks up, and its gradient is as large: a regularizer of its weights does so "
            "(activity_regularizer would regularize the rows that are looked up), or a product "
            "with all of it",
            WARNING,
        )


def found(model: Any, graph: Any) -> Iterator[tuple[str, int]]:
    """Each such variable's name and bytes."""
    inside = {id(outer): inner for outer, inner in graph.captures}
    for variable in model.variables:
        handle = inside.get(id(variable.handle))
        read = size(spec_of(variable))
        if handle is None or read < LEAST_BYTES:
            continue
        used = {operation.type for operation in handle.consumers()}
        if {_LOOK_UP, _READ} <= used:
            yield variable.name.partition(":")[0], read
