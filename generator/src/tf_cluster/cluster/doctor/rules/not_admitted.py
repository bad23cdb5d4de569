"""A queue or a gang has not let the training start."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.rules.no_node import INSUFFICIENT
from tf_cluster.cluster.doctor.view import View, about


def _look(view: View) -> Iterator[Finding]:
    for job in view.jobs():
        if job.is_suspended and not job.has_ended:
            suspended = job.condition("Suspended")
            yield Finding(
                RULE.code,
                f"job/{job.name}",
                f"the {job.role}'s Job is suspended: its queue has not admitted it yet",
                f"kubectl -n {view.namespace} get workloads (Kueue) says where it stands; without "
                f"a queue: kubectl -n {view.namespace} patch job {job.name} --type merge --patch "
                '\'{"spec": {"suspend": false}}\'',
                suspended.message if suspended else "spec.suspend is true",
                suspended.since if suspended else job.created,
            )
    for pod in view.pods():
        scheduled = pod.condition("PodScheduled")
        if pod.gates or (scheduled and scheduled.reason == "SchedulingGated"):
            yield Finding(
                RULE.code,
                about(pod),
                f"{pod.task} is held back by {', '.join(pod.gates) or 'a scheduling gate'}",
                "its queue or gang lets it go when there is room for all",
                scheduled.message if scheduled else "",
                pod.created,
            )
        elif scheduled and scheduled.status == "False" and _is_gang(scheduled.message):
            lacking = _lacking(view)
            yield Finding(
                RULE.code,
                about(pod),
                f"{pod.task} waits until there is room for its whole gang"
                + (f": not enough {', '.join(lacking)} now" if lacking else ""),
                "wait, end another training, or ask for less (workers, resources); "
                f"kubectl -n {view.namespace} describe podgroups says how many must fit at once",
                scheduled.message,
                scheduled.since,
            )


def _lacking(view: View) -> list[str]:
    """What the nodes lack for the gang's pods, by the scheduler's words on any of them.

    Of a pod that is refused because another one found no place, only that is said.
    """
    told = (event.message for event in view.events("FailedScheduling"))
    return list(dict.fromkeys(name for said in told for name in INSUFFICIENT.findall(said)))


_OF_A_GANG = re.compile(
    "PodGroup|pod group|gang|minMember"  # Volcano
    "|optimistic rejection|rejection in Unreserve"  # coscheduling
)


def _is_gang(said: str) -> bool:
    return _OF_A_GANG.search(said) is not None


RULE = Rule(
    code="TFD125",
    about="a queue or a gang has not let the training start",
    why="With Kueue, Volcano or coscheduling a training starts when there is room for all of it.",
    evidence="A suspended Job, a pod's scheduling gates, or the scheduler's words on its group.",
    mend="Wait, or look at the queue. [docs/scheduling.md](scheduling.md)",
    look=_look,
)
