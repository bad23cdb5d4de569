"""A quota refuses pods that ask for nothing."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about_event

_MISSING = re.compile(r"failed quota: (?P<quota>[^:]+): must specify (?P<what>.*)$", re.DOTALL)


def _look(view: View) -> Iterator[Finding]:
    for event in view.refusals():
        if found := _MISSING.search(event.message):
            yield Finding(
                RULE.code,
                about_event(event),
                f"quota {found['quota']} refuses pods that do not say {found['what'].strip()}",
                "set them in the params (resources.ROLE.requests and .limits), or have a "
                f"LimitRange with defaults made in namespace {view.namespace}",
                event.message,
                event.at,
            )


RULE = Rule(
    code="TFD102",
    about="a quota asks for requests or limits that a pod does not have",
    why="A ResourceQuota that counts an amount refuses every pod that does not say it, unless a "
    "LimitRange of the namespace fills it in.",
    evidence="An event FailedCreate with the words `must specify`.",
    mend="Say the amounts for every role in the params' `resources`, or have a LimitRange with "
    "defaults made.",
    look=_look,
)
