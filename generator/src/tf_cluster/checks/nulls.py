"""Nulls in extraValues."""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.expand.expand import leaves
from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_files import chart_values
from tf_cluster.params.schema_violations import CHART_REFUSES
from tf_cluster.pointer import Pointer, dotted, value_at

REMOVES = "is null, which removes what the chart needs there"
FIX = "leave it out, or give a value"
_TAKES_NULL = {"resources", "podSecurityContext", "containerSecurityContext"}


def check(params: Params) -> Iterator[Finding]:
    """A finding for each null that would remove a value that the chart needs."""
    for path in nulls(params.sound.get("extraValues", {})):
        message = f"extraValues.{dotted(path)} {REMOVES}"
        where = ("extraValues", *path)
        yield params.finding(where, CHART_REFUSES, message, fix=FIX)


def nulls(values: Mapping[str, Any]) -> Iterator[Pointer]:
    """Where values of the chart are null and must not be."""
    for path, value in leaves(values):
        needed = value_at(chart_values(), path) is not None
        if value is None and needed and not _TAKES_NULL & {*path}:
            yield path
