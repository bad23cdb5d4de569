"""The namespace's quota has no room for a pod."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about_event

_EXCEEDED = re.compile(r"exceeded quota: (?P<quota>[^,\s]+), (?P<amounts>.*)$", re.DOTALL)


def _look(view: View) -> Iterator[Finding]:
    for event in view.refusals():
        if found := _EXCEEDED.search(event.message):
            yield Finding(
                RULE.code,
                about_event(event),
                f"quota {found['quota']} is used up: {found['amounts'].strip()}",
                f"kubectl -n {view.namespace} describe resourcequota {found['quota']}, then end "
                "another training, ask for less, or have the quota raised",
                event.message,
                event.at,
            )


RULE = Rule(
    code="TFD101",
    about="a quota is used up",
    why="The namespace has a ResourceQuota, and the pod would exceed it. Kubernetes does not make "
    "the pod, and tries again later and later, up to every ten minutes or so.",
    evidence="An event FailedCreate of the Job or ReplicaSet with the words `exceeded quota`.",
    mend="End another training, ask for less (params: `resources`), or have the quota raised.",
    look=_look,
)
