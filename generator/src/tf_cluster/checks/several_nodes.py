"""Claims that keep all pods on one node, and settings that want them on several."""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.checks.crowded_node import MOST_WORKERS
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.placement import keepers, on_one_node
from tf_cluster.expand.quantity import is_quantity, quantity
from tf_cluster.expand.roles import TASKS, absent_roles, mounts_claims, pod_section
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

SEVERAL_NODES = Code(
    "TFC403",
    "pods that one node keeps, and settings that want several (advice)",
    why=(
        "A ReadWriteOnce claim is mounted by one node. What asks for several nodes can't be had "
        "beside it, and pods wait for ever."
    ),
    wrong=("nodes: {chief: {selector: {pool: cpu}}, worker: {selector: {pool: gpu}}}"),
    right=(
        "preset: medium\nnodes: {chief: {selector: {pool: cpu}}, worker: {selector: {pool: gpu}}}"
    ),
)

_MOST_GPUS = 16
"""No machine that clusters rent has more."""
_HOST = "kubernetes.io/hostname"
_WHY = "but a claim is ReadWriteOnce, which keeps the pods that mount it on one node"
_FIX = "take accessModes: [ReadWriteMany], or preset: medium"


def check(params: Params) -> Iterator[Finding]:
    """Advice where the pods that mount claims can't all be on one node."""
    values = params.effective
    if not on_one_node(values):
        return
    absent = absent_roles(values)
    roles = [role for role in TASKS if role not in absent and mounts_claims(values, role)]
    yield from _preset(params, roles)
    yield from _selectors(params, roles)
    yield from _spread(params, roles)
    yield from _gpus(params, roles)


def _preset(params: Params, roles: list[str]) -> Iterator[Finding]:
    """A preset that is made for several nodes, and claims of one, without a word that it is meant.

    Of more workers than one node takes TFC402 tells.
    """
    preset = preset_name(params.sound)
    tasks = sum(params.value_at((role, "replicas")) or 1 for role in roles)
    workers = params.value_at(("worker", "replicas")) or 1
    path = keepers(params.effective)[0]
    if preset == "small" or tasks < 2 or workers > MOST_WORKERS or path[-1] != "accessModes":
        return
    where = params.origin_of(path)
    message = (
        f"{dotted(where)} keeps the pods that mount the claim on one node, and the preset {preset} "
        "is made for several nodes"
    )
    fix = "take [ReadWriteMany], or say storage.colocate: true in extraValues if one node is meant"
    yield _finding(params, where, message, params.value_at(path), fix)


def _selectors(params: Params, roles: list[str]) -> Iterator[Finding]:
    """Two labels that no one node has."""
    wanted: dict[str, tuple[Any, Pointer]] = {}
    told: set[str] = set()
    for role in roles:
        section = pod_section(params.effective, role, "nodeSelector")
        for label, text in (params.value_at((section, "nodeSelector")) or {}).items():
            where = params.origin_of((section, "nodeSelector", label))
            other, at = wanted.setdefault(label, (text, where))
            if other != text and label not in told:
                told.add(label)
                message = f"{dotted(where)} is {text} and {dotted(at)} is {other}, {_WHY}"
                yield _finding(params, where, message, text)


def _spread(params: Params, roles: list[str]) -> Iterator[Finding]:
    """Rules that keep pods of a role from each other's node."""
    told: set[Pointer] = set()
    labels = _labels(params, roles)
    for role in roles:
        section = pod_section(params.effective, role, "topologySpreadConstraints")
        path: Pointer = (section, "topologySpreadConstraints")
        for index, rule in enumerate(params.value_at(path) or []):
            strict = rule.get("whenUnsatisfiable") == "DoNotSchedule" and rule.get("maxSkew") == 1
            others = "labelSelector" in rule and not _selects(labels, rule["labelSelector"])
            where = (*params.values.origin_around(path), index)
            if strict and not others and rule.get("topologyKey") == _HOST and where not in told:
                told.add(where)
                message = f"{dotted(where)} spreads pods over nodes, {_WHY}"
                yield _finding(params, where, message)
        section = pod_section(params.effective, role, "affinity")
        rule_of = "requiredDuringSchedulingIgnoredDuringExecution"
        path = (section, "affinity", "podAntiAffinity", rule_of)
        for index, term in enumerate(params.value_at(path) or []):
            where = (*params.values.origin_around(path), index)
            ours = _selects(labels, term.get("labelSelector"))
            if ours and term.get("topologyKey") == _HOST and where not in told:
                told.add(where)
                message = f"{dotted(where)} keeps pods from one node, {_WHY}"
                yield _finding(params, where, message)


_Labels = Mapping[str, set[str]]


def _labels(params: Params, roles: list[str]) -> _Labels:
    """The labels of pods that mount claims, with their values; none where any may be."""
    found: dict[str, set[str]] = {
        "app.kubernetes.io/name": {str(params.value_at(("nameOverride",)) or "tf-cluster")},
        "app.kubernetes.io/instance": set(),
        "app.kubernetes.io/component": set(roles),
        "tf-cluster.io/attempt": set(),
        "tf-cluster.io/index": set(),
        "tf-cluster.io/run": set(),
    }
    for section in ("pod", *roles):
        for key, value in (params.value_at((section, "podLabels")) or {}).items():
            found.setdefault(key, set()).add(str(value))
    return found


def _selects(labels: _Labels, selector: Any) -> bool:
    """Whether a selector may choose pods with such labels. One that is null chooses none."""
    if not isinstance(selector, Mapping):
        return False
    wanted = [(key, [value]) for key, value in (selector.get("matchLabels") or {}).items()]
    for rule in selector.get("matchExpressions") or []:
        if rule.get("operator") in ("In", "Exists"):
            wanted.append((rule.get("key"), rule.get("values") or []))
    return all(
        key in labels and not (labels[key] and values and labels[key].isdisjoint(values))
        for key, values in wanted
    )


def _gpus(params: Params, roles: list[str]) -> Iterator[Finding]:
    """More devices than one node has."""
    totals: dict[str, tuple[int, Pointer]] = {}
    for role in roles:
        count = params.value_at((role, "replicas")) or 1
        limits = params.value_at((role, "resources", "limits")) or {}
        for name in (one for one in limits if one.endswith("/gpu") and is_quantity(limits[one])):
            before, _ = totals.get(name, (0, ()))
            where = params.origin_of((role, "resources", "limits", name))
            totals[name] = (before + int(count * quantity(str(limits[name]))), where)
    for name, (total, where) in totals.items():
        if total > _MOST_GPUS:
            message = f"all tasks ask for {total} {name}, {_WHY}"
            yield _finding(params, where, message)


def _finding(
    params: Params, where: Pointer, message: str, value: Any = None, fix: str = ""
) -> Finding:
    small = preset_name(params.sound) == "small"
    fix = fix or (_FIX if small else _FIX.partition(",")[0])
    return params.finding(where, SEVERAL_NODES, message, value, fix, "advice")
