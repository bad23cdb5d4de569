"""Numbers in `flags` that Helm would round."""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.yaml.helm_scalars import TOO_LARGE_NUMBER

MOST_EXACT = 2**53 - 1
"""Helm reads numbers as float64: a larger one may arrive as another number."""
FLOATS_FROM = 1e21
"""From here on JSON writes a float64 with an exponent, so that it arrives unchanged."""


def check(params: Params) -> Iterator[Finding]:
    """A finding for each of them, unless the reader already has one there."""
    yield from _inside(params, ("flags",), params.effective.get("flags"))


def _inside(params: Params, path: Pointer, value: Any) -> Iterator[Finding]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _inside(params, (*path, key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _inside(params, (*path, index), inner)
    elif (isinstance(value, int) and abs(value) > MOST_EXACT) or (
        isinstance(value, float) and MOST_EXACT < abs(value) < FLOATS_FROM
    ):
        keys = next((i for i, key in enumerate(path) if isinstance(key, int)), len(path))
        where = (*params.origin_of(path[:keys]), *path[keys:])
        spot = dotted(where)
        if any(f.pointer == where for f in params.document.findings):
            return  # the reader has a finding here
        message = f"{spot} is {value}, and Helm keeps numbers exactly only up to {MOST_EXACT}"
        fix = "write it in quotes, as a text, or take a smaller one"
        yield params.finding(where, TOO_LARGE_NUMBER, message, value, fix)
