"""What `scheduling` adds to the pods of a training: templates/scheduling as data."""

from collections.abc import Mapping, Sequence
from typing import Any

from tf_cluster.planning.release import Release
from tf_cluster.planning.roles import POD_ROLES, PodRole

Data = dict[str, Any]

_NODE = "kubernetes.io/hostname"
_IF_IT_CAN = "ScheduleAnyway"


def membership(release: Release, role: PodRole, service: str) -> Data:
    """What makes a pod a member of its attempt's gang: labels, annotations, schedulerName."""
    gang = release.gang
    if not gang or not role.trains:
        return {}
    member: Data = {"schedulerName": gang.scheduler}
    if gang.label:
        member["labels"] = {gang.label: service}
    if gang.annotation:
        member["annotations"] = {gang.annotation: service}
    return member


def spread_rules(
    release: Release, role: PodRole, attempt: str, rules: Sequence[Mapping[str, Any]]
) -> list[Data]:
    """The user's rules of spreading and that of `scheduling`; the template says why."""
    scheduling = release.section("scheduling")
    said = [(one["topologyKey"], one["whenUnsatisfiable"]) for one in rules]
    is_drawn = scheduling.get("psNearWorkers") or scheduling.get("placement") == "binpack"
    key = ""
    if role.trains and scheduling.get("placement") == "spread":
        key = "" if (_NODE, _IF_IT_CAN) in said else _NODE
    elif role.trains and is_drawn and not rules:
        key = "kubernetes.io/os"
    found = [dict(one) for one in rules]
    if key:
        selector = _members(release, attempt, [role.name])
        rule = {"topologyKey": key, "whenUnsatisfiable": _IF_IT_CAN, "maxSkew": 1}
        found.append({**rule, "labelSelector": selector})
    return found


def neighbours(release: Release, role: PodRole, attempt: str) -> list[Data]:
    """The pods that a pod would like to share a node with: weighted terms."""
    scheduling = release.section("scheduling")
    names = [role.near] if role.near and scheduling.get("psNearWorkers") else []
    if role.trains and scheduling.get("placement") == "binpack":
        names = [one.name for one in POD_ROLES.values() if one.trains]
    if not names:
        return []
    term = {"topologyKey": _NODE, "labelSelector": _members(release, attempt, names)}
    return [{"weight": 100, "podAffinityTerm": term}]


def _members(release: Release, attempt: str, names: list[str]) -> Data:
    component = {"key": "app.kubernetes.io/component", "operator": "In", "values": names}
    labels = {**release.identity, "tf-cluster.io/attempt": attempt}
    return {"matchLabels": labels, "matchExpressions": [component]}
