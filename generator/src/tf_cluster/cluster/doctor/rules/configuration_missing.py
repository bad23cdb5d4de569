"""A Secret or ConfigMap that a pod needs is not there."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about

_ABSENT = re.compile(r"(?P<kind>secret|configmap) \"(?P<name>[^\"]+)\" not found", re.IGNORECASE)
_NO_KEY = re.compile(r"couldn't find key (?P<key>\S+) in (?P<kind>Secret|ConfigMap) (?P<name>\S+)")
_ROOT = "image will run as root"


def _look(view: View) -> Iterator[Finding]:
    for pod in view.pods():
        said = [
            one.message for one in pod.containers if one.waits_for == "CreateContainerConfigError"
        ]
        event = None
        if not said and pod.node and not (pod.main and pod.main.is_running):
            event = next(view.pod_events(pod, "FailedMount"), None)
            said = [event.message] if event else []
        for words in said[:1]:
            found = _ABSENT.search(words) or _NO_KEY.search(words)
            at = event.at if event else pod.created
            if found:
                what = f"{found['kind'].lower()} {found['name'].rpartition('/')[2]}"
                key = (
                    f" has no key {found['key']}" if "key" in found.groupdict() else " is not there"
                )
                yield Finding(
                    RULE.code,
                    about(pod),
                    f"{what}{key}",
                    f"kubectl -n {view.namespace} get {what}; create it, or correct its name",
                    words,
                    at,
                )
            elif not event:
                yield Finding(RULE.code, about(pod), _other(words), _MEND_OTHER, words, at)


def _other(words: str) -> str:
    if _ROOT in words:
        return "the image runs as root, which the pod does not allow"
    return f"the container can't be made: {words}"


_MEND_OTHER = (
    "correct what the values say of it; security.podSecurityContext.runAsUser names another user"
)

RULE = Rule(
    code="TFD112",
    about="a Secret or ConfigMap, or a key of it, is not there",
    why="The pod names a Secret or a ConfigMap, in env, envFrom or a volume, that this namespace "
    "does not have; or the image's user is root where the pod forbids it.",
    evidence="CreateContainerConfigError, or an event FailedMount, with the name.",
    mend="Create it, or correct its name: pods go on by themselves.",
    look=_look,
)
