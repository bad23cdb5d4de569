"""Which events of a namespace are a training's."""

from collections.abc import Iterable, Iterator

from tf_cluster.cluster.snapshot import Event, Training


def events_of(training: Training, events: Iterable[Event]) -> Iterator[Event]:
    """The events on its Jobs, Deployments (and their ReplicaSets), pods and claims.

    Also those of its pods that are gone: a pod's name begins with that of its Job or ReplicaSet.
    """
    jobs = {job.name for job in training.jobs}
    deployments = {deployment.name for deployment in training.deployments}
    pods = {pod.name for pod in training.pods}
    claims = {claim.name for claim in training.claims}
    made = tuple(f"{name}-" for name in sorted(jobs | deployments))
    for event in events:
        if event.namespace != training.namespace:
            continue
        if (
            (event.kind == "Job" and event.name in jobs)
            or (event.kind == "Deployment" and event.name in deployments)
            or (event.kind == "PersistentVolumeClaim" and event.name in claims)
            or (event.kind == "Pod" and (event.name in pods or event.name.startswith(made)))
            or (event.kind == "ReplicaSet" and event.name.startswith(made))
        ):
            yield event
