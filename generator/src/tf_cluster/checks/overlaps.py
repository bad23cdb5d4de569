"""Values that both extraValues and another key set."""

from collections.abc import Iterator

from tf_cluster.expand.expand import expand, leaves
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted

SAID_TWICE = Code(
    "TFC310",
    "extraValues sets what another key sets",
    why=("Two places that say the same thing differ one day, and a reader sees only one of them."),
    wrong=("workers: 2\nextraValues: {worker: {replicas: 3}}"),
    right="workers: 3",
)


def check(params: Params) -> Iterator[Finding]:
    """A finding for each value of extraValues that another key sets, too."""
    plain = {key: value for key, value in params.sound.items() if key != "extraValues"}
    if "extraValues" not in params.sound or plain == params.sound:
        return
    said = {
        path: origin
        for path, origin in expand(plain).origins.items()
        if origin != PRESET and (origin != ("strategy",) or path == origin)
    }
    inside: dict[Pointer, Pointer] = {}
    for path, origin in said.items():
        for end in range(len(path)):
            inside.setdefault(path[:end], origin)
    for path, value in leaves(params.sound["extraValues"]):
        around = (said[path[:end]] for end in range(1, len(path) + 1) if path[:end] in said)
        other = next(around, None) or inside.get(path)
        if other:
            message = f"extraValues.{dotted(path)} sets again what {dotted(other)} sets"
            where: Pointer = ("extraValues", *path)
            yield params.finding(where, SAID_TWICE, message, value, "keep one of them")
