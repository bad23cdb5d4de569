"""The sizes of the claims that the chart makes."""

from collections.abc import Iterator

from tf_cluster.expand.quantity import MEGABYTE, quantity
from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import OUT_OF_RANGE
from tf_cluster.params.wording import excerpt
from tf_cluster.pointer import Pointer, dotted


def check(params: Params) -> Iterator[Finding]:
    """Findings on sizes without a unit or with thousands of digits, which no pattern refuses."""
    for volume in ("data", "log"):
        path: Pointer = ("storage", volume, "size")
        size = params.value_at(path)
        try:
            if size is None or quantity(size) >= MEGABYTE:
                continue
            wrong = "; at least 1M is needed"
        except ValueError:  # thousands of digits
            wrong = ", which is too long for a number"
        where = params.origin_of(path)
        message = f"{dotted(where)} is {excerpt(size)}{wrong}"
        fix = "as in 500Mi, 5Gi or 1Ti"
        yield params.finding(where, OUT_OF_RANGE, message, size, fix)
