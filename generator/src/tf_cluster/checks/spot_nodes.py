"""Workers in lockstep on nodes that the provider takes back."""

import re
from collections.abc import Iterator
from typing import Any

from tf_cluster.expand.roles import has_ps, is_lockstep, pod_section
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

SPOT_NODES = Code(
    "TFC406",
    "workers that wait for each other, on nodes that are taken back (advice)",
    why=(
        "With update sync all workers make each step together. Each node that is taken back stops "
        "all of them until its worker runs elsewhere."
    ),
    wrong=("update: sync\nnodes: {worker: {selector: {cloud.google.com/gke-spot: 'true'}}}"),
    right=("update: async\nnodes: {worker: {selector: {cloud.google.com/gke-spot: 'true'}}}"),
)

_SPOT = re.compile(r"(^|[^a-z])(ec2)?spot($|[^a-z])|preemptible|scalesetpriority", re.IGNORECASE)
_NO = re.compile(r"(false|no|none|0|on-?demand|regular|standard)", re.IGNORECASE)


def check(params: Params) -> Iterator[Finding]:
    """Advice if the workers ask for such nodes and make each step together."""
    if not is_lockstep(params.effective):
        return
    for where, said in _asked(params):
        message = f"{dotted(where)} asks for nodes that may be taken back at any time ({said}), "
        message += "and with update sync every lost worker holds up all"
        fix = "save often, by train.checkpoint.seconds, or take nodes that stay"
        if has_ps(params.effective):
            fix += "; with update: async the others go on"
        yield params.finding(where, SPOT_NODES, message, said, fix, "advice")
        return


def _asked(params: Params) -> Iterator[tuple[Pointer, str]]:
    """Where the workers' pods ask for such nodes, and by which words."""
    values = params.effective
    path: Pointer = (pod_section(values, "worker", "nodeSelector"), "nodeSelector")
    for label, text in (params.value_at(path) or {}).items():
        if _is_spot(label, [text]):
            yield params.origin_of((*path, label)), f"{label}: {text}"
    path = (pod_section(values, "worker", "tolerations"), "tolerations")
    for index, one in enumerate(params.value_at(path) or []):
        if _is_spot(str(one.get("key", "")), [one.get("value", "")]):
            yield (*params.values.origin_around(path), index), str(one["key"])
    needs = "requiredDuringSchedulingIgnoredDuringExecution"
    path = (pod_section(values, "worker", "affinity"), "affinity")
    path = (*path, "nodeAffinity", needs, "nodeSelectorTerms")
    for term in params.value_at(path) or []:
        for rule in term.get("matchExpressions") or []:
            if rule.get("operator") in ("In", "Exists") and _is_spot(
                rule["key"], rule.get("values") or [""]
            ):
                yield params.values.origin_around(path), rule["key"]


def _is_spot(label: str, texts: list[Any]) -> bool:
    """Whether a label with one of these values is that of such nodes."""
    return all(
        not _NO.fullmatch(str(text)) and _SPOT.search(f"{label.rpartition('/')[2]} {text}")
        for text in texts
    )
