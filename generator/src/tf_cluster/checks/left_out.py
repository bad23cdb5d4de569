"""Only an umbrella chart can leave the chart out, and a params file is of a training."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

LEFT_OUT = Code(
    "TFC334",
    "the chart itself is left out",
    why=(
        "`enabled` is how an umbrella chart leaves this chart out. Here nothing would be installed."
    ),
    wrong="extraValues: {enabled: false}",
    right="# nothing: a file is installed as it is",
)

_ENABLED: Pointer = ("enabled",)


def check(params: Params) -> Iterator[Finding]:
    """A finding if the values say that the chart is not wanted."""
    if params.value_at(_ENABLED) is False:
        where = params.origin_of(_ENABLED)
        message = f"{dotted(where)} is false: only an umbrella chart can leave this chart out"
        yield params.finding(where, LEFT_OUT, message, False, "remove the line")
