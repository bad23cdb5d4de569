"""What the chart can't see of a model's claim: how it can be mounted, and whose pods mount it."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.workloads import (
    Object,
    claims_of,
    has_ended,
    marks_of,
    pod_spec,
    template_of,
)
from tf_cluster.exits import RefusedError

_ONE_NODE = ["ReadWriteOnce"]
"""What the chart takes the claims to be."""
_ONE_POD = "ReadWriteOncePod"
_MANY = ("ReadWriteMany", "ReadOnlyMany")
BESIDE = ("chief", "worker", "evaluator", "tensorboard", "notebook", "serving")
"""The components beside whose pods the chart can keep a server."""


def storage_values(
    claim: str,
    modes: Sequence[str],
    found: Iterable[tuple[str, Object]],
    known: Collection[str],
) -> dict[str, Any]:
    """The section `storage` of a server of a claim; empty where the chart's own will do.

    `modes` are the claim's, `found` what its namespace has, `known` the releases that the chart
    knows by itself. Raises RefusedError for a claim that one pod at a time can mount.
    """
    if _ONE_POD in modes:
        raise RefusedError(
            f"claim {claim} is {_ONE_POD}: while a server mounts it, the next pod of a rollout and "
            "the Jobs of the verbs would wait for ever. Serve from a claim that is ReadWriteOnce "
            "or ReadWriteMany: tf-cluster publish --to CLAIM/PATH copies a version there"
        )
    many = [mode for mode in modes if mode in _MANY]
    if many:
        return {"accessModes": many}
    others = sorted({*_mounting(claim, found)} - {*known})
    return {"besideReleases": others} if others else {}


def _mounting(claim: str, found: Iterable[tuple[str, Object]]) -> Iterable[str]:
    """The releases whose pods mount a claim, or will."""
    for kind, one in found:
        marks = marks_of(template_of(kind, one)[0])
        if (
            marks.get(labels.COMPONENT) in BESIDE
            and claim in claims_of(pod_spec(kind, one)).values()
            and not has_ended(kind, one)
        ):
            yield marks.get(labels.INSTANCE, "")


def of_one_claim(there: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The section of a server that had other claims, or none, and has this one now."""
    of_claims = ("accessModes", "besideReleases")
    return {**{key: one for key, one in there.items() if key not in of_claims}, **new}


def with_another(there: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The section of a server with a claim more: what all of them can do, and all releases."""
    before, after = (list(one.get("accessModes") or _ONE_NODE) for one in (there, new))
    modes = [mode for mode in before if mode in after] or _ONE_NODE
    releases = [*(there.get("besideReleases") or ()), *(new.get("besideReleases") or ())]
    made = dict(there)
    if modes != before:
        made["accessModes"] = modes
    if releases:
        made["besideReleases"] = list(dict.fromkeys(releases))
    return made
