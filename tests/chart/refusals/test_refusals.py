"""The chart, with both versions of Helm, and the tool refuse the same values, and take the same."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from tf_cluster.check import check
from tf_cluster.checks.env import (
    NOTEBOOK_VARIABLES,
    RESERVED_VARIABLE_PREFIX,
    RESERVED_VARIABLES,
)
from tf_cluster.checks.labels import RESERVED_LABEL_PREFIX, RESERVED_LABELS
from tf_cluster.checks.nulls import NEEDED
from tf_cluster.pointer import json_pointer

from tests.chart.helm import CHART, HELMS, LEAST, RefusedError, Rendered, merged, template
from tests.chart.refusals.cases import CASES, Values, nested
from tests.chart.refusals.guard_cases import GUARD_CASES, GUARDS, TAKEN
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace
from tests.slices import one_each, sliced
from tools.chart.values_docs import read_values

ALL = CASES | GUARD_CASES
# One of each message and code of the guards' cases: a rendering takes Helm longer than us.
ASKED_OF_HELM = [
    *CASES,
    *{(case.chart, case.tool.split()[0]): name for name, case in GUARD_CASES.items()}.values(),
]
# Many cases share one.
NEIGHBOURS = TAKEN | {
    f"beside {name}": params
    for name, params in {
        json.dumps(case.instead): (name, case.instead) for name, case in ALL.items()
    }.values()
}


def params_file(params: Values) -> bytes:
    """The least params file with these keys; a null leaves a key out."""
    image = f"{LEAST['image']['repository']}:1"
    file = {"name": "digits", "image": image, "program": LEAST["program"], **params}
    if params.keys() == {"extraValues"}:
        file |= _as_keys(json.loads(json.dumps(params["extraValues"])))
    return json.dumps({key: value for key, value in file.items() if value is not None}).encode()


def _as_keys(extra: Values) -> Values:
    """Values that the file's own keys stand for: a script, since the tool wants one program."""
    keys: dict[str, Any] = {"extraValues": extra}
    if "script" in (extra.get("program") or {}):
        keys["program"] = {key: text for key, text in extra.pop("program").items() if text}
    if "fullnameOverride" in extra:
        keys["name"] = extra.pop("fullnameOverride")
    if extra.get("evaluator"):
        keys["evaluator"] = True
    return keys


def findings(params: Values) -> list[str]:
    """What the tool says of a params file with these keys, `CODE pointer`, advice aside."""
    found = check("p.yaml", params_file(params)).findings
    return [f"{one.code} {json_pointer(one.pointer)}" for one in found if one.severity != "advice"]


def rendered(params: Values, helm: str = "helm", namespace: str = "training") -> Rendered:
    """What the chart makes of the values: of extraValues alone as they are. Raises RefusedError."""
    if params.keys() <= {"extraValues"}:
        values = merged(LEAST, params.get("extraValues", {}))
    else:
        values = check("p.yaml", params_file(params)).values.data
    return template(json.dumps(values), "digits", namespace, str(CHART), helm)


@pytest.mark.parametrize(("name", "helm"), one_each(ASKED_OF_HELM, HELMS))
def test_helm_refuses(name: str, helm: str) -> None:
    with pytest.raises(RefusedError) as refused:
        rendered(ALL[name].params, helm)
    assert ALL[name].chart in str(refused.value)


@pytest.mark.parametrize("name", ALL)
def test_the_tool_refuses(name: str) -> None:
    found = findings(ALL[name].params)
    assert [finding for finding in found if finding.startswith(ALL[name].tool)], found


@pytest.mark.parametrize(
    "name", [name for name, case in ALL.items() if case.guard not in ("", "null")]
)
def test_the_tool_says_it_once(name: str) -> None:
    assert len(findings(ALL[name].params)) == 1


@pytest.mark.parametrize(("name", "helm"), one_each([*NEIGHBOURS], HELMS))
def test_helm_takes_the_neighbour(name: str, helm: str) -> None:
    rendered(NEIGHBOURS[name], helm)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_the_tool_takes_the_neighbour(name: str) -> None:
    assert findings(NEIGHBOURS[name]) == []


def test_every_guard_of_the_chart_has_a_case() -> None:
    (listed,) = re.findall(r"range \$guard := list\s+([^}]*?) -?\}\}", GUARDS)
    guards = {*re.findall(r'"(\w+)"', listed), "pods", "scheduling", "size"}
    # They ask the cluster, which the tool can't: tests/chart/monitoring and kubernetes.
    guards -= {"operator", "versions"}
    assert guards == {case.guard for case in ALL.values() if case.guard}


def test_what_must_not_be_null_is_the_charts_list() -> None:
    (listed,) = re.findall(r"range \$path := list\n(.*?) \}\}", GUARDS, re.DOTALL)
    assert re.findall(r'"([\w.]+)"', listed) == NEEDED


def test_other_defaults_can_be_removed_with_null() -> None:
    """As with null for cleanup.delaySeconds.failure, whose meaning values.yaml tells."""
    values: Values = {}
    for value in read_values((CHART / "values.yaml").read_text()):
        path = ".".join(value.path)
        of_the_file = path == "fullnameOverride" or path.startswith(("image.", "program."))
        if not value.is_section and path not in NEEDED and not of_the_file:
            values = merged(values, nested(path, None))
            assert findings({"extraValues": nested(path, None)}) == [], path
    assert findings({"extraValues": values}) == []
    rendered({"extraValues": values})


def test_the_reserved_words_are_the_charts() -> None:
    for word in (*RESERVED_VARIABLES, *NOTEBOOK_VARIABLES, *RESERVED_LABELS):
        assert f'"{word}"' in GUARDS
    for prefix in (RESERVED_VARIABLE_PREFIX, RESERVED_LABEL_PREFIX):
        assert f'hasPrefix "{prefix}"' in GUARDS
    (labels,) = re.findall(r"\$reserved := list\s+([^}]*?) \}\}", GUARDS)
    assert set(re.findall(r'"(.*?)"', labels)) == set(RESERVED_LABELS)


@pytest.fixture(scope="module")
def where_root_may_run(namespace: Namespace, namespace_factory: Callable[..., Any]) -> Namespace:
    """A namespace that enforces Pod Security `baseline`, not `restricted`."""
    baseline = f"{namespace.name}-baseline"
    enforced = {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}
    namespace_factory(baseline, extra_metadata=enforced)
    return dataclasses.replace(namespace, name=baseline)


@pytest.mark.cluster
@pytest.mark.parametrize("name", sliced([*NEIGHBOURS], 60))
def test_an_api_server_takes_the_neighbour(
    name: str, namespace: Namespace, where_root_may_run: Namespace
) -> None:
    if '"runAsUser": 0' in json.dumps(NEIGHBOURS[name]):
        namespace = where_root_may_run
    neighbour = rendered(NEIGHBOURS[name], namespace=namespace.name)
    namespace.kubectl(
        "apply",
        "--dry-run=server",
        "--server-side",
        "--warnings-as-errors",
        "--filename=-",
        stdin=neighbour.for_a_dry_run(absent_kinds(namespace)),
    )
