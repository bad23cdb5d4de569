"""The optimizer Momentum and its momentum."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

MOMENTUM = Code(
    "TFC304",
    "momentum goes with the optimizer Momentum only",
    why="The other optimizers have no momentum: the number would have no effect.",
    wrong="train: {optimizer: {name: SGD, momentum: 0.9}}",
    right="train: {optimizer: {name: Momentum, momentum: 0.9}}",
)
MOMENTUM_MISSING = Code(
    "TFC313",
    "the optimizer Momentum without its momentum",
    why="The trainer has no default for the momentum.",
    wrong="train: {optimizer: {name: Momentum}}",
    right="train: {optimizer: {name: Momentum, momentum: 0.9}}",
)


def check(params: Params) -> Iterator[Finding]:
    """A finding if one is set without the other."""
    path: Pointer = ("train", "optimizer", "momentum")
    named: Pointer = ("train", "optimizer", "name")
    momentum = params.value_at(path)
    name = params.value_at(named)
    if momentum is not None and name not in ("Momentum", None):
        where = params.origin_of(path)
        message = f"{dotted(where)} is {momentum}, but the optimizer is {name}"
        fix = "set train.optimizer.name: Momentum, or leave momentum out"
        yield params.finding(where, MOMENTUM, message, momentum, fix)
    elif name == "Momentum" and not any(
        params.written_at((*before, *path)) is not None for before in ((), ("extraValues",))
    ):
        where = params.origin_of(named)
        message = f"{dotted(where)} is Momentum, without a momentum"
        code = MOMENTUM_MISSING
        yield params.finding(where, code, message, name, "add momentum: 0.9")
