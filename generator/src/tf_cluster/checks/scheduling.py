"""Wishes of scheduling that nothing could follow, and a gang that would wait for ever."""

from collections.abc import Iterator

from tf_cluster.expand.gang import PROVIDERS, gang, members
from tf_cluster.expand.placement import on_one_node
from tf_cluster.expand.roles import has_ps
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NO_SUCH_SCHEDULE = Code(
    "TFC350",
    "a wish of scheduling that nothing can follow",
    why=(
        "Pods would wait for ever, or go where they please: the wish and the rest of the file "
        "do not go together."
    ),
    wrong="workers: 2\nps: 1\nscheduling: {gang: {provider: coscheduling, minMember: 9}}",
    right="workers: 2\nps: 1\nscheduling: {gang: {provider: coscheduling, minMember: 4}}",
)

_PLACEMENT: Pointer = ("scheduling", "placement")
_NEAR: Pointer = ("scheduling", "psNearWorkers")
_GANG: Pointer = ("scheduling", "gang")
_OF: dict[str, tuple[str, ...]] = {
    "minMember": tuple(PROVIDERS),
    "schedulerName": tuple(PROVIDERS),
    "timeoutSeconds": ("coscheduling",),
    "queue": ("volcano",),
}
"""Whose each setting of a gang is."""
_MEMBERS = ("pod", "chief", "worker", "ps")
"""Whose pods are of the gang; `pod` has the defaults of all roles."""


def check(params: Params) -> Iterator[Finding]:
    """What the chart's guard on scheduling refuses, but for what only a cluster knows."""
    values = params.effective
    if params.value_at(_PLACEMENT) == "spread" and on_one_node(values):
        why = "is spread, but a claim keeps the pods that mount it on one node"
        fix = "take accessModes: [ReadWriteMany], or leave it out"
        yield _finding(params, _PLACEMENT, why, fix)
    if params.value_at(_NEAR) and not has_ps(values):
        why = f"is true, but strategy {values['strategy']} has no parameter servers"
        yield _finding(params, _NEAR, why, "leave it out")
    yield from _settings(params)
    yield from _gang(params)


def _settings(params: Params) -> Iterator[Finding]:
    """Settings of another provider, or of none."""
    provider = params.value_at((*_GANG, "provider"))
    for key, providers in _OF.items():
        if params.value_at((*_GANG, key)) and provider not in providers:
            why = f"is for {' and '.join(providers)}, and the provider is {provider}"
            yield _finding(params, (*_GANG, key), why, "leave one of them out")


def _gang(params: Params) -> Iterator[Finding]:
    """A gang that is larger than the training, of two schedulers, or that pods are not of."""
    asked = gang(params.effective)
    if not asked:
        return
    size = members(params.effective)
    least: Pointer = (*_GANG, "minMember")
    if (params.value_at(least) or 0) > size:
        why = f"is {params.value_at(least)}, but the training has {size} tasks: none would start"
        yield _finding(params, least, why, f"set it to at most {size}")
    for section in _MEMBERS:
        path: Pointer = (section, "schedulerName")
        own = params.value_at(path)
        if own and own != asked.scheduler:
            why = f"is {own}, but {asked.scheduler} schedules the gang"
            yield _finding(params, path, why, "leave it out, or set scheduling.gang.schedulerName")
        for name, key in (("podLabels", asked.label), ("podAnnotations", asked.annotation)):
            if key and key in (params.value_at((section, name)) or {}):
                why = "names the gang that pods are of, which the chart writes"
                yield _finding(params, (section, name, key), why, "leave it out")


def _finding(params: Params, path: Pointer, why: str, fix: str) -> Finding:
    where = params.origin_of(path)
    message = f"{dotted(where)} {why}"
    return params.finding(where, NO_SUCH_SCHEDULE, message, params.value_at(path), fix)
