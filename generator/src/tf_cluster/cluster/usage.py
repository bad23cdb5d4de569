"""What nodes have, what pods ask of them, and what is used, where metrics-server says it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tf_cluster.cluster.connection import AbsentError, ClusterError, Connection, ForbiddenError
from tf_cluster.cluster.reading import ALL, amount, nodes_and_requests, total
from tf_cluster.cluster.snapshot import Node, Training

METRICS = "/apis/metrics.k8s.io/v1beta1"
PODS = "pods"
Amounts = dict[str, float]


@dataclass(frozen=True)
class NodeUse:
    """A node: what it can give, what pods that have not ended ask of it, and what is used.

    Amounts by resource, in the resource's unit. `used` is None where nobody measures.
    """

    node: Node
    asked: Amounts
    used: Amounts | None = None

    def free(self, resource: str) -> float:
        """What can still be asked for; 0 on a node that takes no pods."""
        if not self.node.is_ready or self.node.is_unschedulable:
            return 0.0
        return max(self.node.allocatable.get(resource, 0.0) - self.asked.get(resource, 0.0), 0.0)


@dataclass(frozen=True)
class TrainingUse:
    """What the pods of a training that have not ended ask for, and what they use."""

    training: Training
    asked: Amounts
    used: Amounts | None = None


@dataclass(frozen=True)
class Usage:
    """Nodes and trainings. `unread` says what is missing and why."""

    nodes: tuple[NodeUse, ...] = ()
    trainings: tuple[TrainingUse, ...] = ()
    unread: tuple[str, ...] = field(default=())


def usage(connection: Connection, namespace: str, trainings: tuple[Training, ...]) -> Usage:
    """Ask for nodes, pods of all namespaces, and metrics. Raises ClusterError.

    What is forbidden or not installed is noted, and the rest is there all the same.
    """
    unread: list[str] = []
    try:
        nodes, asked = nodes_and_requests(connection)
    except ForbiddenError as error:
        nodes, asked = [], {}
        unread.append(f"nodes: {error}")
    of_nodes = _metrics(connection, f"{METRICS}/nodes", unread) if nodes else {}
    inside = "" if namespace == ALL else f"/namespaces/{namespace}"
    of_pods = _metrics(connection, f"{METRICS}{inside}/pods", unread)
    return Usage(
        tuple(
            NodeUse(node, asked.get(node.name, {}), (of_nodes or {}).get(("", node.name)))
            for node in nodes
        ),
        tuple(_training_use(one, of_pods) for one in trainings),
        tuple(dict.fromkeys(unread)),
    )


def _training_use(
    training: Training, measured: Mapping[tuple[str, str], Amounts] | None
) -> TrainingUse:
    pods = [pod for pod in training.pods if not pod.has_ended]
    found = ((measured or {}).get((training.namespace, pod.name)) for pod in pods)
    used = [amounts for amounts in found if amounts is not None]
    asked = total(pod.amounts for pod in pods)
    return TrainingUse(training, asked, total(used) if used else None)


def _metrics(
    connection: Connection, path: str, unread: list[str]
) -> dict[tuple[str, str], Amounts] | None:
    """What is used, by namespace and name; None where nobody measures or may be asked."""
    found: dict[tuple[str, str], Amounts] = {}
    try:
        for item in connection.items(f"get {path}", path, {}, {}):
            metadata = item["metadata"]
            parts = (part.get("usage") or {} for part in item.get("containers") or [item])
            amounts = total({name: amount(one) for name, one in part.items()} for part in parts)
            found[metadata.get("namespace", ""), metadata["name"]] = amounts
    except AbsentError:
        unread.append("what is used is not measured here: metrics-server is not installed")
        return None
    except ClusterError as error:
        unread.append(f"what is used: {error}")
        return None
    return found
