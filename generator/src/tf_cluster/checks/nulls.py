"""Nulls in extraValues."""

from collections.abc import Iterator

from tf_cluster.expand.expand import leaves
from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_files import chart_values
from tf_cluster.params.schema_violations import CHART_REFUSES
from tf_cluster.pointer import dotted, value_at

_TAKES_NULL = {"resources", "podSecurityContext", "containerSecurityContext"}


def check(params: Params) -> Iterator[Finding]:
    """A finding for each null that would remove a value that the chart needs."""
    for path, value in leaves(params.sound.get("extraValues", {})):
        default = value_at(chart_values(), path)
        if value is None and default is not None and not _TAKES_NULL & {*path}:
            message = (
                f"extraValues.{dotted(path)} is null, which removes what the chart needs there"
            )
            where = ("extraValues", *path)
            yield params.finding(where, CHART_REFUSES, message, fix="leave it out, or give a value")
