"""No step for long."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about, log_time
from tf_cluster.progress.line import read_line

STILL_SECONDS = 600
_TIMES = 10
"""Longer than a step usually takes."""


def _look(view: View) -> Iterator[Finding]:
    for pod in view.training.client_pods()[:1]:
        if pod.has_ended:
            continue
        said = [
            (at, progress, line)
            for line in pod.log
            if (progress := read_line(line))
            and progress.step is not None
            and (at := log_time(line))
        ]
        if not said or said[-1][1].status != "running":
            continue
        last, progress, line = said[-1]
        since = next((at for at, one, _ in said if one.step == progress.step), last)
        usual = _TIMES / progress.steps_per_second if progress.steps_per_second else 0.0
        still = view.seconds_since(since)
        if still > max(STILL_SECONDS, usual):
            yield Finding(
                RULE.code,
                about(pod),
                f"no step for {still / 60:.0f} minutes, at {progress.step} of {progress.total}",
                f"tf-cluster logs {view.training.name} -n {view.namespace} --since 15m: which task "
                "says least? A dataset that waits for its source is the usual cause",
                line.partition(" ")[2],
                since,
            )


RULE = Rule(
    code="TFD120",
    about="no step for long",
    why="The client runs and says nothing new: a task hangs, or the data does not come.",
    evidence="The same step in the client's log for ten minutes, and for ten times as long as a "
    "step usually takes.",
    mend="Look which task says least. A worker that hangs may be deleted: its pod is replaced.",
    look=_look,
)
