"""A pod was evicted, preempted or drained."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about

_WHY = {
    "PreemptionByScheduler": (
        "a more important pod took its place",
        "give it a higher priority class",
    ),
    "EvictionByEvictionAPI": ("its node was drained", "nothing: it goes on where there is room"),
    "DeletionByTaintManager": ("its node got a taint", "tolerate the taint, or nothing"),
    "DeletionByPodGC": ("its node is gone", "nothing: it goes on where there is room"),
    "TerminationByKubelet": (
        "its node was short of memory or disk, or was shut down",
        "request what the task needs: pods above their request are evicted first",
    ),
}


def _look(view: View) -> Iterator[Finding]:
    if view.client_has_ended():
        return
    for pod in view.relevant():
        target = pod.condition("DisruptionTarget")
        if target and target.status == "True":
            known = (f"it was disrupted ({target.reason})", "kubectl describe pod says more")
            words, mend = _WHY.get(target.reason, known)
            quote, at = target.message, target.since
        elif pod.reason == "Evicted":
            words, mend = _WHY["TerminationByKubelet"]
            quote, at = pod.message, pod.created
        else:
            continue
        yield Finding(
            RULE.code,
            about(pod),
            f"{pod.task} was ended: {words}{_since(view, pod.task)}",
            mend,
            quote,
            at,
        )


def _since(view: View, task: str) -> str:
    there = any(pod.task == task and pod.is_ready for pod in view.pods())
    return "; another pod has taken it up" if there else "; no other pod is ready yet"


RULE = Rule(
    code="TFD117",
    about="a pod was evicted, preempted or drained",
    why="Kubernetes ended a pod for a reason of its own. It does not count against the Job's "
    "limit, and the task goes on from its checkpoint when a node takes it again.",
    evidence="The pod's condition DisruptionTarget, or the reason Evicted.",
    mend="A priority class of its own against preemption, requests as large as the need against "
    "eviction. After a drain nothing.",
    look=_look,
)
