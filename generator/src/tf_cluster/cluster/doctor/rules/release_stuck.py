"""Helm was killed in the middle of an install or upgrade, or it failed."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View

USUAL_SECONDS = 600
_BEFORE = {
    "pending-install": "install",
    "pending-upgrade": "upgrade",
    "pending-rollback": "rollback",
}


def _look(view: View) -> Iterator[Finding]:
    namespace, name = view.namespace, view.training.name
    if view.training.managed_by.startswith("argocd:"):
        return  # it keeps no such record: one that is there is old
    for release in view.snapshot.releases:
        if (release.namespace, release.name) != (namespace, name):
            continue
        is_old = view.seconds_since(release.created) > USUAL_SECONDS
        verb = _BEFORE.get(release.status)
        if verb and is_old:
            words = f"helm {verb} has not ended: it was killed, and Helm refuses the next one"
            mend = f"helm -n {namespace} rollback {name}"
            if verb == "install":
                mend = f"helm -n {namespace} uninstall {name}, then install again (claims are kept)"
        elif release.status == "failed" and _is_half_made(view):
            words = f"its newest revision {release.revision} has failed: parts of it may be there"
            mend = (
                f"helm -n {namespace} rollback {name}, or upgrade again with what was wrong mended"
            )
        else:
            continue
        quote = f"Helm's record of revision {release.revision} has status {release.status}"
        yield Finding(RULE.code, f"release/{name}", words, mend, quote, release.created)


def _is_half_made(view: View) -> bool:
    """Whether the newest attempt lacks its client, or an older one lives beside it.

    Helm also calls a release failed that it only waited too short for.
    """
    newest, *older = view.training.attempts() or [""]
    client = view.training.client()
    alive = any(
        not pod.has_ended and not pod.deleted
        for attempt in older
        for pod in view.training.pods_of(attempt)
    )
    return alive or client is None or client.attempt != newest


RULE = Rule(
    code="TFD126",
    about="Helm was killed in the middle of its work, or failed",
    why="Helm notes what it is about to do. If it is killed then, the note stays, and every later "
    "upgrade says `another operation (install/upgrade/rollback) is in progress`.",
    evidence="The label `status` of the newest Secret in which Helm keeps the release: `pending-…` "
    "for ten minutes, or `failed` beside parts of two attempts.",
    mend="`helm rollback`, or `helm uninstall` after an install that never ended.",
    look=_look,
)
