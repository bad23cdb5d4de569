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
    """The user's rules of spreading and, with placement spread, that of the role over nodes."""
    own: Data = {"topologyKey": _NODE, "whenUnsatisfiable": _IF_IT_CAN, "maxSkew": 1}
    said = [(one["topologyKey"], one["whenUnsatisfiable"]) for one in rules]
    wanted = role.trains and release.section("scheduling").get("placement") == "spread"
    if not wanted or (_NODE, _IF_IT_CAN) in said:
        return [*map(dict, rules)]
    return [*map(dict, rules), {**own, "labelSelector": _members(release, attempt, [role.name])}]


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
