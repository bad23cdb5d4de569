"""A task had not enough memory."""

import re
from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import LOG_SECONDS, View, about
from tf_cluster.cluster.snapshot import Container

_CHILD_KILLED = re.compile(r"(?:ended by|killed by|died of) (?:signal 9|SIGKILL)", re.IGNORECASE)
_MEND = (
    "raise resources.{role}.limits.memory in the params, or use a smaller batch; tf-cluster plan "
    "--program says what a role needs"
)


def _look(view: View) -> Iterator[Finding]:
    for pod in view.relevant():
        mend = _MEND.format(role=pod.role)
        for one in pod.containers:
            ends = (one.ended, one.before if _is_news(view, one) else None)
            ended = next((end for end in ends if end and end.reason == "OOMKilled"), None)
            if ended:
                words = f"{pod.task} was killed: it had not enough memory"
                quote = f"container {one.name}: OOMKilled, exit code {ended.exit_code}"
                yield Finding(RULE.code, about(pod), words, mend, quote, ended.at)
                break
        else:
            killed = [line for line in view.log(pod) if _CHILD_KILLED.search(line)]
            if killed:
                words = (
                    f"the process of {pod.task} was killed by signal 9, most likely out of memory"
                )
                quote = killed[-1].partition(" ")[2]
                yield Finding(RULE.code, about(pod), words, mend, quote, None)


def _is_news(view: View, container: Container) -> bool:
    """Whether the end of the container before is not long over."""
    before = container.before
    is_old = before is not None and view.seconds_since(before.at) > LOG_SECONDS
    return not (is_old and container.is_ready)


RULE = Rule(
    code="TFD116",
    about="a task had not enough memory",
    why="The container, or the training's process in it, used more than its limit and was killed. "
    "The task starts again and goes on from the newest checkpoint, and is killed again.",
    evidence="OOMKilled as the reason of the container's end, or the supervisor's line that its "
    "process was ended by signal 9.",
    mend="Raise the role's memory limit. `tf-cluster plan --program` and "
    "[docs/planning.md](planning.md) say what a role needs.",
    look=_look,
)
