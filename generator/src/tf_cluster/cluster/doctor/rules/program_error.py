"""The program or its configuration is wrong."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.progress.document import read_message

PROGRAM_ERROR = 2


def _look(view: View) -> Iterator[Finding]:
    for pod in view.training.pods_of(view.training.attempt):
        main = pod.main
        ended = main.ended if main else None
        if ended is None or ended.exit_code != PROGRAM_ERROR:
            continue
        document = read_message(ended.message)
        said = document.message if document else _last_line(ended.message)
        yield Finding(
            RULE.code,
            about(pod),
            f"{pod.task} ended with exit code 2, the program or its configuration is wrong: {said}",
            f"tf-cluster logs {view.training.name} -n {view.namespace} --role {pod.role} --tail 50 "
            "shows the rest; correct it and upgrade",
            ended.message if document is None else document.message,
            ended.at,
        )


def _last_line(message: str) -> str:
    return next((line for line in reversed(message.splitlines()) if line.strip()), "see its log")


RULE = Rule(
    code="TFD115",
    about="the program or its configuration is wrong",
    why="A task ended with exit code 2: to try again would not help, so its Job failed at once.",
    evidence="The exit code, and the message that the task left.",
    mend="What the message says. `tf-cluster validate` finds most of it before anything starts.",
    look=_look,
)
