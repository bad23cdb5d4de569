"""The Gateways that the routes of the pages belong to."""

from collections.abc import Iterator

from tf_cluster.expand.roles import PAGES
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

PARENT_TWICE = Code(
    "TFC348",
    "one Gateway named twice by a route",
    why=(
        "In its standard channel the Gateway API tells two references to one Gateway apart by "
        "their sections alone, not by ports."
    ),
    wrong=(
        "extraValues:\n"
        "  tensorboard:\n"
        "    enabled: true\n"
        "    httpRoute: {enabled: true, parentRefs: [{name: public}, {name: public}]}"
    ),
    right=(
        "extraValues:\n"
        "  tensorboard:\n"
        "    enabled: true\n"
        "    httpRoute: {enabled: true, parentRefs: [{name: public}]}"
    ),
)

_GROUP = "gateway.networking.k8s.io"


def check(params: Params) -> Iterator[Finding]:
    """What the chart's guard on routes refuses, at the second reference."""
    for page in PAGES:
        route = params.value_at((page, "httpRoute")) or {}
        if not params.value_at((page, "enabled")) or not route.get("enabled"):
            continue
        sections: dict[tuple[str, ...], list[str]] = {}
        path: Pointer = (page, "httpRoute", "parentRefs")
        for index, one in enumerate(route.get("parentRefs") or ()):
            kind = one.get("kind", "Gateway")
            parent = (one.get("group", _GROUP), kind, one["name"], one.get("namespace", ""))
            before = sections.setdefault(parent, [])
            own = one.get("sectionName", "")
            before.append(own)
            if len(before) > 1 and ("" in before or own in before[:-1]):
                where = params.origin_of(path)
                message = f"{dotted(where)} names {one['name']} again"
                fix = "give each a sectionName of its own, or leave it out"
                yield params.finding((*where, index), PARENT_TWICE, message, fix=fix)
                break
