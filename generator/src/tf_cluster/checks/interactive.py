"""An interactive cluster runs no program, and a params file names one."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

INTERACTIVE = Code(
    "TFC360",
    "an interactive cluster, which trains no program",
    why=(
        "An interactive cluster waits for a client and trains no program. Its values are "
        "written by hand."
    ),
    wrong="extraValues: {interactive: {enabled: true}}",
    right="# nothing: values-examples/interactive.values.yaml is such a cluster, for helm",
)

ENABLED: Pointer = ("interactive", "enabled")


def check(params: Params) -> Iterator[Finding]:
    """A finding if the values ask for a cluster without a chief."""
    if params.value_at(ENABLED) is True:
        where = params.origin_of(ENABLED)
        message = f"{dotted(where)} is true: a client drives the tasks, and they run no program"
        fix = "leave it out; values-examples/interactive.values.yaml is such a cluster, for helm"
        yield params.finding(where, INTERACTIVE, message, True, fix)
