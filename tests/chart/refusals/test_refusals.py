"""The chart, with both versions of Helm, and the tool refuse the same values, and take the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tf_cluster.check import check
from tf_cluster.pointer import json_pointer

from tests.chart.helm import HELMS, LEAST, refusal, render
from tests.chart.refusals.cases import CASES, Values
from tests.cluster.kubernetes import Namespace

# Many cases share one.
NEIGHBOURS = {json.dumps(case.instead): name for name, case in CASES.items()}.values()


def findings(values: Values) -> list[str]:
    """What the tool says, `CODE pointer`, of a params file with these values as extraValues.

    A script stands in the file itself: the tool wants one program.
    """
    program: dict[str, Any] = dict(LEAST["program"])
    extra = json.loads(json.dumps(values))
    if "script" in extra.get("program", {}):
        program = {key: text for key, text in extra.pop("program").items() if text}
    image = f"{LEAST['image']['repository']}:1"
    params = {"name": "digits", "image": image, "program": program, "extraValues": extra}
    if "fullnameOverride" in extra:
        params["name"] = extra.pop("fullnameOverride")
    if extra.get("evaluator"):
        params["evaluator"] = True
    found = check("p.yaml", json.dumps(params).encode()).findings
    return [f"{finding.code} {json_pointer(finding.pointer)}" for finding in found]


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("name", CASES)
def test_helm_refuses(name: str, helm: str) -> None:
    case = CASES[name]
    assert case.chart in refusal(case.values, helm=helm)


@pytest.mark.parametrize("name", CASES)
def test_the_tool_refuses(name: str) -> None:
    case = CASES[name]
    found = findings(case.values)
    assert [finding for finding in found if finding.startswith(case.tool)], found


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_helm_takes_the_neighbour(name: str, helm: str) -> None:
    render(CASES[name].instead, helm=helm)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_tool_takes_the_neighbour(name: str) -> None:
    assert findings(CASES[name].instead) == []


@pytest.mark.cluster
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_an_api_server_takes_the_neighbour(name: str, namespace: Namespace) -> None:
    manifest = render(CASES[name].instead, namespace=namespace.name).text
    namespace.kubectl(
        "apply",
        "--dry-run=server",
        "--server-side",
        "--warnings-as-errors",
        "--filename=-",
        stdin=manifest,
    )
