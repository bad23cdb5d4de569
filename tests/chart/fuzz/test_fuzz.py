"""What the chart takes a real API server takes: values files drawn over the schema."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, Phase, assume, event, given, note, seed, settings

from tests.chart.fuzz.api import ApiServer
from tests.chart.fuzz.files import values_files
from tests.chart.helm import CHART, LOADER, RefusedError, template
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace
from tests.slices import sliced

# 2,000 in all; each takes Helm a process and the server a dozen requests.
PARTS, FILES = 40, 50


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


@pytest.mark.cluster
@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_what_the_chart_takes_an_api_server_takes(
    part: int, servers: tuple[ApiServer, ApiServer]
) -> None:
    @seed(part)
    @settings(
        max_examples=FILES,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(values_files())
    def take(values: dict[str, Any]) -> None:
        found = complaints(values, *servers)
        assert not found, "\n".join(found)

    take()


def complaints(values: dict[str, Any], restricted: ApiServer, free: ApiServer) -> list[str]:
    """What the server says to what the chart renders; values that the chart refuses are no case."""
    server = free if _asks_for_more(values) else restricted
    try:
        text = template.__wrapped__(
            json.dumps(values, ensure_ascii=False), "digits", server.namespace, str(CHART)
        ).text
    except RefusedError as error:
        event(str(error)[:60])
        assume(False)
    note(json.dumps(values))
    said = []
    for document in documents(text):
        obj = yaml.load(document, LOADER)
        if obj["kind"] in server.absent:
            continue
        if obj["kind"] == "Pod":
            said.append(server.refuses_pod(obj["metadata"]["name"], obj))
            continue
        said.append(server.refuses(document))
        if "template" in obj.get("spec", {}):
            said.append(server.refuses_pod(obj["metadata"]["name"], obj["spec"]["template"]))
    return [words for words in said if words]


def documents(text: str) -> list[str]:
    """The YAML documents of a rendering."""
    return [part for part in text.split("\n---\n") if yaml.load(part, LOADER)]


MORE = ("podSecurityContext", "containerSecurityContext", "securityContext", "extraVolumes")


def _asks_for_more(values: Any) -> bool:
    """Whether the values may leave what Pod Security `restricted` lets in."""
    if isinstance(values, dict):
        return any(key in MORE or _asks_for_more(part) for key, part in values.items())
    return isinstance(values, list) and any(_asks_for_more(part) for part in values)
