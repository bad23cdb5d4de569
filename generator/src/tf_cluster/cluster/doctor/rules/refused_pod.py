"""Pod Security or a webhook refuses a pod."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about_event

_SECURITY = re.compile(r"violates PodSecurity \"(?P<level>[^\"]+)\": (?P<what>.*)$", re.DOTALL)
_WEBHOOK = re.compile(
    r"admission webhook \"(?P<name>[^\"]+)\" denied the request:? ?(?P<why>.*)$", re.DOTALL
)
_GONE = re.compile(r"failed calling webhook \"(?P<name>[^\"]+)\": (?P<why>.*)$", re.DOTALL)
_POLICY = re.compile(
    r"(?:AdmissionPolicy|policy) '(?P<name>[^']+)'.* denied request: (?P<why>.*)$", re.DOTALL
)
_OF_OTHER_RULES = ("exceeded quota", "failed quota", " per Container", " per Pod")


def _look(view: View) -> Iterator[Finding]:
    for event in view.refusals():
        if found := _SECURITY.search(event.message):
            words = f"Pod Security {found['level']} refuses the pod: {found['what'].strip()}"
            mend = (
                "take back what the values changed of security.podSecurityContext, "
                "pod.containerSecurityContext or extraVolumes, or use another namespace"
            )
        elif found := _WEBHOOK.search(event.message):
            words = f"webhook {found['name']} refuses the pod: {found['why'].strip()}"
            mend = "ask who runs the webhook; kubectl get validatingwebhookconfigurations shows it"
        elif found := _GONE.search(event.message):
            words = (
                f"webhook {found['name']}, which each pod has to pass, can't be called: "
                f"{found['why'].strip()}"
            )
            mend = (
                "ask who runs the webhook: its server is down, or was removed without its "
                "configuration; kubectl get validatingwebhookconfigurations,"
                "mutatingwebhookconfigurations shows it"
            )
        elif found := _POLICY.search(event.message):
            words = f"admission policy {found['name']} refuses the pod: {found['why'].strip()}"
            mend = "ask who made it: kubectl get validatingadmissionpolicy,mutatingadmissionpolicy"
        elif any(words in event.message for words in _OF_OTHER_RULES):
            continue
        else:
            words, mend = "Kubernetes refuses the pod", "correct what it says of the values"
        yield Finding(RULE.code, about_event(event), words, mend, event.message, event.at)


RULE = Rule(
    code="TFD104",
    about="Pod Security, a webhook or an admission policy refuses the pod",
    why="The namespace's Pod Security level, an admission webhook or an admission policy of "
    "the cluster does not allow the pod as the values make it, or a webhook that has to be asked "
    "does not answer.",
    evidence="An event FailedCreate with the words `violates PodSecurity`, `admission webhook … "
    "denied the request`, `failed calling webhook`, `policy … denied request`, or others that no "
    "rule knows.",
    mend="The chart's own pods are `restricted`: take back what your values changed. Or ask who "
    "runs the webhook or the policy.",
    look=_look,
)
