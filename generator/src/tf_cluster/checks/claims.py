"""Settings of a new claim beside the name of an existing one."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import TWO_FORMS
from tf_cluster.pointer import Pointer, dotted

_CLAIM_SETTINGS = ("volumeName", "storageClassName", "annotations")


def check(params: Params) -> Iterator[Finding]:
    """Findings on settings that have no effect on an existing claim."""
    for volume in ("data", "log"):
        claim: Pointer = ("storage", volume, "existingClaim")
        if not params.value_at(claim):
            continue
        named = dotted(params.origin_of(claim))
        for key in _CLAIM_SETTINGS:
            path: Pointer = ("storage", volume, key)
            setting = params.value_at(path)
            if setting:
                where = params.values.origin_around(path)
                message = (
                    f"{dotted(where)} is for a claim that the chart makes, {named} names one that "
                    "exists"
                )
                fix = "keep one of them"
                yield params.finding(where, TWO_FORMS, message, setting, fix)
