"""A LimitRange refuses a pod."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about_event

_BOUND = re.compile(
    r"(?:maximum|minimum) \S+ usage per \w+ is [^,\]]+(?:, but (?:limit|request) is [^,.\]]+)?"
    r"|\S+ max limit to request ratio per \w+ is [^\]]+"
)


def _look(view: View) -> Iterator[Finding]:
    for event in view.refusals():
        if found := _BOUND.findall(event.message):
            yield Finding(
                RULE.code,
                about_event(event),
                f"a LimitRange of the namespace refuses the pod: {'; '.join(found)}",
                f"kubectl -n {view.namespace} describe limitrange, then ask for what it allows "
                "(resources in the params)",
                event.message,
                event.at,
            )


RULE = Rule(
    code="TFD103",
    about="a LimitRange refuses the pod",
    why="The namespace has a LimitRange, and a container asks for more or less than it allows.",
    evidence="An event FailedCreate with the words `maximum … usage per Container is` or the like.",
    mend="Ask for what it allows, in the params' `resources`.",
    look=_look,
)
