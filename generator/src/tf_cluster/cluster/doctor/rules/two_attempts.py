"""Two attempts of a training are alive."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View

USUAL_SECONDS = 600


def _look(view: View) -> Iterator[Finding]:
    newest, *older = view.training.attempts() or [""]
    for attempt in older:
        alive = [
            pod for pod in view.training.pods_of(attempt) if not pod.has_ended and not pod.deleted
        ]
        made = [job.created for job in view.jobs() if job.created]
        if not alive or not made or view.seconds_since(max(made)) < USUAL_SECONDS:
            continue
        name = view.training.name
        yield Finding(
            RULE.code,
            f"pod/{alive[0].name}",
            f"attempt {attempt} still has {len(alive)} pods beside the newer {newest}",
            f"a failed upgrade: helm -n {view.namespace} rollback {name}; else uninstall what is "
            f"left of it: kubectl -n {view.namespace} delete jobs,deployments --selector "
            f"app.kubernetes.io/instance={name},tf-cluster.io/attempt={attempt}",
            f"pods of attempt {attempt}: {', '.join(pod.name for pod in alive[:5])}",
            alive[0].created,
        )


RULE = Rule(
    code="TFD123",
    about="two attempts of a training are alive",
    why="An upgrade that changes pods makes a new attempt, and the old one hands the run over to "
    "it. If both are there for long, an upgrade failed half-way, or Argo CD does not prune.",
    evidence="Pods of an older attempt run ten minutes after the newer one was made.",
    mend="`helm rollback` after a failed upgrade; with Argo CD a sync that prunes.",
    look=_look,
)
