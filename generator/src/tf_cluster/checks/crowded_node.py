"""Many tasks by the preset that keeps all of them on one node."""

from collections.abc import Iterator

from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.placement import on_one_node
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

CROWDED_NODE = Code(
    "TFC402",
    "the preset small, and more workers than one node is likely to take (advice)",
    why=(
        "Its claims are mounted by one node, so all tasks run there. Those that do not fit wait, "
        "and the training does not start without them."
    ),
    wrong="workers: 200",
    right=("preset: medium\nworkers: 200"),
)

_SMALL = "small"
_MOST_WORKERS = 32
_WORKERS: Pointer = ("worker", "replicas")


def check(params: Params) -> Iterator[Finding]:
    """Advice on more workers than the preset is made for."""
    workers = params.value_at(_WORKERS)
    if preset_name(params.sound) != _SMALL or not on_one_node(params.effective):
        return
    if workers is not None and workers > _MOST_WORKERS:
        where = params.origin_of(_WORKERS)
        message = (
            f"{dotted(where)} is {workers}, and the preset {_SMALL} keeps all of them on one node"
        )
        fix = "preset: medium has claims that several nodes can mount"
        yield params.finding(where, CROWDED_NODE, message, workers, fix, "advice")
