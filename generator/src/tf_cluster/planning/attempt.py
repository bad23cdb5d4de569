"""An attempt as the chart makes it: what every task reads, the specs, the hash and the names.

The hash covers everything whose change needs new pods (templates/_attempt.tpl): so two sets of
values whose hashes are equal restart nothing.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from tf_cluster.expand.gang import members
from tf_cluster.expand.source import source_document
from tf_cluster.planning.go_text import go_json
from tf_cluster.planning.pods import (
    Data,
    PodDetails,
    PodNames,
    config_mount,
    pod_labels,
    pod_template,
)
from tf_cluster.planning.release import Release
from tf_cluster.planning.roles import POD_ROLES, PORTS, PodRole

_DRAFT = "00000000"
_AT = "{}"


@dataclass(frozen=True)
class Names:
    """The names of what an attempt is made of.

    `client` is the Job of the task that drives the run. `any_ps` has {} in place of the index.
    `evaluator` and `cleanup_job` end in a hash of their own specs; empty where there are none.
    """

    attempt: str
    service: str
    config: str
    worker: str
    chief: str
    client: str
    cleanup: str
    any_ps: str
    ps_count: int
    client_service: str
    evaluator: str = ""
    cleanup_job: str = ""

    def ps(self, index: int) -> str:
        """The Deployment of a parameter server, and its pod's hostname."""
        return self.any_ps.replace(_AT, str(index))


@dataclass(frozen=True)
class Attempt:
    """One attempt of a release."""

    release: Release

    @cached_property
    def names(self) -> Names:
        """Its names, as Helm makes them."""
        draft = self._named(_DRAFT)
        parts: list[Any] = [
            self.cluster_document(draft),
            training_document(self.release),
            self.worker_spec(draft),
        ]
        if draft.chief:
            parts.append(self.chief_spec(draft))
        if draft.ps_count:
            parts.append(self.ps_spec(draft, 0))
        parts.append(math.trunc(self.release.values["run"]["attempt"]))
        names = self._named(_hash(parts, 8))
        if self.release.has_evaluator:
            own = _hash(self.evaluator_spec(names), 4)
            name = f"{self.release.fullname}-eval-{names.attempt}-{own}"
            names = replace(names, evaluator=name)
        if self.release.has_cleanup:
            own = _hash(self.cleanup_spec(names), 4)
            names = replace(names, cleanup_job=f"{names.cleanup}-{own}")
        return names

    def cluster_document(self, names: Names) -> Data:
        """cluster.json."""
        cluster: Data = {}
        status: Data = {}
        at, at_status = f".{names.service}:{PORTS['tensorflow']}", f":{PORTS['status']}"
        kinds = {
            "worker": (self.release.workers, f"{names.worker}-{_AT}"),
            "ps": (names.ps_count, names.any_ps),
        }
        for kind, (count, host) in kinds.items():
            if count:
                cluster[kind] = {"count": count, "address": f"{host}{at}"}
                address = f"{host}.{names.service}{at_status}"
                status[kind] = {"count": count, "address": address}
        if names.chief:
            cluster["chief"] = [f"{names.chief}{at}"]
            status["chief"] = [f"{names.chief}{at_status}"]
        else:
            status["worker"]["first"] = f"{names.client_service}{at_status}"
        pods = f"get pods --selector tf-cluster.io/attempt={names.attempt} --output wide"
        return {
            "version": 1,
            "attempt": names.attempt,
            "cluster": cluster,
            "status": status,
            "hint": f"kubectl --namespace {self.release.namespace} {pods}",
        }

    def chief_spec(self, names: Names) -> Data:
        """The spec of the chief's Job, as far as the hash covers it."""
        role = POD_ROLES["chief"]
        details = PodDetails(_of_pods(names), hostname=names.chief)
        return self._job(role, details)

    def worker_spec(self, names: Names) -> Data:
        """The spec of the workers' Job, as far as the hash covers it."""
        values, role = self.release.values, POD_ROLES["worker"]
        grace = _seconds(values["worker"])
        if self.release.client == "worker":
            grace = max(grace, _seconds(values["chief"]))
        wait = 0
        if self.release.combination.has_chief and self.release.combination.lockstep:
            wait = math.trunc(values["ps"]["preStopSeconds"])
            grace += wait
        details = PodDetails(_of_pods(names), grace_seconds=grace, pre_stop_seconds=wait)
        spec = {
            **self._job(role, details),
            "completionMode": "Indexed",
            "completions": self.release.workers,
            "parallelism": self.release.workers,
        }
        if values["worker"].get("successPolicy") == "first":
            spec["successPolicy"] = {"rules": [{"succeededIndexes": "0"}]}
        return spec

    def ps_spec(self, names: Names, index: int) -> Data:
        """The spec of a parameter server's Deployment."""
        values, role = self.release.values, POD_ROLES["ps"]
        details = PodDetails(
            _of_pods(names),
            index=index,
            hostname=names.ps(index),
            pre_stop_seconds=math.trunc(values["ps"]["preStopSeconds"]),
        )
        return {
            "strategy": {"type": "Recreate"},
            "progressDeadlineSeconds": max(600, math.ceil(values["peers"]["deadlineSeconds"])),
            "selector": {"matchLabels": pod_labels(self.release, role, details)},
            "template": pod_template(self.release, role, details),
        }

    def evaluator_spec(self, names: Names) -> Data:
        """The spec of the evaluator's Job."""
        return self._job(POD_ROLES["evaluator"], PodDetails(_of_pods(names)))

    def cleanup_spec(self, names: Names) -> Data:
        """The spec of cleanup's Job."""
        values = self.release.values["cleanup"]
        plan = {
            "client": names.client,
            "jobs": [name for name in (names.worker,) if name != names.client],
            "completions": {names.worker: int(self.release.values["worker"]["replicas"])},
            "jobsAfterFailure": [name for name in (names.evaluator,) if name],
            "deployments": [names.ps(index) for index in range(names.ps_count)],
            "workersTimeoutSeconds": values.get("workersTimeoutSeconds"),
            "delaySeconds": {
                key: values["delaySeconds"].get(key) for key in ("success", "failure")
            },
        }
        details = PodDetails(
            _of_pods(names),
            service_account=names.cleanup,
            args=("--plan", go_json(plan, indent=True)),
        )
        return {
            "backoffLimit": 20,
            "template": pod_template(self.release, POD_ROLES["cleanup"], details),
        }

    @property
    def pod_group(self) -> Data:
        """The spec of the PodGroup, where a scheduler starts the tasks together."""
        asked = self.release.section("scheduling").get("gang") or {}
        spec: Data = {"minMember": int(asked.get("minMember") or members(self.release.values))}
        if asked.get("timeoutSeconds"):
            spec["scheduleTimeoutSeconds"] = int(asked["timeoutSeconds"])
        if asked.get("queue"):
            spec["queue"] = asked["queue"]
        return spec

    def page_spec(self, role: PodRole) -> Data:
        """The template of a page's pod."""
        mounts: tuple[Data, ...] = ()
        if role.name == "notebook" and self.release.interactive:
            mounts = (config_mount(self.names.config),)
        details = PodDetails(args=_page_args(self.release, role), mounts=mounts)
        return pod_template(self.release, role, details)

    def _job(self, role: PodRole, details: PodDetails) -> Data:
        """What the Jobs of tasks have in common."""
        return {
            "backoffLimit": math.trunc(self.release.values[role.name]["backoffLimit"]),
            "podFailurePolicy": _failure_policy(role),
            "template": pod_template(self.release, role, details),
        }

    def _named(self, attempt: str) -> Names:
        base, client = self.release.fullname, self.release.client
        worker = f"{base}-worker-{attempt}"
        chief = f"{base}-chief-{attempt}" if client == "chief" else ""
        return Names(
            attempt=attempt,
            service=f"{base}-{attempt}",
            config=f"{base}-config-{attempt}",
            worker=worker,
            chief=chief,
            client=chief or worker,
            cleanup=f"{base}-cleanup-{attempt}",
            any_ps=f"{base}-ps-{_AT}-{attempt}",
            ps_count=self.release.ps_count,
            client_service=chief or f"{worker}-0",
        )


