"""Taints, selectors or affinity keep a pod off every node."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about

_NODES = re.compile(r"0/(\d+) nodes are available: (.*?)(?: preemption: |$)", re.DOTALL)
_COUNTED = r"(\d+) node\(s\) (?:had |have )?{}"
_REASONS = {
    "untolerated taint": "nodes have taints that it does not tolerate",
    "didn't match Pod's node affinity/selector": "nodes do not have the labels that it asks for",
    "didn't match pod affinity rules": "it has to be beside pods that are on other nodes",
    "didn't match pod anti-affinity rules": "it must not be beside pods that are there",
    "didn't match pod topology spread constraints": "it has to be spread over more nodes",
    "were unschedulable": "nodes are cordoned",
    "didn't find available persistent volumes to bind": "no volume can be had there for its claim",
    "volume node affinity conflict": "its volume is on another node",
}


def _look(view: View) -> Iterator[Finding]:
    for pod, scheduled in view.pending():
        said = scheduled.message
        nodes = _NODES.search(said)
        if nodes is None:
            continue
        counts = {signal: _count(signal, nodes[2]) for signal in _REASONS}
        found = [words for signal, words in _REASONS.items() if counts[signal]]
        # Nodes that are kept for others are no fault where more of the same would do: TFD105.
        if sum(counts.values()) < int(nodes[1]):
            continue
        yield Finding(
            RULE.code,
            about(pod),
            f"{pod.task} fits no node: {'; '.join(found)}{_taints(view, said)}",
            _mend(said),
            said,
            scheduled.since,
        )


def _count(signal: str, said: str) -> int:
    """Of how many nodes the scheduler says so."""
    return sum(map(int, re.findall(_COUNTED.format(re.escape(signal)), said)))


def _taints(view: View, said: str) -> str:
    if "untolerated taint" not in said:
        return ""
    taints = sorted({taint for node in view.snapshot.nodes for taint in node.taints})
    return f" ({', '.join(taints)})" if taints else ""


def _mend(said: str) -> str:
    if "didn't match pod affinity rules" in said or "volume node affinity conflict" in said:
        return (
            "with a ReadWriteOnce claim all its pods share one node, which has to have room for "
            "all: ask for less, or use ReadWriteMany storage (preset medium)"
        )
    if "were unschedulable" in said and "taint" not in said:
        return "kubectl get nodes shows which are cordoned; kubectl uncordon NODE takes it back"
    return "set nodes.tolerations or nodes.selector in the params to what nodes have"


RULE = Rule(
    code="TFD107",
    about="taints, labels, affinity or a volume's place keep the pod off every node",
    why="A node may have room, and the pod may still not be put there: the node has a taint, lacks "
    "a label, is cordoned, or does not hold the volume or the pods that this one must be beside.",
    evidence="The pod's condition PodScheduled, in the scheduler's words.",
    mend="Correct `nodes` in the params. With ReadWriteOnce claims all pods that mount them "
    "share a node: that node has to have room for all.",
    look=_look,
)
