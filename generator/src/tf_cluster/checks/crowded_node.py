"""Many tasks, and claims that keep all of them on one node."""

from collections.abc import Iterator

from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.placement import keepers, on_one_node
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted

CROWDED_NODE = Code(
    "TFC402",
    "claims of one node, and more workers than it is likely to take (advice)",
    why=(
        "A ReadWriteOnce claim, as the preset small has, is mounted by one node, so all tasks run "
        "there. Those that do not fit wait, and the training does not start without them."
    ),
    wrong="workers: 200",
    right=("preset: medium\nworkers: 200"),
)

MOST_WORKERS = 32
"""One node is not likely to take more."""
_WORKERS: Pointer = ("worker", "replicas")


def check(params: Params) -> Iterator[Finding]:
    """Advice on more workers than one node takes, where all have to be on one."""
    workers = params.value_at(_WORKERS)
    if not isinstance(workers, int) or workers <= MOST_WORKERS:
        return
    if not on_one_node(params.effective):
        return
    where = params.origin_of(_WORKERS)
    of_file = [at for at in map(params.origin_of, keepers(params.effective)) if at != PRESET]
    if not of_file:
        keeps = f"the preset {preset_name(params.sound)}"
        fix = "preset: medium has claims that several nodes can mount"
    elif of_file[0][-1] == "accessModes":
        keeps = dotted(of_file[0])
        fix = f"{keeps}: [ReadWriteMany] is a claim that several nodes can mount"
    else:
        keeps = dotted(of_file[0])
        fix = f"leave {keeps} out, and take claims that several nodes can mount"
    message = f"{dotted(where)} is {workers}, and {keeps} keeps all of them on one node"
    yield params.finding(where, CROWDED_NODE, message, workers, fix, "advice")