def training_document(release: Release) -> Data:
    """training.json."""
    values = release.values
    given = release.section("program")
    program: Data = {"module": given["module"]} if given.get("module") else {}
    if given.get("script"):
        program = {
            "script": given["script"],
            "args": given.get("args") or [],
            "ps": given.get("ps"),
        }
    if release.interactive:
        seconds = math.trunc(release.section("interactive")["idleSeconds"])
        program = {"interactive": {"idleSeconds": seconds}}
    if given.get("path"):
        program["path"] = given["path"]
    source = source_document(values)
    if source:
        program["source"] = source
    asked = release.section("ps").get("logVolume") if release.ps_count else None
    return {
        "version": 1,
        "run": {"name": release.fullname, "id": values["run"]["id"]},
        "program": program,
        **{key: values[key] for key in ("strategy", "replication", "update")},
        "train": _without_nulls(values["train"]),
        "flags": values.get("flags") or {},
        "dirs": {"data": "/data", "log": "/log"},
        **({"ps": {"logVolume": asked}} if isinstance(asked, bool) else {}),
        "peers": _without_nulls(values["peers"]),
        "failure": _without_nulls(values["failure"]),
    }


def _page_args(release: Release, role: PodRole) -> tuple[str, ...]:
    values = release.section(role.name)
    prefix = values.get("pathPrefix")
    if role.name == "notebook":
        return (f"--ServerApp.base_url={prefix}",) if prefix else ()
    return (
        f"--logdir={values.get('logdir') or f'/log/{release.fullname}'}",
        *("--load_fast=false", "--bind_all", f"--port={PORTS['tensorboard']}"),
        f"--reload_interval={math.trunc(values['reloadSeconds'])}",
        *((f"--path_prefix={prefix}",) if prefix else ()),
    )


def _failure_policy(role: PodRole) -> Data:
    def on(code: int) -> Data:
        return {"containerName": role.name, "operator": "In", "values": [code]}

    return {
        "rules": [
            {"action": "FailJob", "onExitCodes": on(2)},
            {"action": "Ignore", "onExitCodes": on(42)},
            {
                "action": "Ignore",
                "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
            },
        ]
    }


def _without_nulls(data: Mapping[str, Any]) -> Data:
    return {
        key: _without_nulls(value) if isinstance(value, Mapping) else value
        for key, value in data.items()
        if value is not None
    }


def _seconds(section: Mapping[str, Any]) -> int:
    return int(section["terminationGracePeriodSeconds"])


def _of_pods(names: Names) -> PodNames:
    return PodNames(names.attempt, names.service, names.config)


def _hash(data: Any, digits: int) -> str:
    return hashlib.sha256(go_json(data).encode()).hexdigest()[:digits]
