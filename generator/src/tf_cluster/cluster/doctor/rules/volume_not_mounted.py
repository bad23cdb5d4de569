"""A volume can't be attached or mounted on a pod's node."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.cluster.snapshot import Event

_OF_CONFIGURATION = ("configmap", "secret")  # TFD112 tells of those


def _look(view: View) -> Iterator[Finding]:
    for pod in view.pods():
        main = pod.main
        if not pod.node or (main and (main.is_running or main.ended)):
            continue
        for event in view.pod_events(pod, "FailedAttachVolume", "FailedMount"):
            if not any(kind in event.message for kind in _OF_CONFIGURATION):
                words, mend = _why(event)
                yield Finding(RULE.code, about(pod), words, mend, event.message, event.at)
                break


def _why(event: Event) -> tuple[str, str]:
    said = event.message
    if "Multi-Attach error" in said:
        return (
            "its ReadWriteOnce volume is attached to another node",
            "end the pods that use it there, or use ReadWriteMany storage",
        )
    if "need a /sbin/mount" in said or "bad option" in said or "unknown filesystem type" in said:
        return (
            "the node has no program to mount this kind of volume",
            "install it on the nodes (nfs-common, glusterfs-client), or use a CSI driver",
        )
    return (
        "its volume can't be attached or mounted",
        "kubectl describe pod shows all of what the node says; look at the storage's own pods",
    )


RULE = Rule(
    code="TFD110",
    about="a volume can't be attached or mounted",
    why="The pod has a node, but its volume is still attached to another one, does not answer, or "
    "the node lacks the program that mounts it.",
    evidence="Events FailedAttachVolume and FailedMount of the pod.",
    mend="What the event says. A ReadWriteOnce volume is on one node at a time.",
    look=_look,
)
