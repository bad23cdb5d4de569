"""Settings of roles that the training does not have."""

from collections.abc import Iterator

from tf_cluster.checks.combination import METHOD
from tf_cluster.expand.roles import absent_roles
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted

ABSENT_ROLE = Code(
    "TFC318",
    "settings of a role that this way of training does not have",
    why="There are no such tasks, so nothing would read the settings.",
    wrong=("strategy: all-reduce\nps: 2"),
    right="strategy: all-reduce",
)

CHIEF_GRACE_PERIOD: Pointer = ("chief", "terminationGracePeriodSeconds")
"""Allowed without a chief: worker 0 then has at least this long to save."""
BY_ROLE = ("resources", "gpus", "nodes", "extraValues")
"""Keys of the params file that have a section for each role."""
EVALUATOR_ENABLED: Pointer = ("evaluator", "enabled")
"""Allowed without an evaluator: `false` says that there is none."""


def check(params: Params) -> Iterator[Finding]:
    """A finding for each key of the file that sets something of an absent role."""
    if None in (params.effective.get(key) for key in METHOD):
        return
    for role, why in absent_roles(params.effective).items():
        said = {
            origin[: 2 if origin[0] in BY_ROLE else 1]
            for path, origin in params.values.origins.items()
            if path[0] == role and origin != PRESET
            if path not in (CHIEF_GRACE_PERIOD, EVALUATOR_ENABLED)
        }
        for place in sorted(said):
            message = f"{dotted(place)} is set, but {why}"
            fix = f"leave out {dotted(place)}"
            if role == "evaluator":
                fix = f"add evaluator: true, or {fix}"
            value = params.written_at(place)
            yield params.finding(place, ABSENT_ROLE, message, value, fix)
