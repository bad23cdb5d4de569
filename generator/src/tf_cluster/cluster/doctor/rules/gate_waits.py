"""The client waits for other tasks."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about, log_time
from tf_cluster.cluster.snapshot import Pod
from tf_cluster.progress.line import newest_wait

USUAL_SECONDS = 120
"""Images are pulled meanwhile."""
FRESH_SECONDS = 120
NO_NAME, NO_ANSWER = "its name does not resolve", "no answer within"
REFUSED = "refuses connections"
"""In a client's reason, as the trainer words it."""


def _look(view: View) -> Iterator[Finding]:
    for pod in view.training.client_pods()[:1]:
        wait = newest_wait(pod.log)
        if wait is None or wait.seconds < USUAL_SECONDS:
            continue
        if view.seconds_since(log_time(wait.line)) > FRESH_SECONDS:
            continue  # it is said every 30 s as long as it is so
        for task in wait.tasks:
            named = _pod_of(view, task)
            words, mend = _why(view, named, task, wait.reason(task))
            yield Finding(
                RULE.code,
                about(named) if named else about(pod),
                f"{pod.task} has waited {wait.seconds} s for {task}: {words}",
                mend,
                wait.reasons,
            )


def _pod_of(view: View, task: str) -> Pod | None:
    role, _, index = task.rpartition("-")
    pods = [
        pod
        for pod in view.training.pods_of(view.training.attempt)
        if pod.role == role and pod.index == int(index)
    ]
    return max(pods, key=lambda pod: str(pod.created), default=None)


def _why(view: View, pod: Pod | None, task: str, reason: str) -> tuple[str, str]:
    where = f"-n {view.namespace}"
    if pod is None:
        return "it has no pod", f"tf-cluster events {view.training.name} {where} says why"
    if pod.deleted or pod.has_ended:
        return "its pod has ended", f"tf-cluster logs {view.training.name} {where} says why"
    if not pod.node:
        return "no node has taken its pod", "see what is said of that pod here"
    if not pod.is_ready:
        return "its pod is not ready", f"tf-cluster logs {view.training.name} {where} --tail 20"
    tries = f"helm {where} test {view.training.name} tries every name and port"
    if NO_NAME in reason:
        words = "its pod is ready, and its name does not resolve"
        mend = "its Service is gone, the name server is, or a NetworkPolicy keeps it away"
        return words, f"{mend}: {tries}"
    # Some of those that enforce a NetworkPolicy drop what it forbids, and some refuse it.
    if NO_ANSWER in reason or REFUSED in reason:
        words = "its pod is ready, its name resolves, and nothing answers"
        return words, f"a NetworkPolicy or a service mesh is in the way, most likely: {tries}"
    return f"its pod is ready: {reason or 'it does not say why'}", tries


RULE = Rule(
    code="TFD114",
    about="the client waits for other tasks",
    why="Training begins when every task answers. The client says for whom it waits and why; that "
    "pod's own finding here is the cause, if there is one. A pod that is ready and does not answer "
    "has a name that does not resolve, or a NetworkPolicy closes its port.",
    evidence="The client's line `waiting for N of M tasks`, after two minutes.",
    mend="Mend what is said of that pod. `helm test` tries every name and port.",
    look=_look,
)
