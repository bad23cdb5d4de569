"""No node offers the GPUs that a pod asks for."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about


def _look(view: View) -> Iterator[Finding]:
    if not view.snapshot.nodes:
        return
    for pod, scheduled in view.pending():
        said = scheduled.message
        for name in pod.amounts:
            if "/" not in name or any(node.allocatable.get(name) for node in view.snapshot.nodes):
                continue
            broken = [one.name for one in view.snapshot.nodes if one.capacity.get(name)]
            alike = sorted(
                {
                    other
                    for node in view.snapshot.nodes
                    for other in node.allocatable
                    if "/" in other
                }
            )
            if broken:
                words = f"{name} is on {', '.join(broken)}, but none of it can be used"
                mend = (
                    f"kubectl describe node {broken[0]}: its device plugin says they are not well"
                )
            else:
                words = f"no node offers {name}"
                mend = "install its device plugin, or name what there is in the params: " + (
                    ", ".join(alike) or "no node offers any device"
                )
            yield Finding(RULE.code, about(pod), words, mend, said, scheduled.since)


RULE = Rule(
    code="TFD106",
    about="no node offers the device that the pod asks for",
    why="A GPU is a resource that a device plugin offers on its node. Without the plugin, or under "
    "another name, no node has any, and the pod waits for ever.",
    evidence="The resource is in no node's allocatable amounts.",
    mend="Install the vendor's device plugin, or set `gpus.vendor` to the name that nodes offer.",
    look=_look,
)
