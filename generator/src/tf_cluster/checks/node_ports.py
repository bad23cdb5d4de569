"""The nodes' ports of the pages."""

from collections.abc import Iterator
from typing import Any

from tf_cluster.expand.roles import PAGES
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NODE_PORT_TWICE = Code(
    "TFC367",
    "two Services on one port of the nodes",
    why="A port of the nodes belongs to one Service: Kubernetes refuses the second one.",
    wrong=(
        "extraValues:\n"
        "  tensorboard: {enabled: true, service: {type: NodePort, nodePort: 30006}}\n"
        "  notebook: {enabled: true, service: {type: NodePort, nodePort: 30006}}"
    ),
    right=(
        "extraValues:\n"
        "  tensorboard: {enabled: true, service: {type: NodePort, nodePort: 30006}}\n"
        "  notebook: {enabled: true, service: {type: NodePort, nodePort: 30007}}"
    ),
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on a port that a page before has taken."""
    taken: dict[Any, Pointer] = {}
    for page in PAGES:
        path: Pointer = (page, "service", "nodePort")
        port = params.value_at(path)
        if port is None or not params.value_at((page, "enabled")):
            continue
        if port in taken:
            message = f"{dotted(params.origin_of(path))} is {port}, as {dotted(taken[port])}"
            fix = "take another port, or leave it out: Kubernetes then chooses one"
            yield params.finding(params.origin_of(path), NODE_PORT_TWICE, message, port, fix)
        taken.setdefault(port, params.origin_of(path))
