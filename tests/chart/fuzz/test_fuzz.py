"""What the chart takes a real API server takes: values files drawn over the schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, event, given, note, seed

from tests.chart.fuzz.api import ApiServer, asks_for_more
from tests.chart.fuzz.files import values_files
from tests.chart.helm import CHART, RefusedError, template
from tests.slices import sliced
from tests.support.drawing import draws

# 2,000 in all; each takes Helm a process and the server a dozen requests.
PARTS, FILES = 40, 50


@pytest.mark.cluster
@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_what_the_chart_takes_an_api_server_takes(
    part: int, servers: tuple[ApiServer, ApiServer]
) -> None:
    @seed(part)
    @draws(FILES)
    @given(values_files())
    def take(values: dict[str, Any]) -> None:
        found = complaints(values, *servers)
        assert not found, "\n".join(found)

    take()


def complaints(values: dict[str, Any], restricted: ApiServer, free: ApiServer) -> list[str]:
    """What the server says to what the chart renders; values that the chart refuses are no case."""
    server = free if asks_for_more(values) else restricted
    try:
        text = template.__wrapped__(
            json.dumps(values, ensure_ascii=False), "digits", server.namespace, str(CHART)
        ).text
    except RefusedError as error:
        event(str(error)[:60])
        assume(False)
    note(json.dumps(values))
    return server.objections(text)
