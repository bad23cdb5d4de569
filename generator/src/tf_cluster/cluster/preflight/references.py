"""What pods name besides claims: Secrets, accounts, classes. And names that are taken."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from tf_cluster.cluster.connection import ForbiddenError
from tf_cluster.cluster.preflight.answer import Check, cant_say, fits, listed, not_now
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.terms import Json, containers
from tf_cluster.cluster.preflight.wanted import Wanted
from tf_cluster.planning.plan import Plan

NAMES, OBJECTS, CLASSES, APIS = "names", "named objects", "classes", "APIs"
_GROUPS = {
    "PodMonitor": "monitoring.coreos.com/v1",
    "PrometheusRule": "monitoring.coreos.com/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
}
_BUILT_IN = {
    "Job": "batch/v1",
    "Deployment": "apps/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "Ingress": "networking.k8s.io/v1",
    "Role": "rbac.authorization.k8s.io/v1",
    "RoleBinding": "rbac.authorization.k8s.io/v1",
}
_LOOKED_UP = {
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "NetworkPolicy": "networkpolicies",
    "ServiceAccount": "serviceaccounts",
    "Service": "services",
    "ConfigMap": "configmaps",
}
_NOT_KNOWN = 2_000_000_000
"""Then any pod may be one of lower priority."""
MOST_LOOKS = 12
"""Most objects that are asked for by name."""
_RELEASE = "meta.helm.sh/release-name"
Metadata = Callable[[str, str], Json | None]
"""The metadata of an object of a kind and name; None where there is none."""


def apis(cluster: Cluster, plan: Plan) -> Check:
    """Whether the API server knows the kinds that the release has."""
    wanted: dict[str, str] = {}
    for one in plan.objects:
        group = _GROUPS.get(one.kind) or _BUILT_IN.get(one.kind)
        if group:
            wanted.setdefault(group, one.kind)
    gang = plan.release.gang
    if gang:
        wanted.setdefault(gang.api, "PodGroup")
    for extra in plan.release.values.get("extraObjects") or ():
        version = str(extra.get("apiVersion") or "")
        if "/" in version:
            wanted.setdefault(version, str(extra.get("kind")))
    missing = [f"{kind} ({group})" for group, kind in wanted.items() if group not in cluster.groups]
    if missing:
        words = f"the cluster does not know {listed(missing)}: install what brings it"
        return not_now(APIS, words)
    return fits(APIS, "the cluster knows all kinds")


def classes(cluster: Cluster, pods: Sequence[Wanted], runtimes: Mapping[str, Json | None]) -> Check:
    """Whether priority classes and runtime classes are there. `runtimes`: those that were found."""
    missing: list[str] = []
    asked = {str(one.spec.get("priorityClassName") or "") for one in pods} - {""}
    if asked and "priorityclasses" in cluster.unread:
        return cant_say(CLASSES, "not allowed: list priorityclasses")
    known = {one["metadata"]["name"] for one in cluster.priorityclasses}
    missing += [f"PriorityClass {name}" for name in sorted(asked - known)]
    missing += [f"RuntimeClass {name}" for name, found in runtimes.items() if found is None]
    if not missing and {} in runtimes.values():
        return cant_say(CLASSES, "not allowed: get runtimeclasses")
    if missing:
        return not_now(CLASSES, f"not there: {listed(missing)}: pods that name it are refused")
    return fits(CLASSES, "those that pods name are there" if asked or runtimes else "none is named")


def priority(cluster: Cluster, pods: Sequence[Wanted]) -> int:
    """The greatest priority of the pods: what one of them may preempt makes room."""
    if "priorityclasses" in cluster.unread and any(
        one.spec.get("priorityClassName") for one in pods
    ):
        return _NOT_KNOWN
    values = {one["metadata"]["name"]: int(one["value"]) for one in cluster.priorityclasses}
    default = next(
        (int(one["value"]) for one in cluster.priorityclasses if one.get("globalDefault")), 0
    )
    return max(
        (
            values.get(one.spec.get("priorityClassName") or "", default)
            for one in pods
            if one.spec.get("preemptionPolicy") != "Never"
        ),
        default=0,
    )


def named_objects(plan: Plan, pods: Sequence[Wanted], metadata: Metadata) -> Check:
    """Whether Secrets, ConfigMaps and accounts that pods name are there."""
    made = {(one.kind, name) for one in plan.objects for name in one.names}
    extra = plan.release.values.get("extraObjects") or ()
    missing: list[str] = []
    pulls: list[str] = []
    unread: list[str] = []
    looked = 0
    for kind, name, is_for_pulling in _references(pods):
        if (kind, name) in made:
            continue
        looked += 1
        if looked > MOST_LOOKS:
            unread.append(f"{kind} {name}")
            continue
        try:
            found = metadata(_PLURALS[kind], name)
        except ForbiddenError:
            unread.append(f"{kind} {name}")
            continue
        if found is None:
            (pulls if is_for_pulling else missing).append(f"{kind} {name}")
    if missing and any("/" in str(one.get("apiVersion")) for one in extra):
        words = f"not there: {listed(missing)}: unless the release's extraObjects bring it"
        return cant_say(OBJECTS, words)
    if missing:
        return not_now(OBJECTS, f"not there: {listed(missing)}: pods that name it do not start")
    if pulls:
        words = f"not there: {listed(pulls)}: images that need a login are not pulled"
        return cant_say(OBJECTS, words)
    if unread:
        return cant_say(OBJECTS, f"not looked at: {listed(unread)}")
    return fits(OBJECTS, "those that pods name are there" if looked else "none is named")


_PLURALS = {"Secret": "secrets", "ConfigMap": "configmaps", "ServiceAccount": "serviceaccounts"}


def _references(pods: Iterable[Wanted]) -> Iterable[tuple[str, str, bool]]:
    """Kind and name of each object, and whether it is for pulling images; each once."""
    found: dict[tuple[str, str, bool], None] = {}
    for pod in pods:
        for one in _of_pod(pod.spec):
            found.setdefault(one)
    return found


def _of_pod(spec: Json) -> Iterable[tuple[str, str, bool]]:
    for secret in spec.get("imagePullSecrets") or ():
        yield "Secret", str(secret.get("name")), True
    if spec.get("serviceAccountName"):
        yield "ServiceAccount", str(spec["serviceAccountName"]), False
    for volume in spec.get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            yield from _named(source.get("secret"), "Secret", "secretName")
            yield from _named(source.get("configMap"), "ConfigMap", "name")
    for container in containers(spec):
        for one in container.get("envFrom") or ():
            yield from _named(one.get("secretRef"), "Secret", "name")
            yield from _named(one.get("configMapRef"), "ConfigMap", "name")
        for one in container.get("env") or ():
            source = one.get("valueFrom") or {}
            yield from _named(source.get("secretKeyRef"), "Secret", "name")
            yield from _named(source.get("configMapKeyRef"), "ConfigMap", "name")


def _named(source: Any, kind: str, key: str) -> Iterable[tuple[str, str, bool]]:
    if source and not source.get("optional"):
        name = source.get(key) or source.get("name")
        if name:
            yield kind, str(name), False


def names(cluster: Cluster, plan: Plan, metadata: Metadata) -> Check:
    """Whether objects that stay for the release have names that others have taken."""
    release = plan.release
    taken = []
    claims = {one["metadata"]["name"]: one["metadata"] for one in cluster.persistentvolumeclaims}
    deployments = {one["metadata"]["name"]: one["metadata"] for one in cluster.deployments}
    looked = 0
    for one in plan.objects:
        if one.life not in ("release", "kept"):
            continue
        for name in one.names:
            found: Json | None
            if one.kind == "PersistentVolumeClaim":
                found = claims.get(name)
            elif one.kind == "Deployment":
                found = deployments.get(name)
            elif one.kind in _LOOKED_UP and looked < MOST_LOOKS:
                looked += 1
                try:
                    found = metadata(_LOOKED_UP[one.kind], name)
                except ForbiddenError:
                    found = None
            else:
                found = None
            if found is not None and _is_of_another(found, release.name):
                taken.append(f"{one.kind} {name}{_whose(found)}")
    if taken:
        words = f"taken: {listed(taken)}: Helm refuses to take it over: name the training otherwise"
        return not_now(NAMES, words)
    return fits(NAMES, "none is taken by another release")


def _is_of_another(found: Json, release: str) -> bool:
    return (found.get("annotations") or {}).get(_RELEASE) != release


def _whose(found: Json) -> str:
    owner = (found.get("annotations") or {}).get(_RELEASE)
    return f" of release {owner}" if owner else ", which no release has made"
