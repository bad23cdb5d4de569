"""The five combinations, and which task's loss starts whose process again."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Combination:
    """The params that choose it, its client, and the tasks whose loss ends the client's child."""

    settings: str
    client: str
    others: tuple[str, ...]
    ends_the_client: tuple[str, ...]

    @property
    def tasks(self) -> tuple[str, ...]:
        """One of each kind, the client first."""
        return (self.client, *self.others)


COMBINATIONS = {
    "in-graph-async": Combination("", "chief-0", ("worker-1", "ps-0"), ("ps-0",)),
    "in-graph-sync": Combination(
        "update: sync", "chief-0", ("worker-1", "ps-0"), ("worker-1", "ps-0")
    ),
    "between-graph-async": Combination(
        "replication: between-graph", "worker-0", ("worker-1", "ps-0"), ()
    ),
    "between-graph-sync": Combination(
        "replication: between-graph\nupdate: sync", "worker-0", ("worker-1", "ps-0"), ()
    ),
    "all-reduce": Combination("strategy: all-reduce", "worker-0", ("worker-1",), ("worker-1",)),
}


DIGITS = "{module: 'tf_cluster_trainer.examples.digits:Digits'}"


def params(
    combination: Combination,
    name: str,
    steps: int,
    program: str = DIGITS,
    *,
    per_call: int | None = None,
) -> str:
    """A params file of two workers, which saves every two seconds."""
    calls = "" if per_call is None else f"stepsPerCall: {per_call}, "
    return (
        f"name: {name}\nprogram: {program}\n"
        f"workers: 2\ntrain: {{steps: {steps}, {calls}checkpoint: {{seconds: 2}}}}\n"
        f"{combination.settings}\n"
    )


RETRIED = "its call goes to another worker"  # what a chief says of each call that is made again


def last_steps(
    combination: str, total: int, *, per_call: int, workers: int = 2, retried: int = 0
) -> range:
    """The steps at which a run may end: its total, but where calls are made side by side.

    In-graph async, a call that is made again may have made its steps before; `retried` calls were.
    Between-graph async makes none again, but when the total is reached every other worker may be
    in a call, of which it gives nothing back.
    """
    beyond = {
        "in-graph-async": per_call * (1 + retried) - 1 if retried else 0,
        "between-graph-async": per_call * (workers - 1),
    }
    return range(total, total + beyond.get(combination, 0) + 1)
