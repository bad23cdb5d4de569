"""A server of models can't load a version."""

from collections.abc import Iterable, Iterator

from tf_cluster.cluster import labels
from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.rules.server_ends import ends_again_and_again
from tf_cluster.cluster.doctor.view import View, about, log_time
from tf_cluster.cluster.serving.server_log import FAILED_LOAD, LEFT, LOADED
from tf_cluster.cluster.serving.servers import Model


def _look(view: View) -> Iterator[Finding]:
    release, where = view.training.name, view.namespace
    models = {model.name: model for _, model in view.models()}
    for pod in view.pods():
        if pod.role != labels.SERVING or ends_again_and_again(pod):
            continue
        for name, version, line in _failing(pod.log, models):
            why = line.partition(" failed: ")[2]
            yield Finding(
                RULE.code,
                about(pod),
                f"{name} {version} can't be loaded: {why}",
                f"take that version away, or export it anew under a higher number; kubectl -n "
                f"{where} rollout restart deployment {release} tries it once more, where the disk "
                "is mended",
                line.partition(" ")[2],
                log_time(line),
            )


def _failing(lines: Iterable[str], models: dict[str, Model]) -> Iterator[tuple[str, int, str]]:
    """Model, version and the last line of each load that failed, if the version is wanted still."""
    failed: dict[tuple[str, int], str] = {}
    loaded: set[tuple[str, int]] = set()
    for line in lines:
        if found := LOADED.search(line):
            loaded.add((found[1], int(found[2])))
            failed.pop((found[1], int(found[2])), None)
        elif found := LEFT.search(line):
            failed.pop((found[1], int(found[2])), None)
        elif found := FAILED_LOAD.search(line):
            failed[found[1], int(found[2])] = line
    for (name, version), line in failed.items():
        newer = sum(model == name and other > version for model, other in loaded)
        if name in models and _is_wanted(models[name], version, newer):
            yield name, version, line


def _is_wanted(model: Model, version: int, newer: int) -> bool:
    """Whether the policy asks for a version, when so many newer ones have been loaded."""
    if model.loaded:
        return version in model.loaded
    return bool(model.policy.get("all")) or newer < int(model.policy.get("latest") or 1)


RULE = Rule(
    code="TFD129",
    about="a server of models can't load a version",
    why="A server that runs goes on with the versions that it has when a new one can't be loaded. "
    "It tries again for minutes, calls that LOADING, and then leaves it until it starts anew. With "
    "the policy `latest` the next pod that starts ends on it (TFD127).",
    evidence="`Loading servable: … failed` in the server's log, of a version that its policy asks "
    "for, and no later line that it was loaded or left.",
    mend="Take the version away, or export it anew under a higher number. `serve` and `publish` "
    "check a version before any server sees it; what the evaluator finds best is served unchecked.",
    look=_look,
)
