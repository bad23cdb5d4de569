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


def params(combination: Combination, name: str, steps: int, program: str = DIGITS) -> str:
    """A params file of two workers, which saves every two seconds."""
    return (
        f"name: {name}\nprogram: {program}\n"
        f"workers: 2\ntrain: {{steps: {steps}, checkpoint: {{seconds: 2}}}}\n"
        f"{combination.settings}\n"
    )
