"""Every Kubernetes object of a release: its name, and what happens to it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from tf_cluster.planning.attempt import Attempt, Names
from tf_cluster.planning.pods import service_account

Life = Literal["attempt", "release", "kept", "test"]
"""How long an object is there: until another attempt or the uninstall, as long as the release, for
longer than it, or while `helm test` runs."""


@dataclass(frozen=True)
class KubernetesObject:
    """One object, or `count` of a kind that differ in their index ({} in the name)."""

    kind: str
    name: str
    component: str
    life: Life
    note: str = ""
    count: int = 1
    indexed: bool = False

    @property
    def names(self) -> Iterator[str]:
        """The name of each."""
        if not self.indexed:
            yield self.name
            return
        for index in range(self.count):
            yield self.name.replace("{}", str(index))


def objects(attempt: Attempt) -> list[KubernetesObject]:
    """All objects that helm installs, those of tasks first, and the pod of `helm test`."""
    return [
        *_tasks(attempt, attempt.names),
        *_of_the_attempt(attempt, attempt.names),
        *_of_the_release(attempt),
    ]


def _tasks(attempt: Attempt, names: Names) -> Iterator[KubernetesObject]:
    release = attempt.release
    deadline = release.section("run").get("deadlineSeconds")
    limit = f", after {_seconds(deadline)} at the latest" if deadline else ""
    if names.chief:
        note = f"completes when the training is done{limit}"
        yield KubernetesObject("Job", names.chief, "chief", "attempt", note)
    note = "completes with the training"
    if names.client == names.worker:
        note = f"completes when every worker is done{limit}"
    if release.values["worker"].get("successPolicy") == "first":
        note = f"completes when worker 0 is done{limit}"
    if release.has_cleanup:
        timeout = _seconds(release.values["cleanup"]["workersTimeoutSeconds"])
        end = "worker 0" if names.client == names.worker else "the chief's Job"
        note += f", or cleanup ends it {timeout} after {end}"
    yield KubernetesObject("Job", names.worker, "worker", "attempt", note)
    if names.ps_count:
        name, note = names.any_ps, _end_of_ps(attempt)
        count = names.ps_count
        yield KubernetesObject("Deployment", name, "ps", "attempt", note, count, indexed=True)
    if names.evaluator:
        note = "completes when the last checkpoint is evaluated"
        if release.has_cleanup:
            note += "; cleanup ends it after a failure"
        yield KubernetesObject("Job", names.evaluator, "evaluator", "attempt", note)


def _end_of_ps(attempt: Attempt) -> str:
    release = attempt.release
    if not release.has_cleanup:
        return "serves on after the end, until you scale it to 0: cleanup is off"
    delays = release.values["cleanup"]["delaySeconds"]
    failure = delays.get("failure")
    after = "never after a failure" if failure is None else f"{_seconds(failure)} after a failure"
    return f"cleanup scales it to 0: {_seconds(delays['success'])} after a success, {after}"


def _seconds(number: float) -> str:
    """`1209600 s`: a whole number is printed whole."""
    return f"{int(number) if number == int(number) else number} s"


def _of_the_attempt(attempt: Attempt, names: Names) -> Iterator[KubernetesObject]:
    if names.cleanup_job:
        note = "waits for the end, and completes when it has cleaned up"
        yield KubernetesObject("Job", names.cleanup_job, "cleanup", "attempt", note)
        for kind in ("ServiceAccount", "Role", "RoleBinding"):
            yield KubernetesObject(kind, names.cleanup, "cleanup", "attempt")
    yield KubernetesObject("ConfigMap", names.config, "config", "attempt")
    yield KubernetesObject("Service", names.service, "service", "attempt")
    client = attempt.release.client
    yield KubernetesObject("Service", names.client_service, client, "attempt")
    if attempt.release.gang:
        note = f"{attempt.pod_group['minMember']} tasks start together"
        yield KubernetesObject("PodGroup", names.service, "scheduling", "attempt", note)


def _of_the_release(attempt: Attempt) -> Iterator[KubernetesObject]:
    release = attempt.release
    for volume in release.claims:
        storage = release.values["storage"][volume]
        if not storage.get("existingClaim"):
            name = release.claim(volume)
            yield KubernetesObject("PersistentVolumeClaim", name, "storage", "kept")
    policies = bool((release.section("security").get("networkPolicy") or {}).get("enabled"))
    for name in ("tasks", "client", "cleanup") if policies else ():
        there = {"client": release.interactive, "cleanup": release.has_cleanup}.get(name, True)
        if there:
            policy = f"{release.fullname}-{name}"
            yield KubernetesObject("NetworkPolicy", policy, "security", "release")
    if release.section("serviceAccount").get("create"):
        account = service_account(release)
        yield KubernetesObject("ServiceAccount", account, "security", "release")
    yield from _pages(attempt, policies)
    yield from _monitoring(attempt)
    for one in release.values.get("extraObjects") or []:
        yield KubernetesObject(*_named(one), "extra", "release")
    yield KubernetesObject("Pod", f"{release.fullname}-test", "test", "test")


def _pages(attempt: Attempt, policies: bool) -> Iterator[KubernetesObject]:
    release = attempt.release
    for role in release.pages:
        name, values = release.page(role), release.section(role.name)
        yield KubernetesObject("Deployment", name, role.name, "release", "serves on after the end")
        yield KubernetesObject("Service", name, role.name, "release")
        if policies:
            yield KubernetesObject("NetworkPolicy", name, role.name, "release")
        for key, kind in (("ingress", "Ingress"), ("httpRoute", "HTTPRoute")):
            if (values.get(key) or {}).get("enabled"):
                yield KubernetesObject(kind, name, role.name, "release")


def _monitoring(attempt: Attempt) -> Iterator[KubernetesObject]:
    release = attempt.release
    made = {
        "podMonitor": ("PodMonitor", release.fullname),
        "rules": ("PrometheusRule", release.fullname),
        "dashboard": ("ConfigMap", f"{release.fullname}-dashboard"),
    }
    for key, (kind, name) in made.items():
        if (release.section("monitoring").get(key) or {}).get("enabled"):
            yield KubernetesObject(kind, name, "monitoring", "release")


def _named(manifest: Any) -> tuple[str, str]:
    metadata = manifest.get("metadata") or {}
    return str(manifest.get("kind")), str(metadata.get("name"))
