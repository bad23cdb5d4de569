"""Settings of a new claim beside the name of an existing one, and of a claim that there is not."""

from collections.abc import Iterable, Iterator
from typing import Any

from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import TWO_FORMS
from tf_cluster.pointer import Pointer, dotted

_CLAIM_SETTINGS = ("volumeName", "storageClassName", "annotations", "selector", "dataSource")
_DATA: Pointer = ("storage", "data", "enabled")


def check(params: Params) -> Iterator[Finding]:
    """Findings on settings that have no effect."""
    has_data = params.value_at(_DATA) is not False
    if not has_data:
        yield from _without_data(params)
    for volume in ("data", "log") if has_data else ("log",):
        claim: Pointer = ("storage", volume, "existingClaim")
        if not params.value_at(claim):
            continue
        named = dotted(params.origin_of(claim))
        for where, setting in _set(params, volume, _CLAIM_SETTINGS):
            message = (
                f"{dotted(where)} is for a claim that the chart makes, {named} names one that "
                "exists"
            )
            yield params.finding(where, TWO_FORMS, message, setting, "keep one of them")


def _without_data(params: Params) -> Iterator[Finding]:
    named = dotted(params.origin_of(_DATA))
    for where, setting in _set(params, "data", (*_CLAIM_SETTINGS, "existingClaim", "subPath")):
        message = (
            f"{dotted(where)} is for a data volume, but {named} is false: /data is an empty "
            "directory"
        )
        yield params.finding(where, TWO_FORMS, message, setting, "keep one of them")


def _set(params: Params, volume: str, keys: Iterable[str]) -> Iterator[tuple[Pointer, Any]]:
    """Those of a volume's keys that have a value: where that stands, and the value."""
    for key in keys:
        path: Pointer = ("storage", volume, key)
        if setting := params.value_at(path):
            yield params.values.origin_around(path), setting
