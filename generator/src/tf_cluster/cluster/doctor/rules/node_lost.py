"""A node of the training does not answer."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.cluster.snapshot import of_kind

_GRACE_SECONDS = 120  # the chart's longest is 60 by default


def _look(view: View) -> Iterator[Finding]:
    told = set()
    for pod in view.training.pods_of(view.training.attempt):
        node = view.node(pod.node)
        if pod.has_ended or node is None:
            continue
        if not node.is_ready and node.name not in told:
            told.add(node.name)
            ready = of_kind(node.conditions, "Ready")
            yield Finding(
                RULE.code,
                f"node/{node.name}",
                f"node {node.name} does not answer; {pod.task} is on it",
                "wait for it: Kubernetes deletes its pods after about six minutes; a node that is "
                f"gone for good: kubectl delete node {node.name}",
                ready.message if ready else "",
                ready.since if ready else None,
            )
        elif pod.deleted and view.seconds_since(pod.deleted) > _GRACE_SECONDS:
            yield Finding(
                RULE.code,
                about(pod),
                f"{pod.task} was to end at {pod.deleted:%H:%M:%S} and is still there",
                f"is node {pod.node} well? If it is gone: kubectl -n {view.namespace} delete pod "
                f"{pod.name} --force",
                "its deletionTimestamp is over",
                pod.deleted,
            )


RULE = Rule(
    code="TFD119",
    about="a node does not answer, or a pod does not end",
    why="The kubelet of the node has been silent, so nobody knows what its pods do. They may train "
    "on. Kubernetes replaces them when it deletes them, after about six minutes.",
    evidence="The node's condition Ready is False or Unknown; or a pod is Terminating long after "
    "its grace period.",
    mend="Mend the node or delete it. Do not force pods away from a node that still runs them.",
    look=_look,
)
