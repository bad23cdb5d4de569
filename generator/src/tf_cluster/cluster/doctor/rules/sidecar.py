"""A container that others put in keeps a pod from ending."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.cluster.labels import TASKS


def _look(view: View) -> Iterator[Finding]:
    for pod in view.pods():
        if pod.role not in TASKS or pod.role == "ps":
            continue
        others = [one.name for one in pod.containers if one.name != pod.role and not one.is_init]
        if not others:
            continue
        main = pod.main
        has_ended = main is not None and main.ended is not None
        so_far = "has ended, and its pod has not" if has_ended else "will end, and its pod will not"
        yield Finding(
            RULE.code,
            about(pod),
            f"{pod.task} {so_far}: {', '.join(others)} was put into it and runs on",
            "leave trainings out of the mesh (pod.podLabels or pod.podAnnotations, as "
            "sidecar.istio.io/inject: 'false'), or have it inject native sidecars",
            f"containers: {', '.join(one.name for one in pod.containers)}",
            pod.created,
        )


RULE = Rule(
    code="TFD124",
    about="a container that somebody put in keeps the Job from completing",
    why="A webhook, that of a service mesh for one, added a container that never ends. A Job is "
    "complete when all containers of its pods have ended, so this one never is.",
    evidence="A pod of a Job has a container beside the task's, which is no init container.",
    mend="Leave trainings out of the injection, or use native sidecars (Kubernetes 1.29 or later).",
    look=_look,
)
