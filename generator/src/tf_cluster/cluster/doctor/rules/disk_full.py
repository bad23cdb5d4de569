"""A volume or a node's disk is full."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about

_FULL = ("No space left on device", "ENOSPC", "Disk quota exceeded")


def _look(view: View) -> Iterator[Finding]:
    name, namespace = view.training.name, view.namespace
    for pod in view.relevant():
        full = [line for line in view.log(pod) if any(words in line for words in _FULL)]
        if full:
            yield Finding(
                RULE.code,
                about(pod),
                f"{pod.task} can't write: the disk is full",
                f"remove old runs from the claim (kubectl -n {namespace} exec into a pod of {name} "
                "that mounts /log), or let it grow: kubectl edit pvc, if its class allows that",
                full[-1].partition(" ")[2],
                None,
            )
    for node in {pod.node for pod in view.pods()}:
        found = view.node(node)
        pressed = [
            one
            for one in (found.conditions if found else ())
            if one.kind == "DiskPressure" and one.status == "True"
        ]
        for one in pressed:
            yield Finding(
                RULE.code,
                f"node/{node}",
                f"the disk of node {node} is almost full: Kubernetes evicts pods",
                "free the node's disk: unused images, logs, emptyDirs",
                one.message,
                one.since,
            )


RULE = Rule(
    code="TFD121",
    about="a disk is full",
    why="Nothing can be written to the volume of /log, or to the node's disk. A training goes on "
    "without checkpoints until there is room; what was learned since the last one is not safe.",
    evidence="`No space left on device` in a log; the node's condition DiskPressure.",
    mend="Remove old runs, or let the claim grow.",
    look=_look,
)
