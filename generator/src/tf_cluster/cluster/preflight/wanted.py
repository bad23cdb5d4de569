"""The pods that a training asks for, as the API server would make them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tf_cluster.cluster.preflight.terms import Json, Whole, containers, selects, whole_requests

_HOSTNAME = "kubernetes.io/hostname"


@dataclass(frozen=True)
class Wanted:
    """Pods that are alike. `template` has the defaults that the namespace gives."""

    title: str
    count: int
    namespace: str
    template: Json
    takes: Whole
    own: bool = True
    """Whether it is of the training that is asked about; else it waits in the cluster."""
    affinity: tuple[Json, ...] = field(default=())
    """Terms of required pod affinity."""
    repulsion: tuple[Json, ...] = field(default=())
    """Terms of required pod anti-affinity."""
    served: Mapping[str, str] = field(default_factory=dict)
    """Labels of the pods that the scheduler spreads these among, as pods of one Service."""
    early: bool = False
    """Whether helm makes their owner before the workers' Job, the last that it makes."""
    first_apart: bool = False
    """Whether the first of them has a Service of its own, and is not spread among the others."""
    places: tuple[Json, ...] = field(default=())
    """Node selectors of its volumes: a node has to meet all of them."""

    @property
    def spec(self) -> Json:
        """The pod's spec."""
        found: Json = self.template["spec"]
        return found

    @property
    def labels(self) -> Mapping[str, str]:
        """The pod's labels."""
        return (self.template.get("metadata") or {}).get("labels") or {}

    @property
    def attracts_itself(self) -> bool:
        """Whether its pods have to share a node with each other: our rule of colocation."""
        return any(
            one["topologyKey"] == _HOSTNAME and selects(one.get("labelSelector"), self.labels)
            for one in self.affinity
        )


def of_template(title: str, count: int, namespace: str, template: Json) -> Wanted:
    """Pods of a template, or one that exists: its metadata and spec are read."""
    return Wanted(
        title=title,
        count=count,
        namespace=namespace,
        template=template,
        takes=whole_requests(template),
        own=False,
        affinity=required_terms(template["spec"], "podAffinity"),
        repulsion=required_terms(template["spec"], "podAntiAffinity"),
    )


def not_modelled(pods: Sequence[Wanted]) -> list[str]:
    """Rules of these pods that this tool does not follow, as words."""
    found: dict[str, None] = {}
    for pod in pods:
        for words in _not_modelled(pod):
            found.setdefault(f"{pod.title}: {words}")
    return list(found)


def _not_modelled(pod: Wanted) -> list[str]:
    spec = pod.spec
    found = []
    scheduler = spec.get("schedulerName") or "default-scheduler"
    if scheduler != "default-scheduler":
        found.append(f"the scheduler {scheduler} decides")
    if any(
        (one.get("whenUnsatisfiable") or "DoNotSchedule") == "DoNotSchedule"
        for one in spec.get("topologySpreadConstraints") or ()
    ):
        found.append("topologySpreadConstraints with DoNotSchedule")
    if spec.get("resourceClaims"):
        found.append("resourceClaims")
    if spec.get("schedulingGates"):
        found.append("schedulingGates")
    if any(one.get("namespaceSelector") is not None for one in (*pod.affinity, *pod.repulsion)):
        found.append("pod affinity with a namespaceSelector")
    if any(port.get("hostPort") for one in containers(spec) for port in one.get("ports") or ()):
        found.append("hostPort")
    return found


def required_terms(pod_spec: Json, kind: str) -> tuple[Json, ...]:
    """The terms of a pod that a node has to meet: of podAffinity or podAntiAffinity."""
    rules = (pod_spec.get("affinity") or {}).get(kind) or {}
    return tuple(rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
