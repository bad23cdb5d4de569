"""Quotas, exactly: what the training's objects add, held to what each quota has left."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from tf_cluster.cluster.preflight.answer import Check, fits, never, not_now
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.terms import Json, containers
from tf_cluster.cluster.preflight.wanted import Wanted
from tf_cluster.expand.quantity import quantity
from tf_cluster.planning.demand import amounts as amounts_of
from tf_cluster.planning.demand import asked, plain

SUBJECT = "quotas"
Added = dict[str, Fraction]

_PLURALS = {
    "Job": "jobs.batch",
    "Deployment": "deployments.apps",
    "Service": "services",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "ServiceAccount": "serviceaccounts",
    "NetworkPolicy": "networkpolicies.networking.k8s.io",
    "Role": "roles.rbac.authorization.k8s.io",
    "RoleBinding": "rolebindings.rbac.authorization.k8s.io",
    "Ingress": "ingresses.networking.k8s.io",
    "HTTPRoute": "httproutes.gateway.networking.k8s.io",
}
_OLD_NAMES = ("services", "configmaps", "secrets", "persistentvolumeclaims", "pods")
"""Kinds that a quota counts by their bare names, too."""


def quotas(
    cluster: Cluster,
    pods: Sequence[Wanted],
    kinds: Mapping[str, int],
    services: Sequence[str],
    claims: Sequence[tuple[str, Fraction]],
    going: Sequence[Wanted] = (),
) -> Check:
    """Whether every quota has room for what is new, once the pods that are `going` are gone.

    `kinds` is how many new objects there are of each kind, `services` the types of Services,
    `claims` the class and the bytes of each claim. Pods have the limit ranges' defaults.
    """
    counted = _objects_add(kinds, services)
    lacking: list[tuple[bool, str]] = []
    for quota in cluster.resourcequotas:
        spec, status = quota["spec"], quota.get("status") or {}
        hard = {name: quantity(str(value)) for name, value in (spec.get("hard") or {}).items()}
        used = {name: quantity(str(value)) for name, value in (status.get("used") or {}).items()}
        mine = [one for one in pods if _is_scoped(spec, one)]
        scoped = bool(spec.get("scopes") or spec.get("scopeSelector"))
        added = _pods_add(mine)
        freed = _pods_add([one for one in going if _is_scoped(spec, one)])
        if not scoped:
            added = _sum([added, counted, _claims_add(claims)])
        name = quota["metadata"]["name"]
        for resource, most in hard.items():
            unsaid = "" if "limitranges" in cluster.unread else _unsaid(resource, mine)
            if unsaid:
                lacking.append((True, f"{name}: {unsaid} says no {resource}, and has to"))
            more = added.get(resource, Fraction(0))
            left = most - used.get(resource, Fraction(0)) + freed.get(resource, Fraction(0))
            if more > left and more:
                words = (
                    f"{name}: {_plain(resource, more)} of {resource} needed, "
                    f"{_plain(resource, max(left, Fraction(0)))} of {_plain(resource, most)} left"
                )
                lacking.append((more > most, words))
    if lacking:
        words = "; ".join(words for _, words in lacking)
        return (never if any(for_ever for for_ever, _ in lacking) else not_now)(SUBJECT, words)
    if not cluster.resourcequotas:
        return fits(SUBJECT, "there is none")
    names = ", ".join(one["metadata"]["name"] for one in cluster.resourcequotas)
    return fits(SUBJECT, f"{names} {'has' if len(cluster.resourcequotas) == 1 else 'have'} room")


def _objects_add(kinds: Mapping[str, int], services: Sequence[str]) -> Added:
    counted: Counter[str] = Counter()
    for kind, count in kinds.items():
        plural = _PLURALS.get(kind, "")
        if not plural:
            continue
        group = "." if "." in plural else ""
        counted[f"count/{plural}"] += count
        if not group and plural in _OLD_NAMES:
            counted[plural] += count
        if plural == "deployments.apps":
            counted["count/replicasets.apps"] += count
    for kind in services:
        if kind in ("NodePort", "LoadBalancer"):
            counted["services.nodeports"] += 1
        if kind == "LoadBalancer":
            counted["services.loadbalancers"] += 1
    return {name: Fraction(count) for name, count in counted.items()}


def _pods_add(pods: Sequence[Wanted]) -> Added:
    found: Counter[str] = Counter()
    amounts: Added = {}
    for one in pods:
        requests, limits = map(dict, asked(one.template))
        for name, value in amounts_of(one.spec.get("overhead")).items():
            requests[name] = requests.get(name, Fraction(0)) + value
            if name in limits:
                limits[name] += value
        for given, prefix in ((requests, "requests."), (limits, "limits.")):
            for name, value in given.items():
                amounts[prefix + name] = amounts.get(prefix + name, Fraction(0)) + value * one.count
        found["pods"] += one.count
        found["count/pods"] += one.count
    for name in list(amounts):
        kind, _, bare = name.partition(".")
        if kind == "requests" and "/" not in bare:
            amounts[bare] = amounts[name]
    return {**amounts, **{name: Fraction(count) for name, count in found.items()}}


def _claims_add(claims: Sequence[tuple[str, Fraction]]) -> Added:
    found: Added = {}
    for name, size in claims:
        for key in (
            "requests.storage",
            *((f"{name}.storageclass.storage.k8s.io/requests.storage",) if name else ()),
        ):
            found[key] = found.get(key, Fraction(0)) + size
        if name:
            key = f"{name}.storageclass.storage.k8s.io/persistentvolumeclaims"
            found[key] = found.get(key, Fraction(0)) + 1
    return found


def _unsaid(resource: str, pods: Sequence[Wanted]) -> str:
    """The first of pods that has to say a resource, because a quota counts it, and does not."""
    kind, dot, name = resource.partition(".")
    if not dot and resource in ("cpu", "memory"):
        kind, name = "requests", resource
    if kind not in ("requests", "limits") or name not in ("cpu", "memory"):
        return ""
    for one in pods:
        for container in containers(one.spec):
            if name not in ((container.get("resources") or {}).get(kind) or {}):
                return f"{one.title}'s container {container['name']}"
    return ""


def _is_scoped(spec: Json, pod: Wanted) -> bool:
    """Whether a quota counts a pod."""
    wanted: list[dict[str, Any]] = [
        {"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()
    ]
    wanted += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    return all(_is_in_scope(one, pod) for one in wanted)


def _is_in_scope(one: Json, pod: Wanted) -> bool:
    name, spec = one["scopeName"], pod.spec
    terminates = spec.get("activeDeadlineSeconds") is not None
    if name == "Terminating":
        return terminates
    if name == "NotTerminating":
        return not terminates
    if name in ("BestEffort", "NotBestEffort"):
        requests, limits = asked(pod.template)
        says_nothing = not any(
            each in amounts for amounts in (requests, limits) for each in ("cpu", "memory")
        )
        return says_nothing is (name == "BestEffort")
    if name == "CrossNamespacePodAffinity":
        return any(
            term.get("namespaces") or term.get("namespaceSelector") is not None
            for term in (*pod.affinity, *pod.repulsion)
        )
    if name == "PriorityClass":
        said, given = spec.get("priorityClassName"), one.get("values") or ()
        held: dict[str, bool] = {
            "Exists": said is not None,
            "DoesNotExist": said is None,
            "In": said in given,
            "NotIn": said not in given,
        }
        return held[one.get("operator") or "Exists"]
    return False


def _sum(parts: Iterable[Added]) -> Added:
    found: Added = {}
    for part in parts:
        for name, value in part.items():
            found[name] = found.get(name, Fraction(0)) + value
    return found


def _plain(resource: str, value: Fraction) -> str:
    name = (
        resource.rpartition(".")[2] if resource.startswith(("requests.", "limits.")) else resource
    )
    if resource.endswith("storage"):
        name = "ephemeral-storage"
    return plain(name, value)
