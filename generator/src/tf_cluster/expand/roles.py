"""The roles of a training: what follows from its combination, and the evaluator."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Role:
    """A role that trains or evaluates."""

    name: str
    gpus: int
    """The most GPUs that one task computes on. See `gpus_used` for a worker that uses all."""


ROLES = (
    Role("chief", gpus=0),
    Role("worker", gpus=1),
    Role("ps", gpus=0),
    Role("evaluator", gpus=1),
)
TASKS = tuple(role.name for role in ROLES)
"""The roles that train or evaluate."""
PAGES = ("tensorboard", "notebook")
"""The roles that serve a page to people."""
PODS = (*TASKS, "cleanup", *PAGES)
"""The roles that have pods in a cluster."""
POD_SECTIONS = ("pod", *PODS)
"""The sections of values with settings of pods: the defaults of all roles, then the roles."""


def pod_section(values: Mapping[str, Any], role: str, key: str) -> str:
    """The section that says what the pods of a role have at `key`: its own, or `pod`."""
    return role if (values.get(role) or {}).get(key) is not None else "pod"


def mounts_claims(values: Mapping[str, Any], role: str) -> bool:
    """Whether the pods of a role mount /data and /log."""
    return ps_run_script(values) if role == "ps" else role in TASKS


def ps_run_script(values: Mapping[str, Any]) -> bool:
    """Whether the parameter servers run the user's script."""
    program = values.get("program") or {}
    return bool(program.get("script")) and program.get("ps") == "script"


@dataclass(frozen=True)
class Combination:
    """One way to train; the chart and the trainer have the same rows."""

    strategy: str
    replication: str
    update: str
    has_chief: bool
    has_ps: bool
    lockstep: bool
    """All workers make each step together."""


COMBINATIONS = (
    Combination(
        "parameter-server", "in-graph", "async", has_chief=True, has_ps=True, lockstep=False
    ),
    Combination("parameter-server", "in-graph", "sync", has_chief=True, has_ps=True, lockstep=True),
    Combination(
        "parameter-server", "between-graph", "async", has_chief=False, has_ps=True, lockstep=False
    ),
    Combination(
        "parameter-server", "between-graph", "sync", has_chief=False, has_ps=True, lockstep=True
    ),
    Combination(
        "all-reduce", "between-graph", "sync", has_chief=False, has_ps=False, lockstep=True
    ),
)


def is_combination(strategy: Any, replication: Any, update: Any) -> bool:
    """Whether the three name a combination."""
    return combination(strategy, replication, update) is not None


def combination(strategy: Any, replication: Any, update: Any) -> Combination | None:
    """The row that the three name; None where there is none."""
    wanted = (strategy, replication, update)
    rows = (row for row in COMBINATIONS if (row.strategy, row.replication, row.update) == wanted)
    return next(rows, None)


def only_choice(strategy: Any) -> dict[str, str]:
    """Replication and update where the strategy leaves only one choice; else empty."""
    rows = [row for row in COMBINATIONS if row.strategy == strategy]
    if len(rows) != 1:
        return {}
    return {"replication": rows[0].replication, "update": rows[0].update}


def has_chief(values: Mapping[str, Any]) -> bool:
    """Whether a chief drives the workers. Without one, worker 0 trains like all and is chief."""
    rows = [row for row in COMBINATIONS if row.replication == values.get("replication")]
    return any(row.has_chief for row in rows) or not rows


def has_ps(values: Mapping[str, Any]) -> bool:
    """Whether variables live on parameter servers."""
    rows = [row for row in COMBINATIONS if row.strategy == values.get("strategy")]
    return any(row.has_ps for row in rows) or not rows


def is_lockstep(values: Mapping[str, Any]) -> bool:
    """Whether all workers make each step together, so that a lost one holds up all."""
    wanted = tuple(values.get(key) for key in ("strategy", "replication", "update"))
    rows = [row for row in COMBINATIONS if (row.strategy, row.replication, row.update) == wanted]
    return any(row.lockstep for row in rows)


def gpus_used(values: Mapping[str, Any]) -> dict[str, int]:
    """The most GPUs that one task of each role computes on.

    With all-reduce, or with a script, a worker uses all that it gets: it has no key.
    """
    used = {role.name: role.gpus for role in ROLES}
    if not has_ps(values) or not (values.get("program") or {}).get("module"):
        del used["worker"]
    return used


def has_evaluator(values: Mapping[str, Any]) -> bool:
    """Whether a task of its own measures the checkpoints. The values need not be sound yet."""
    evaluator = values.get("evaluator")
    return isinstance(evaluator, Mapping) and bool(evaluator.get("enabled"))


def absent_roles(values: Mapping[str, Any]) -> dict[str, str]:
    """The roles without tasks in these (effective) values, each with the reason."""
    absent = {}
    if not has_chief(values):
        absent["chief"] = (
            f"replication {values['replication']} has no chief: worker 0 does its work"
        )
    if not has_ps(values):
        absent["ps"] = f"strategy {values['strategy']} has no parameter servers"
    if not has_evaluator(values):
        absent["evaluator"] = "there is no evaluator unless it is asked for"
    return absent
