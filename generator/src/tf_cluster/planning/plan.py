"""A whole plan of values: what there will be, decided without I/O."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tf_cluster.exits import RefusedError
from tf_cluster.planning.attempt import Attempt, Names
from tf_cluster.planning.demand import PodGroup, asked
from tf_cluster.planning.objects import KubernetesObject, objects
from tf_cluster.planning.pods import Data
from tf_cluster.planning.release import Release
from tf_cluster.planning.roles import POD_ROLES
from tf_cluster.printable import cut

_LABEL = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_RELEASE = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
"""What Helm takes as the name of a release."""
TASK_TYPES = ("chief", "worker", "ps", "evaluator")
IN_TF_CONFIG = ("chief", "ps", "worker")
"""In the order of cluster.json."""


@dataclass(frozen=True)
class Plan:
    """What a training is made of in a cluster."""

    attempt: Attempt
    pods: tuple[PodGroup, ...]
    objects: tuple[KubernetesObject, ...]
    cluster: Mapping[str, Any]
    status: Mapping[str, Any]

    @property
    def release(self) -> Release:
        """The release, with its values."""
        return self.attempt.release

    @property
    def names(self) -> Names:
        """The attempt's names."""
        return self.attempt.names

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many tasks of each type there are, without types that have none."""
        there = {group.role: group.count for group in self.pods}
        return {kind: there[kind] for kind in TASK_TYPES if kind in there}

    @property
    def run_directory(self) -> str:
        """Where the run's checkpoints, events and exports are."""
        return f"/log/{self.release.fullname}/{self.release.values['run']['id']}"

    def address(self, kind: str, index: int) -> str:
        """host:port of a task's TensorFlow server."""
        addresses = self.cluster[kind]
        if isinstance(addresses, list):
            return str(addresses[index])
        return str(addresses["address"]).replace("{}", str(index))

    def tf_config(self, task: str) -> str:
        """TF_CONFIG of a task, `worker-3`, as the trainer sets it. Raises RefusedError."""
        kind, _, index = task.rpartition("-")
        counts = {kind: self.counts[kind] for kind in IN_TF_CONFIG if kind in self.counts}
        if kind not in counts or not index.isdecimal() or int(index) >= counts[kind]:
            there = ", ".join(
                f"{one}-0" + (f" to {one}-{count - 1}" if count > 1 else "")
                for one, count in counts.items()
            )
            raise RefusedError(f"there is no task {task} with a TF_CONFIG: there is {there}")
        spec = {
            one: [self.address(one, at) for at in range(self.counts[one])] for one in self.cluster
        }
        return json.dumps({"cluster": spec, "task": {"type": kind, "index": int(index)}})


def plan(
    values: Mapping[str, Any], *, release: str | None = None, namespace: str = "default"
) -> Plan:
    """The plan of effective values: the chart's own with a file's laid over them.

    Without a release's name it is that of the run, as in `helm install digits … -f digits.yaml`.
    Raises RefusedError for values without a combination that there is, or without any name.
    """
    name = release or values.get("fullnameOverride")
    if not name:
        raise RefusedError(
            "the values have no fullnameOverride, so every name begins with the release's: "
            "say it with --release NAME"
        )
    for label, said, most, form in (
        ("the release's name", name, 53, _RELEASE),
        ("the namespace", namespace, 63, _LABEL),
    ):
        if len(said) > most or not form.fullmatch(said):
            raise RefusedError(
                f"{label} is {cut(repr(said))}: lower-case letters, digits and - between them "
                f"are possible, "
                f"at most {most}"
            )
    installed = Release(values, name, namespace)
    try:
        _ = installed.combination
    except LookupError:
        said = (str(values.get(key)) for key in ("strategy", "replication", "update"))
        raise RefusedError(f"the chart has no combination {', '.join(said)}") from None
    attempt = Attempt(installed)
    documents = attempt.cluster_document(attempt.names)
    cluster = documents["cluster"]
    return Plan(
        attempt=attempt,
        pods=tuple(_pods(attempt)),
        objects=tuple(objects(attempt)),
        cluster={kind: cluster[kind] for kind in IN_TF_CONFIG if kind in cluster},
        status=documents["status"],
    )


def _pods(attempt: Attempt) -> list[PodGroup]:
    release, names = attempt.release, attempt.names
    specs: dict[str, tuple[int, str, Data]] = {}
    if names.chief:
        specs["chief"] = (1, f"Job {names.chief}", attempt.chief_spec(names)["template"])
    worker = attempt.worker_spec(names)["template"]
    specs["worker"] = (release.workers, f"Job {names.worker}", worker)
    if names.ps_count:
        owner = f"Deployment {names.any_ps if names.ps_count > 1 else names.ps(0)}"
        specs["ps"] = (names.ps_count, owner, attempt.ps_spec(names, 0)["template"])
    if names.evaluator:
        template = attempt.evaluator_spec(names)["template"]
        specs["evaluator"] = (1, f"Job {names.evaluator}", template)
    if names.cleanup_job:
        template = attempt.cleanup_spec(names)["template"]
        specs["cleanup"] = (1, f"Job {names.cleanup_job}", template)
    for role in release.pages:
        owner = f"Deployment {release.page(role)}"
        specs[role.name] = (1, owner, attempt.page_spec(role))
    groups = []
    for kind, (count, owner, template) in specs.items():
        requests, limits = asked(template)
        mounted = release.mounted(POD_ROLES[kind])
        groups.append(PodGroup(kind, count, owner, requests, limits, mounted, template))
    return groups
