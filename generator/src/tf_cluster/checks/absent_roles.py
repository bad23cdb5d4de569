"""Settings of roles that the training has no task of."""

from collections.abc import Iterator

from tf_cluster.checks.combination import METHOD
from tf_cluster.expand.roles import absent_roles
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted

ABSENT_ROLE = Code("TFC318", "settings of a role that this way of training does not have")

CHIEF_GRACE_PERIOD: Pointer = ("chief", "terminationGracePeriodSeconds")
"""Without a chief this is the least time that worker 0 has to save in."""
EVALUATOR_ENABLED: Pointer = ("evaluator", "enabled")
"""False says that there is none."""


def check(params: Params) -> Iterator[Finding]:
    """Findings on what the file says of a role that nobody has."""
    if None in (params.effective.get(key) for key in METHOD):
        return
    for role, why in absent_roles(params.effective).items():
        said = {
            origin[: 2 if origin[0] in ("resources", "extraValues") else 1]
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
