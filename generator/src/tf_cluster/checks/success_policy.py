"""worker.successPolicy first is for runs that worker 0 ends."""

from collections.abc import Iterator

from tf_cluster.checks.interactive import ENABLED as INTERACTIVE
from tf_cluster.expand.roles import has_chief
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NOT_THE_FIRST = Code(
    "TFC328",
    "the workers' Job would end with worker 0, but a chief ends the run",
    why=(
        "When worker 0 ends, Kubernetes would end the other workers while the chief still "
        "drives them."
    ),
    wrong="extraValues: {worker: {successPolicy: first}}",
    right="extraValues: {worker: {successPolicy: all}}",
)

POLICY: Pointer = ("worker", "successPolicy")


def check(params: Params) -> Iterator[Finding]:
    """A finding if worker 0 would end the Job while a chief still needs the workers."""
    if params.value_at(INTERACTIVE):
        return  # it has no chief, and is refused as a whole
    if params.value_at(POLICY) == "first" and has_chief(params.effective):
        where = params.origin_of(POLICY)
        message = f"{dotted(where)} is first, but a chief ends this run"
        yield params.finding(where, NOT_THE_FIRST, message, "first", "set it to all")
