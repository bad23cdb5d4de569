"""A server of models ends at its start, again and again."""

from collections.abc import Iterator

from tf_cluster.cluster import labels
from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.cluster.snapshot import Pod

SOME = 2
"""Restarts that are no accident any more."""
_LINES = 3


def ends_again_and_again(pod: Pod) -> bool:
    """Whether a server has ended with an error more than once, and does not serve now."""
    main = pod.main
    last = main.last_end if main else None
    if pod.role != labels.SERVING or main is None or last is None or pod.is_ready:
        return False
    return main.restarts >= SOME and bool(last.exit_code) and last.reason != "OOMKilled"


def _look(view: View) -> Iterator[Finding]:
    release, where = view.training.name, view.namespace
    for pod in view.pods():
        main = pod.main
        last = main.last_end if main else None
        if not main or not last or not ends_again_and_again(pod):
            continue
        yield Finding(
            RULE.code,
            about(pod),
            f"the server has ended {main.restarts} times at its start, with exit code "
            f"{last.exit_code}: a version that it has to load is broken, most likely the newest",
            f"kubectl -n {where} logs {pod.name} --previous names it: take it away, or serve a "
            f"good one (tf-cluster serve NAME --version N --release {release} --install)",
            "; ".join(last.message.splitlines()[-_LINES:]),
            last.at,
        )


RULE = Rule(
    code="TFD127",
    about="a server of models ends at its start, again and again",
    why="A server that runs overlooks a broken new version. One that starts ends when a version "
    "that it has to load is not loaded, so with the policy `latest` a broken newest version keeps "
    "all new pods from starting: an autoscaler makes that an outage.",
    evidence="Restarts of the container `serving`, and the end of its log before.",
    mend="Take the broken version away, or serve one that is good, by number. `serve` and "
    "`publish` check a version before any server sees it.",
    look=_look,
)
