"""A claim that pods name is not there."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View


def _look(view: View) -> Iterator[Finding]:
    waiting = {name: scheduled for pod, scheduled in view.pending() for name in pod.claims}
    for claim in view.training.claims:
        if claim.phase == "Missing" and claim.name in waiting:
            scheduled = waiting[claim.name]
            yield Finding(
                RULE.code,
                f"persistentvolumeclaim/{claim.name}",
                f"there is no claim {claim.name} in namespace {view.namespace}",
                "create it, or name another in the params (data.claim, log.claim) and upgrade",
                scheduled.message,
                scheduled.since,
            )


RULE = Rule(
    code="TFD109",
    about="a claim that the pods name is not there",
    why="The values name a claim of your own, and it does not exist in this namespace.",
    evidence="The scheduler says `persistentvolumeclaim … not found`, and no claim has that name.",
    mend="Create the claim; pods start by themselves then. Or correct its name and upgrade.",
    look=_look,
)
