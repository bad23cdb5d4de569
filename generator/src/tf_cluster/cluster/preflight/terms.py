"""Selectors, tolerations and resources, read as Kubernetes reads them."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import ceil
from typing import Any

from tf_cluster.expand.quantity import quantity
from tf_cluster.planning.demand import asked

Json = Mapping[str, Any]
Whole = dict[str, int]
"""Amounts by resource, whole as the scheduler counts: thousandths of a core, bytes, pieces."""

_UNSAID = {"cpu": "100m", "memory": "200M"}

_EXPRESSIONS: Mapping[str, Callable[[str | None, list[str]], bool]] = {
    "In": lambda value, given: value is not None and value in given,
    "NotIn": lambda value, given: value is None or value not in given,
    "Exists": lambda value, _: value is not None,
    "DoesNotExist": lambda value, _: value is None,
    "Gt": lambda value, given: _is_integer(value) and int(str(value)) > int(given[0]),
    "Lt": lambda value, given: _is_integer(value) and int(str(value)) < int(given[0]),
}


def selects(selector: Json | None, marks: Mapping[str, str]) -> bool:
    """Whether a label selector means these labels: none means nothing, an empty one everything."""
    if selector is None:
        return False
    wanted = selector.get("matchLabels") or {}
    if any(marks.get(key) != value for key, value in wanted.items()):
        return False
    return _all_hold(selector.get("matchExpressions"), marks)


def chooses_node(pod_spec: Json, name: str, marks: Mapping[str, str]) -> bool:
    """Whether nodeSelector and the required node affinity of a pod allow a node."""
    wanted = pod_spec.get("nodeSelector") or {}
    if any(marks.get(key) != value for key, value in wanted.items()):
        return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    return required is None or term_chooses(required, name, marks)


def term_chooses(required: Json, name: str, marks: Mapping[str, str]) -> bool:
    """Whether a node selector, of a pod or a volume, means a node: one of its terms must."""
    return any(
        (term.get("matchExpressions") or term.get("matchFields"))
        and _all_hold(term.get("matchExpressions"), marks)
        and _all_hold(term.get("matchFields"), {"metadata.name": name})
        for term in required.get("nodeSelectorTerms") or ()
    )


def untolerated(pod_spec: Json, node_spec: Json) -> str:
    """The first taint of a node that keeps a pod off it; empty where none does."""
    tolerations = pod_spec.get("tolerations") or ()
    taints = list(node_spec.get("taints") or ())
    if node_spec.get("unschedulable"):
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"})
    for taint in taints:
        if taint["effect"] == "PreferNoSchedule":
            continue
        if not any(_tolerates(one, taint) for one in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            return f"{taint['key']}{value}:{taint['effect']}"
    return ""


def disliked_taints(pod_spec: Json, node_spec: Json) -> int:
    """How many taints of a node a pod would rather not meet: PreferNoSchedule, not tolerated."""
    tolerations = pod_spec.get("tolerations") or ()
    return sum(
        taint["effect"] == "PreferNoSchedule"
        and not any(_tolerates(one, taint) for one in tolerations)
        for taint in node_spec.get("taints") or ()
    )


def _tolerates(toleration: Json, taint: Json) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint["effect"]:
        return False
    if toleration.get("key") and toleration["key"] != taint["key"]:
        return False
    if (toleration.get("operator") or "Equal") == "Exists":
        return True
    return bool(toleration.get("key")) and (toleration.get("value") or "") == (
        taint.get("value") or ""
    )


def containers(pod_spec: Json) -> list[Any]:
    """All containers of a pod, those that run first."""
    return [*pod_spec["containers"], *(pod_spec.get("initContainers") or ())]


def whole_amounts(given: Json | None) -> Whole:
    """Quantities in whole numbers, rounded up."""
    return {name: _whole(name, quantity(str(value))) for name, value in (given or {}).items()}


def whole_requests(template: Json) -> Whole:
    """What the scheduler reckons that a pod takes, with its own place among the node's pods."""
    requests, _ = asked(template)
    spec = template["spec"]
    found = {name: _whole(name, value) for name, value in requests.items()}
    of_pod = (spec.get("resources") or {}).get("requests")
    found.update(whole_amounts(of_pod))
    for name, value in whole_amounts(spec.get("overhead")).items():
        found[name] = found.get(name, 0) + value
    return {**{name: value for name, value in found.items() if value}, "pods": 1}


def reckoned_requests(template: Json, takes: Whole) -> Whole:
    """What whole_requests said, with what scores count of containers that ask for nothing."""
    spec = template["spec"]
    if all(_UNSAID.keys() <= _said(one).keys() for one in containers(spec)):
        return takes
    filled = {
        **spec,
        **{
            key: [_filled(one) for one in spec[key]]
            for key in ("containers", "initContainers")
            if spec.get(key)
        },
    }
    return whole_requests({**template, "spec": filled})


def _said(container: Json) -> Json:
    return (container.get("resources") or {}).get("requests") or {}


def _filled(container: Json) -> Json:
    resources = container.get("resources") or {}
    return {**container, "resources": {**resources, "requests": {**_UNSAID, **_said(container)}}}


def _whole(name: str, value: Fraction) -> int:
    return ceil(value * 1000) if name == "cpu" else ceil(value)


def _all_hold(expressions: Any, marks: Mapping[str, str]) -> bool:
    for one in expressions or ():
        holds = _EXPRESSIONS.get(one["operator"])
        if holds is None or not holds(marks.get(one["key"]), one.get("values") or [""]):
            return False
    return True


def _is_integer(text: str | None) -> bool:
    return text is not None and text.removeprefix("-").isdecimal()
