"""A container can't be started."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about

_WAITS = ("RunContainerError", "CreateContainerError")
_ENDS = ("StartError", "ContainerCannotRun")


def _look(view: View) -> Iterator[Finding]:
    for pod in view.relevant():
        for one in pod.containers:
            ended = one.ended or one.before
            is_start = ended is not None and ended.reason in _ENDS
            if one.waits_for in _WAITS or (is_start and not one.is_running):
                said = one.message or (ended.message if ended else "")
                at = ended.at if ended else pod.created
                yield Finding(
                    RULE.code,
                    about(pod),
                    f"container {one.name} can't be started",
                    "check the command, the image (is it for this node's processor?) and "
                    "pod.runtimeClassName",
                    said,
                    at,
                )


RULE = Rule(
    code="TFD113",
    about="a container can't be started",
    why="The container runtime can't start the program: it is not in the image, is for another "
    "processor, or the runtime class is not on the node.",
    evidence="RunContainerError, CreateContainerError or StartError, with the runtime's words.",
    mend="What the runtime says. The trainer's own images have the command `tf-trainer`.",
    look=_look,
)
