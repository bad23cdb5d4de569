"""Ends trainings and removes what is left of them."""

from collections.abc import Iterable
from datetime import datetime, timezone

from lightkube.resources.batch_v1 import Job as ApiJob
from lightkube.resources.core_v1 import PersistentVolumeClaim
from lightkube.types import PatchType

from tf_cluster.cluster.connection import AbsentError, Connection
from tf_cluster.cluster.labels import STOPPED
from tf_cluster.cluster.reading import ARGO_CD, User
from tf_cluster.cluster.snapshot import Claim, Job, Training
from tf_cluster.exits import RefusedError


def stop_job(connection: Connection, namespace: str, job: Job) -> None:
    """Let a Job end now, as its deadline would: its pods get SIGTERM, and the client saves.

    Raises ClusterError.
    """
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    change = {
        "metadata": {"annotations": {STOPPED: now}},
        "spec": {"activeDeadlineSeconds": 1},
    }
    connection.ask(
        f"patch job {job.name} in namespace {namespace}",
        lambda: connection.client.patch(
            ApiJob, job.name, change, namespace=namespace, patch_type=PatchType.MERGE
        ),
    )


def delete_claims(connection: Connection, namespace: str, claims: Iterable[Claim]) -> None:
    """Delete claims, and with them what is on their volumes. Raises ClusterError."""
    for claim in claims:
        try:
            connection.ask(
                f"delete persistentvolumeclaim {claim.name} in namespace {namespace}",
                lambda name=claim.name: connection.client.delete(  # type: ignore[misc]
                    PersistentVolumeClaim, name, namespace=namespace
                ),
            )
        except AbsentError:
            continue


def own_claims(training: Training) -> list[Claim]:
    """The claims with the labels of its release, which made them."""
    return [one for one in training.claims if one.owner == (training.name, training.chart)]


def refuse_argo_cd(name: str, managed_by: str, verb: str) -> None:
    """Refuse what Argo CD manages: it would undo what is done here. Raises RefusedError."""
    if managed_by.startswith(ARGO_CD):
        application = managed_by.removeprefix(ARGO_CD)
        raise RefusedError(
            f"{name} is managed by Argo CD, Application {application}: {verb} it there, in its Git "
            "repository"
        )


def refuse_several(training: Training, everyone: Iterable[Training]) -> None:
    """Refuse where Helm would remove other trainings with this one. Raises RefusedError."""
    others = [
        f"{one.name}/{one.chart}"
        for one in everyone
        if (one.namespace, one.name) == (training.namespace, training.name) and one != training
    ]
    if others:
        raise RefusedError(
            f"{training.name} is one release with {', '.join(others)}, and Helm removes all of it: "
            f"helm uninstall {training.name}, if that is meant"
        )


def refuse_used(training: Training, users: Iterable[User]) -> None:
    """Refuse to delete claims that others name: pods, Jobs, Deployments. Raises RefusedError."""
    names = {claim.name for claim in own_claims(training)}
    for user in users:
        used = names & set(user.claims)
        if used and user.owner != (training.name, training.chart):
            raise RefusedError(
                f"claim {min(used)} is used by {user.kind}/{user.name} too: remove that first"
            )
