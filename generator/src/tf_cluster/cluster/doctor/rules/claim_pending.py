"""A claim gets no volume."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View
from tf_cluster.cluster.snapshot import Claim, Event, StorageClass

_GLUSTERFS = "kubernetes.io/glusterfs"
_FAILED = ("ProvisioningFailed", "FailedBinding")
_USUAL_SECONDS = 120


def _look(view: View) -> Iterator[Finding]:
    for claim in view.training.claims:
        if claim.phase not in ("Pending", "Lost"):
            continue
        events = [
            event
            for event in reversed(view.snapshot.events)
            if event.kind == "PersistentVolumeClaim"
            and (event.namespace, event.name) == (view.namespace, claim.name)
        ]
        failed = next((one for one in events if one.reason in _FAILED), None)
        words, mend = _why(view, claim, failed)
        if words:
            newest = failed or next(iter(events), None)
            yield Finding(
                RULE.code,
                f"persistentvolumeclaim/{claim.name}",
                words,
                mend,
                newest.message if newest else f"phase {claim.phase}",
                newest.at if newest else claim.created,
            )


def _why(view: View, claim: Claim, failed: Event | None) -> tuple[str, str]:
    """Why it is Pending, and what to do; empty where that is usual."""
    if claim.phase == "Lost":
        return "its volume is gone", "make another claim: what was on the volume is lost"
    if claim.volume:
        return "", ""
    classes = {one.name: one for one in view.snapshot.classes}
    known = ", ".join(sorted(classes)) or "there is none"
    can_tell = not any("storageclasses" in words for words in view.snapshot.unread)
    if not claim.storage_class and can_tell and not any(one.is_default for one in classes.values()):
        return (
            "it names no StorageClass, and the cluster has no default one",
            f"set log.class and data.class in the params, or have a default class made: {known}",
        )
    if claim.storage_class and can_tell and claim.storage_class not in classes:
        return (
            f"there is no StorageClass {claim.storage_class}",
            f"make it, or name another in the params: {known}",
        )
    one = classes.get(claim.storage_class)
    if one and one.provisioner == _GLUSTERFS and _is_at_least_1_26(view.snapshot.version):
        return (
            f"StorageClass {one.name} uses {_GLUSTERFS}, which Kubernetes 1.26 removed",
            "use another class: docs/storage.md has today's alternatives",
        )
    if failed:
        return (
            f"no volume could be made: {failed.message}",
            "name a class that can do the access mode "
            f"{','.join(claim.modes)}, or ask who runs the storage",
        )
    return _unusual(view, claim, one)


def _unusual(view: View, claim: Claim, one: StorageClass | None) -> tuple[str, str]:
    """A claim that waits for its first pod is well; one that waits long for a volume is not."""
    if one is None or one.binds_late or view.seconds_since(claim.created) < _USUAL_SECONDS:
        return "", ""
    return (
        f"it has waited long for {one.provisioner} to make a volume",
        f"look at the provisioner's pods: kubectl get pods -A | grep {one.name}",
    )


def _is_at_least_1_26(version: str) -> bool:
    numbers = version.lstrip("v").split(".")
    return len(numbers) > 1 and numbers[1].isdecimal() and int(numbers[1]) >= 26


RULE = Rule(
    code="TFD108",
    about="a claim gets no volume",
    why="Nobody makes a volume for the claim: it names no class where the cluster has no default, "
    "or a class that is not there, or whose provisioner is gone or can't do the access mode. A "
    "claim that waits for its first pod is well, and is not told.",
    evidence="The claim's phase, its class, and events ProvisioningFailed or FailedBinding.",
    mend="Name a class that there is and that can do the access mode. A claim that exists keeps "
    "its class: delete it first (`kubectl delete pvc`), while nothing is on it.",
    look=_look,
)
