"""The servers that drawn releases are shown to."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

from tests.chart.fuzz.api import ApiServer
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace


@pytest.fixture(scope="module")
def servers(
    kube_cluster: Any, namespace: Namespace, namespace_factory: Callable[..., Any]
) -> tuple[ApiServer, ApiServer]:
    """In a namespace that enforces Pod Security `restricted`, and in one that lets all in."""
    free = f"{namespace.name}-free"
    namespace_factory(free)
    client, absent = kube_cluster.kube_client, absent_kinds(namespace)
    if absent:
        warnings.warn(f"this cluster is not asked about {', '.join(sorted(absent))}", stacklevel=1)
    return ApiServer(client, namespace.name, absent), ApiServer(client, free, absent)
