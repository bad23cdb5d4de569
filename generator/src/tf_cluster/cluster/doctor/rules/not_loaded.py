"""A server of models can't load a version."""

import re
from collections.abc import Iterator

from tf_cluster.cluster import labels
from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.rules.server_ends import ends_again_and_again
from tf_cluster.cluster.doctor.view import View, about, log_time

# As TensorFlow Serving writes it: retrier.cc and loader_harness.cc of release 2.21.0.
_FAILED = re.compile(r"Loading servable: \{name: (\S+) version: (\d+)\} failed: (.*)")
_OVER = re.compile(
    r"(?:Successfully loaded servable version|Done unloading servable version|"
    r"Retrying of Loading servable:) \{name: (\S+) version: (\d+)\}(?:$| was cancelled)"
)


def _look(view: View) -> Iterator[Finding]:
    release, where = view.training.name, view.namespace
    for pod in view.pods():
        if pod.role != labels.SERVING or ends_again_and_again(pod):
            continue
        for (model, version), line in _failing(pod.log).items():
            why = line.partition(" failed: ")[2]
            yield Finding(
                RULE.code,
                about(pod),
                f"{model} {version} can't be loaded: {why}",
                f"take that version away, or export it anew under a higher number; kubectl -n "
                f"{where} rollout restart deployment {release} tries it once more, where the disk "
                "is mended",
                line.partition(" ")[2],
                log_time(line),
            )


def _failing(lines: tuple[str, ...]) -> dict[tuple[str, str], str]:
    """The last line of a failed load by model and version, unless it was loaded or left since."""
    found: dict[tuple[str, str], str] = {}
    for line in lines:
        if over := _OVER.search(line):
            found.pop((over[1], over[2]), None)
        elif failed := _FAILED.search(line):
            found[failed[1], failed[2]] = line
    return found


RULE = Rule(
    code="TFD129",
    about="a server of models can't load a version",
    why="A server that runs goes on with the versions that it has when a new one can't be loaded. "
    "It tries again for minutes, calls that LOADING, and then leaves it until it starts anew. With "
    "the policy `latest` the next pod that starts ends on it (TFD127).",
    evidence="`Loading servable: … failed` in the server's log, and no later line that it was "
    "loaded or left.",
    mend="Take the version away, or export it anew under a higher number. `serve` and `publish` "
    "check a version before any server sees it; what the evaluator finds best is served unchecked.",
    look=_look,
)
