"""No node has room for a pod: never, or not now."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.cluster.snapshot import Pod

INSUFFICIENT = re.compile(r"Insufficient ([\w./-]+?)[,.]?(?=\s|$)")
"""What the scheduler says of a resource that too few nodes have left."""
_TOO_MANY = "Too many pods"


def _look(view: View) -> Iterator[Finding]:
    for pod, scheduled in view.pending():
        said = scheduled.message
        found = dict.fromkeys(INSUFFICIENT.findall(said))
        short = [name for name in found if not _is_nowhere(view, name)]
        if not short and _TOO_MANY not in said:
            continue
        never = [words for name in short if (words := _never(view, pod, name))]
        if never:
            words = f"no node can ever take {pod.task}: {'; '.join(never)}"
            mend = "ask for less (resources in the params), or have a larger node added"
        else:
            lacking = ", ".join(short) or "room for one more pod"
            words = f"no node has room for {pod.task} now: not enough {lacking}"
            mend = "wait, end another training, or ask for less (resources in the params)"
        yield Finding(RULE.code, about(pod), words, mend, said, scheduled.since)


def _is_nowhere(view: View, name: str) -> bool:
    """Whether it is a device that no node offers, which TFD106 tells."""
    return "/" in name and not any(node.allocatable.get(name) for node in view.snapshot.nodes)


def _never(view: View, pod: Pod, name: str) -> str:
    """What the largest node has of a resource, where that is less than the pod asks for."""
    asked = pod.amounts.get(name, 0.0)
    most = max((node.allocatable.get(name, 0.0) for node in view.snapshot.nodes), default=None)
    if most is None or asked <= most:
        return ""
    return f"it asks for {_shown(name, asked)} {name}, the largest node has {_shown(name, most)}"


def _shown(name: str, amount: float) -> str:
    if name in ("memory", "ephemeral-storage"):
        return f"{amount / 2**30:.1f}Gi"
    return f"{amount:g}"


RULE = Rule(
    code="TFD105",
    about="no node has room for the pod, now or ever",
    why="What the pod asks for is free on no node. *Never* is said where it is more than the "
    "largest node has in all: waiting does not help then.",
    evidence="The pod's condition PodScheduled, `Insufficient …`, beside the nodes' allocatable "
    "amounts.",
    mend="Ask for less in the params' `resources`, end another training, or add a node. "
    "[docs/scheduling.md](scheduling.md) says how a gang waits for all of its pods.",
    look=_look,
)
