"""Parameter servers run on after the end."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View

USUAL_SECONDS = 300
"""Cleanup waits 60 s for the workers and 30 s more, by default."""


def _look(view: View) -> Iterator[Finding]:
    client = view.training.client()
    if client is None or not client.has_ended or view.seconds_since(client.ended) < USUAL_SECONDS:
        return
    left = [one for one in view.deployments() if one.role == "ps" and one.tasks]
    if not left:
        return
    cleanup = [job for job in view.jobs() if job.role == "cleanup"]
    if any(job.ready and not job.has_ended for job in cleanup):
        return  # it waits as long as the values say
    failed = next((one for job in cleanup if (one := job.condition("Failed"))), None)
    if failed:
        said = f"its cleanup Job failed: {failed.reason}: {failed.message}"
    elif cleanup and all(job.has_ended for job in cleanup):
        said = "its cleanup Job has ended: the values may keep them after a failure"
    else:
        said = "its cleanup Job has no pod that runs" if cleanup else "it has no cleanup Job"
    names = " ".join(one.name for one in left[:10])
    yield Finding(
        RULE.code,
        f"deployment/{left[0].name}",
        f"the training has ended, and {len(left)} parameter servers still run: {said}",
        f"kubectl -n {view.namespace} scale deployment --replicas 0 {names}",
        said,
        client.ended,
    )


RULE = Rule(
    code="TFD122",
    about="parameter servers run on after the end",
    why="Cleanup scales them to 0 after the end. It may have been refused, or its pod may not get "
    "a node; or the values keep them after a failure (`cleanup.delaySeconds.failure: null`).",
    evidence="The client's Job ended more than five minutes ago, and Deployments of ps have pods.",
    mend="Scale them to 0, and see why cleanup did not.",
    look=_look,
)
