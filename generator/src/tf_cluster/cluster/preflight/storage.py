"""Claims: are they there, can they be made, and which nodes do their volumes leave."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from tf_cluster.cluster.preflight.answer import Check, cant_say, fits, listed, never, not_now
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.provisioners import OF_ONE_NODE, REMOVED
from tf_cluster.cluster.preflight.rooms import has_ended
from tf_cluster.cluster.preflight.terms import Json, selects
from tf_cluster.expand.quantity import quantity
from tf_cluster.planning.release import Release

SUBJECT = "claims"
_DEFAULT_CLASS = "storageclass.kubernetes.io/is-default-class"
_NO_PROVISIONER = "kubernetes.io/no-provisioner"
_ZONES = (
    "topology.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region",
)


@dataclass
class Storage:
    """What was found out. `new` are the claims that will be made, as (class, bytes)."""

    checks: list[Check] = field(default_factory=list)
    new: list[tuple[str, Fraction]] = field(default_factory=list)
    made: list[Json] = field(default_factory=list)
    places: dict[str, list[Json]] = field(default_factory=dict)


def storage(cluster: Cluster, release: Release, mounts: dict[str, int]) -> Storage:
    """Look at the release's claims and at those that its pods name besides.

    `mounts` says how many pods mount each claim, by the claim's name.
    """
    found = Storage()
    if "persistentvolumeclaims" in cluster.unread:
        found.checks.append(cant_say(SUBJECT, "not allowed: list persistentvolumeclaims"))
        return found
    own = {release.claim(volume): volume for volume in release.claims}
    there = {one["metadata"]["name"]: one for one in cluster.persistentvolumeclaims}
    for name in {**dict.fromkeys(own), **dict.fromkeys(mounts)}:
        values = release.values["storage"][own[name]] if name in own else {}
        is_made = name in own and not values.get("existingClaim")
        if name in there:
            _existing(cluster, there[name], mounts.get(name, 0), release, found)
        elif is_made:
            _new(cluster, name, values, release, mounts.get(name, 0), found)
        else:
            found.checks.append(not_now(SUBJECT, f"claim {name} is not there: make it first"))
    if not found.checks:
        names = listed(f"{name} {'is there' if name in there else 'can be made'}" for name in own)
        found.checks.append(fits(SUBJECT, names or "it has none"))
    return found


def _existing(cluster: Cluster, claim: Json, pods: int, release: Release, found: Storage) -> None:
    name = claim["metadata"]["name"]
    phase = (claim.get("status") or {}).get("phase", "Pending")
    modes = claim["spec"].get("accessModes") or []
    if claim["metadata"].get("deletionTimestamp"):
        found.checks.append(not_now(SUBJECT, f"claim {name} is being deleted"))
        return
    if phase == "Lost":
        found.checks.append(never(SUBJECT, f"claim {name} has lost its volume"))
        return
    _hold_to_modes(name, modes, pods, release, found)
    if phase == "Bound":
        _bound(cluster, claim, found)
        return
    of_class = _class(cluster, claim["spec"].get("storageClassName") or "")
    if not of_class or of_class.get("volumeBindingMode") != "WaitForFirstConsumer":
        found.checks.append(cant_say(SUBJECT, f"claim {name} has no volume yet"))


def _bound(cluster: Cluster, claim: Json, found: Storage) -> None:
    name, volume_name = claim["metadata"]["name"], claim["spec"].get("volumeName")
    if "persistentvolumes" in cluster.unread:
        found.checks.append(
            cant_say(SUBJECT, f"which nodes can mount claim {name}: not allowed: list volumes")
        )
        return
    volume = next(
        (one for one in cluster.persistentvolumes if one["metadata"]["name"] == volume_name), None
    )
    if volume is None:
        found.checks.append(never(SUBJECT, f"the volume {volume_name} of claim {name} is gone"))
        return
    found.places.setdefault(name, []).extend(_of_volume(volume))
    if "csi" in volume["spec"] and "ReadWriteMany" not in (claim["spec"].get("accessModes") or []):
        users = [
            f"pod {pod['metadata']['name']} on node {pod['spec']['nodeName']}"
            for pod in cluster.pods
            if pod["metadata"]["namespace"] == cluster.namespace
            and pod["spec"].get("nodeName")
            and not has_ended(pod)
            and name in claim_names(pod["spec"])
        ]
        if users:
            found.checks.append(
                cant_say(SUBJECT, f"claim {name} is mounted by {users[0]}: on others it waits")
            )


def _new(
    cluster: Cluster, name: str, values: Json, release: Release, pods: int, found: Storage
) -> None:
    shared = release.section("global").get("storageClass")
    asked = values.get("storageClassName")
    said = asked if isinstance(asked, str) else shared or None
    if "storageclasses" in cluster.unread:
        found.checks.append(cant_say(SUBJECT, "not allowed: list storageclasses"))
        return
    of_class = _default(cluster) if said is None else _class(cluster, said)
    class_name = of_class["metadata"]["name"] if of_class else said or ""
    size = quantity(str(values.get("size")))
    modes = list(values.get("accessModes") or ["ReadWriteOnce"])
    _hold_to_modes(name, modes, pods, release, found)
    found.new.append((class_name, size))
    found.made.append(
        {
            "metadata": {"name": name},
            "spec": {"resources": {"requests": {"storage": values.get("size")}}},
        }
    )
    is_made = of_class and of_class["provisioner"] != _NO_PROVISIONER
    if values.get("volumeName") or not is_made:
        _static(cluster, name, class_name, said, size, modes, values, found)
        return
    assert of_class is not None
    words = _cannot(cluster, of_class, modes)
    if words:
        found.checks.append(never(SUBJECT, f"claim {name}: {words}"))
        return
    topologies = of_class.get("allowedTopologies")
    if topologies:
        terms = [
            {
                "matchExpressions": [
                    {"key": one["key"], "operator": "In", "values": one["values"]}
                    for one in term.get("matchLabelExpressions") or ()
                ]
            }
            for term in topologies
        ]
        found.places.setdefault(name, []).append({"nodeSelectorTerms": terms})


def _static(
    cluster: Cluster,
    name: str,
    class_name: str,
    said: str | None,
    size: Fraction,
    modes: Sequence[str],
    values: Json,
    found: Storage,
) -> None:
    """A claim for which a volume has to be there."""
    if "persistentvolumes" in cluster.unread:
        found.checks.append(cant_say(SUBJECT, f"claim {name}: not allowed: list volumes"))
        return
    wanted = values.get("volumeName")
    volumes = [
        one
        for one in cluster.persistentvolumes
        if _would_bind(one, cluster.namespace, name, class_name, size, modes)
        and (not wanted or one["metadata"]["name"] == wanted)
        and (
            not values.get("selector")
            or selects(values["selector"], one["metadata"].get("labels") or {})
        )
    ]
    if not volumes:
        known = listed(sorted(one["metadata"]["name"] for one in cluster.storageclasses), 8)
        if wanted:
            words = f"no volume {wanted} that it could have"
        elif said and _class(cluster, said) is None:
            words = f"there is no StorageClass {said}: there are: {known or 'none'}"
        elif said is None:
            words = f"the cluster has no default StorageClass: name one of: {known or 'none'}"
        else:
            words = f"no free volume of class {said!r} that is large enough and can do {modes[0]}"
        found.checks.append(not_now(SUBJECT, f"claim {name}: {words}"))
        return
    places = [_of_volume(one) for one in volumes]
    if len(volumes) == 1:
        found.places.setdefault(name, []).extend(places[0])
    elif any(places):
        words = f"claim {name}: {len(volumes)} volumes suit it, on nodes of their own"
        found.checks.append(cant_say(SUBJECT, words))


def _would_bind(
    volume: Json, namespace: str, claim: str, class_name: str, size: Fraction, modes: Sequence[str]
) -> bool:
    spec, status = volume["spec"], volume.get("status") or {}
    of = spec.get("claimRef")
    if of:
        if (of.get("namespace"), of.get("name")) != (namespace, claim) or of.get("uid"):
            return False
    elif status.get("phase") not in (None, "Available", "Pending"):
        return False
    return (
        (spec.get("storageClassName") or "") == class_name
        and quantity(str((spec.get("capacity") or {}).get("storage", "0"))) >= size
        and set(modes) <= set(spec.get("accessModes") or ())
        and (spec.get("volumeMode") or "Filesystem") == "Filesystem"
    )


def _hold_to_modes(
    name: str, modes: Sequence[str], pods: int, release: Release, found: Storage
) -> None:
    if pods > 1 and list(modes) == ["ReadWriteOncePod"]:
        found.checks.append(
            never(SUBJECT, f"claim {name} is ReadWriteOncePod, and {pods} pods mount it")
        )
    elif pods > 1 and _is_of_one_node(modes) and not release.colocate:
        words = (
            f"claim {name} is ReadWriteOnce and its {pods} pods need not share a node: set "
            "storage.colocate, or use a ReadWriteMany claim"
        )
        found.checks.append(cant_say(SUBJECT, words))


def _is_of_one_node(modes: Sequence[str]) -> bool:
    return "ReadWriteOnce" in modes and "ReadWriteMany" not in modes


def _cannot(cluster: Cluster, of_class: Json, modes: Sequence[str]) -> str:
    """Why a class makes no such volume; empty where it does, as far as is known."""
    provisioner, name = of_class["provisioner"], of_class["metadata"]["name"]
    removed = REMOVED.get(provisioner)
    if removed and _minor(cluster.version) >= removed:
        return f"StorageClass {name} uses {provisioner}, which Kubernetes 1.{removed} removed"
    wide = [one for one in modes if one in ("ReadWriteMany", "ReadOnlyMany")]
    if wide and provisioner in OF_ONE_NODE:
        return (
            f"StorageClass {name} ({provisioner}) can't do {wide[0]}: one node mounts its volumes"
        )
    return ""


def _of_volume(volume: Json) -> list[Json]:
    """Which nodes can mount a volume, as node selectors."""
    found: list[Json] = []
    required = (volume["spec"].get("nodeAffinity") or {}).get("required")
    if required:
        found.append(required)
    labels = volume["metadata"].get("labels") or {}
    zones = [
        {"key": key, "operator": "In", "values": labels[key].split("__")}
        for key in _ZONES
        if key in labels
    ]
    if zones:
        found.append({"nodeSelectorTerms": [{"matchExpressions": zones}]})
    return found


def claim_names(pod_spec: Json) -> Iterable[str]:
    """The claims that a pod mounts."""
    for volume in pod_spec.get("volumes") or ():
        claim = volume.get("persistentVolumeClaim")
        if claim:
            yield claim["claimName"]


def _class(cluster: Cluster, name: str) -> Json | None:
    return next((one for one in cluster.storageclasses if one["metadata"]["name"] == name), None)


def _default(cluster: Cluster) -> Json | None:
    """The default class: of several the newest, as Kubernetes chooses."""
    marked: list[Any] = [
        one
        for one in cluster.storageclasses
        if (one["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true"
    ]
    return max(marked, key=lambda one: str(one["metadata"]["creationTimestamp"]), default=None)


def _minor(version: str) -> int:
    numbers = version.lstrip("v").split(".")
    return int(numbers[1]) if len(numbers) > 1 and numbers[1].isdecimal() else 0
