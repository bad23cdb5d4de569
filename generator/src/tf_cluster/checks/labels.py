"""Labels that the chart or Kubernetes sets."""

from collections.abc import Iterator

from tf_cluster.expand.roles import POD_SECTIONS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

RESERVED_LABEL = Code(
    "TFC316",
    "a label that is the chart's own",
    why=(
        "The chart finds its own pods by it. With another value a Service or a network "
        "policy would miss them."
    ),
    wrong="extraValues: {commonLabels: {app.kubernetes.io/name: vision}}",
    right="extraValues: {commonLabels: {team: vision}}",
)

RESERVED_LABELS = (
    *(
        f"app.kubernetes.io/{name}"
        for name in ("name", "instance", "component", "version", "managed-by")
    ),
    "helm.sh/chart",
)
RESERVED_LABEL_PREFIX = "tf-cluster.io/"
RESERVED_POD_LABELS = ("job-name", "controller-uid", "pod-template-hash")
RESERVED_POD_LABEL_PREFIX = "batch.kubernetes.io/"


def check(params: Params) -> Iterator[Finding]:
    """A finding for each reserved label."""
    pods: list[Pointer] = [(role, "podLabels") for role in POD_SECTIONS]
    objects: list[Pointer] = [(role, "objectLabels") for role in POD_SECTIONS]
    for path in [("commonLabels",), *pods, *objects]:
        for label, text in (params.value_at(path) or {}).items():
            if label in RESERVED_LABELS or label.startswith(RESERVED_LABEL_PREFIX):
                whose = "is the chart's own"
            elif path in pods and (
                label in RESERVED_POD_LABELS or label.startswith(RESERVED_POD_LABEL_PREFIX)
            ):
                whose = "Kubernetes sets"
            else:
                continue
            where = params.origin_of((*path, label))
            message = f"{dotted(path)} sets the label {label}, which {whose}"
            fix = "take another name"
            yield params.finding(where, RESERVED_LABEL, message, text, fix)
