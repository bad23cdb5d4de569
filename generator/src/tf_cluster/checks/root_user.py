"""Containers that would run as user 0 where their own pod says that none may be root."""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.expand.roles import PODS, pod_section
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

ROOT_USER = Code(
    "TFC351",
    "user 0, and a rule that nobody is root",
    why=(
        "Unless a file says otherwise, runAsNonRoot is true. With user 0 beside it Kubernetes "
        "takes the pod, and no kubelet starts its container: the task waits for ever."
    ),
    wrong="extraValues: {security: {podSecurityContext: {runAsUser: 0}}}",
    right="extraValues: {security: {podSecurityContext: {runAsUser: 1000}}}",
)

_POD: Pointer = ("security", "podSecurityContext")
_USER, _RULE = "runAsUser", "runAsNonRoot"

_Level = tuple[Pointer, Mapping[str, Any]]
"""A security context and its place. Each is laid over the ones before it."""


def check(params: Params) -> Iterator[Finding]:
    """Findings on containers as they are merged. What several of them share is said once."""
    told: set[Pointer] = set()
    for role in PODS:
        for levels in _containers(params, role):
            fault = _fault(levels)
            if fault and fault[0] not in told:
                path, message, fix = fault
                told.add(path)
                where: Pointer = ("extraValues", *path)
                yield params.finding(where, ROOT_USER, message, params.value_at(path), fix)


def _containers(params: Params, role: str) -> Iterator[list[_Level]]:
    """The contexts of each container of a role's pods, that of the pod first."""
    own = [(section, "containerSecurityContext") for section in ("pod", role)]
    levels: list[_Level] = [(path, params.value_at(path) or {}) for path in (_POD, *own)]
    yield levels
    for key in ("sidecars", "initContainers"):
        at: Pointer = (pod_section(params.effective, role, key), key)
        for index, container in enumerate(params.value_at(at) or []):
            path = (*at, index, "securityContext")
            yield [*levels, (path, container.get("securityContext") or {})]


def _fault(levels: list[_Level]) -> tuple[Pointer, str, str] | None:
    """The place, what is wrong there, and the fix; None for a container that a kubelet starts."""
    user, rule = _decided(levels, _USER), _decided(levels, _RULE)
    if user is None or rule is None or user[0] != 0 or rule[0] is not True:
        return None
    (_, user_level, user_at), (_, rule_level, rule_at) = user, rule
    if rule_level > user_level:
        message = f"{dotted(rule_at)} is true, and {dotted(user_at)} is 0, which is root"
        return rule_at, f"{message}: no kubelet starts that", "set it to false, or name a user"
    message = f"{dotted(user_at)} is 0, which is root, and {dotted(rule_at)} is true"
    fix = "name another user, or set runAsNonRoot: false beside it"
    return user_at, f"{message}: no kubelet starts that", fix


def _decided(levels: list[_Level], key: str) -> tuple[Any, int, Pointer] | None:
    """What holds for a key, the level that says it and its place."""
    decided = None
    for level, (path, context) in enumerate(levels):
        if context.get(key) is not None:
            decided = (context[key], level, (*path, key))
    return decided
