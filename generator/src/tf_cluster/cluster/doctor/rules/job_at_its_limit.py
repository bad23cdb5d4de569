"""A Job failed: too many failures, or too late."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View
from tf_cluster.cluster.labels import TASKS

_WORDS = {
    "BackoffLimitExceeded": "its pods failed {failed} times, more than it allows ({limit})",
    "DeadlineExceeded": "it had not ended within its deadline",
    "MaxFailedIndexesExceeded": "too many of its tasks failed for good",
    "FailedIndexes": "tasks of it failed for good",
}


def _look(view: View) -> Iterator[Finding]:
    client = view.training.client()
    for job in view.jobs():
        failed = job.condition("Failed")
        if failed is None or job.stopped or failed.reason not in _WORDS or job.role not in TASKS:
            continue
        is_ended_by_cleanup = (
            failed.reason == "DeadlineExceeded" and job is not client and view.client_has_ended()
        )
        if is_ended_by_cleanup:
            continue
        words = _WORDS[failed.reason].format(failed=job.failed, limit=job.backoff_limit)
        yield Finding(
            RULE.code,
            f"job/{job.name}",
            f"the {job.role}'s Job has failed: {words}",
            f"tf-cluster logs {view.training.name} -n {view.namespace} --role {job.role} says why; "
            "then set run.attempt one higher and upgrade: it goes on from the saved step",
            f"{failed.reason}: {failed.message}",
            failed.since,
        )


RULE = Rule(
    code="TFD118",
    about="a Job has failed for good: too many failures, or its deadline",
    why="Kubernetes replaces pods up to the Job's `backoffLimit`, and ends the Job at "
    "`run.deadlineSeconds`. After that nothing starts again by itself.",
    evidence="The Job's condition Failed with BackoffLimitExceeded, DeadlineExceeded or "
    "MaxFailedIndexesExceeded.",
    mend="Mend the cause. Then `run.attempt` one higher and `helm upgrade`: it goes on from the "
    "saved step.",
    look=_look,
)
