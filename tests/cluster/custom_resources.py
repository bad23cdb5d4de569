"""Which kinds of others' APIs a cluster lacks. `python -m tools.machine apis` gives ours all."""

from __future__ import annotations

import functools
import json

from tests.chart.helm import APIS
from tests.cluster.kubernetes import CommandError, Namespace


@functools.cache
def absent_kinds(namespace: Namespace) -> frozenset[str]:
    """The kinds that the chart makes where a cluster has them, and that this one has not."""
    return frozenset(api.rpartition("/")[2] for api in APIS if not _is_served(namespace, api))


def _is_served(namespace: Namespace, api: str) -> bool:
    version, _, kind = api.rpartition("/")
    try:
        found = json.loads(namespace.kubectl("get", f"--raw=/apis/{version}"))
    except CommandError as error:
        if "NotFound" in str(error):
            return False
        raise
    return any(resource["kind"] == kind for resource in found["resources"])
