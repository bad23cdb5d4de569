"""What the generator packages is what the other parts use, and every validator judges it alike."""

from __future__ import annotations

import importlib
import json
import pkgutil
import re
from collections.abc import Iterator
from typing import Any

import pytest
import tf_cluster
from jsonschema import Draft7Validator
from tf_cluster import __version__
from tf_cluster.check import check
from tf_cluster.checks import CODES
from tf_cluster.expand.expand import in_chart_order
from tf_cluster.expand.preset import PRESETS
from tf_cluster.findings.finding import Code
from tf_cluster.params.schema_files import chart_values, params_schema, resolved, values_schema
from tf_cluster.params.schema_violations import violations
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.versions import CHART_RANGE, PARAMS_SCHEMA

from tests.generator.conftest import ROOT
from tests.generator.helm_reader import HelmReader

CHART = ROOT / "charts" / "tf-cluster"
TRAINER_SCHEMAS = ROOT / "trainer" / "src" / "tf_cluster_trainer" / "schemas"
BOUNDS = ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")


def test_the_version_is_the_one_of_the_package() -> None:
    project = (ROOT / "generator" / "pyproject.toml").read_text()
    assert f'\nversion = "{__version__}"\n' in project


def test_the_chart_is_in_the_range_we_write_for() -> None:
    chart = (CHART / "Chart.yaml").read_text()
    version = re.search(r"^version: (\S+)$", chart, re.MULTILINE)
    assert version is not None
    assert version.group(1).startswith(CHART_RANGE.removesuffix("x"))


def test_the_chart_values_we_read_are_the_ones_helm_reads(helm_reader: HelmReader) -> None:
    read = helm_reader.read((CHART / "values.yaml").read_text())

    # Helm drops keys that are null where the chart it renders declares none
    assert json.dumps(_without_nulls(read), sort_keys=True) == json.dumps(
        _without_nulls(chart_values()), sort_keys=True
    )


def _without_nulls(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _without_nulls(v) for k, v in data.items() if v is not None and k != "global"}
    return data


def test_the_charts_own_values_fit_its_schema() -> None:
    assert violations(chart_values(), values_schema()) == []


def test_the_params_schema_is_a_valid_schema_of_its_version() -> None:
    Draft7Validator.check_schema(params_schema())
    assert params_schema()["$id"] == PARAMS_SCHEMA


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for value in schema.values():
            yield from _nodes(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _nodes(value)


@pytest.mark.parametrize("schema", [params_schema(), values_schema()], ids=["params", "values"])
def test_a_schema_keeps_to_what_python_and_go_judge_alike(schema: dict[str, Any]) -> None:
    for node in _nodes(schema):
        if isinstance(node.get("pattern"), str):
            assert not re.search(r"\(\?|\\[pPwdsbAzZ]", node["pattern"]), node["pattern"]
        assert not isinstance(node.get("multipleOf"), float)
        if isinstance(node.get("$ref"), str):
            assert node["$ref"].startswith("#/")


def test_every_object_of_the_params_schema_is_closed() -> None:
    root = params_schema()
    for path, node in root["properties"].items():
        if node.get("type") == "object" and path not in ("flags", "extraValues"):
            assert node["additionalProperties"] is False, path
    assert root["additionalProperties"] is False


def test_every_pattern_says_its_form_in_words() -> None:
    for node in _nodes(params_schema()):
        if isinstance(node.get("pattern"), str):
            assert node.get("x-form"), node


def _resolved(node: dict[str, Any]) -> dict[str, Any]:
    return dict(resolved(node, values_schema()))


def _patterns(node: dict[str, Any], path: Pointer = ()) -> Iterator[Pointer]:
    """Where the chart's schema has a pattern without words."""
    node = _resolved(node)
    for rules in (node, _resolved(node.get("propertyNames", {}))):
        if "pattern" in rules and "x-form" not in rules:
            yield path
    for key, inner in node.get("properties", {}).items():
        yield from _patterns(inner, (*path, key))
    for key, part in (("items", 0), ("additionalProperties", "key")):
        if isinstance(node.get(key), dict):
            yield from _patterns(node[key], (*path, part))


def test_every_pattern_of_the_chart_has_words() -> None:
    """When it has none: give it an x-form."""
    assert [dotted(path) for path in _patterns(values_schema())] == []


def test_a_trailing_newline_does_not_slip_through_a_pattern() -> None:
    wrong = violations({"name": "a\n", "program": {"module": "p:C\n"}}, params_schema())

    assert [m.path for m in wrong] == [("name",), ("program", "module")]


def test_presets_of_the_schema_and_of_the_code_are_the_same() -> None:
    assert params_schema()["properties"]["preset"]["enum"] == list(PRESETS)


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_preset_decides_only_what_the_chart_declares(preset: str) -> None:
    assert violations(PRESETS[preset], values_schema()) == []
    assert in_chart_order(PRESETS[preset], chart_values()).keys() <= chart_values().keys()


def test_every_code_has_a_title_and_a_place_in_the_list() -> None:
    modules = [name for _, name, _ in pkgutil.walk_packages(tf_cluster.__path__, "tf_cluster.")]
    named = [
        value
        for module in modules
        if not module.endswith("__main__")
        for value in vars(importlib.import_module(module)).values()
        if isinstance(value, Code)
    ]

    assert {*named} - {*CODES} == set(), "in no list of checks/__init__.py"
    assert {*named} == {*CODES}
    assert len({(code, code.about) for code in named if code.about}) == len(CODES)


def _keys(schema: dict[str, Any], node: dict[str, Any], path: str = "") -> Iterator[str]:
    if "$ref" in node:
        node = schema["definitions"][node["$ref"].rpartition("/")[2]]
    for key, inner in node.get("properties", {}).items():
        yield f"{path}{key}"
        yield from _keys(schema, inner, f"{path}{key}.")


def test_every_key_is_in_the_docs() -> None:
    text = (ROOT / "docs" / "params.md").read_text()
    words = {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.split(r"[.<>]", code)}

    for key in _keys(params_schema(), params_schema()):
        assert key.rpartition(".")[2] in words, key


def _numbers(node: dict[str, Any], path: Pointer = ()) -> Iterator[tuple[Pointer, Any]]:
    """Where the schema of params takes numbers, with the largest that it takes."""
    if "$ref" in node:
        node = params_schema()["definitions"][node["$ref"].rpartition("/")[2]]
    if node.get("type") in ("integer", "number"):
        yield path, node.get("maximum", 1e300)
    for key, inner in node.get("properties", {}).items():
        yield from _numbers(inner, (*path, key))


@pytest.mark.parametrize(
    ("path", "largest"), list(_numbers(params_schema())), ids=lambda part: str(part)
)
def test_the_largest_number_that_params_take_is_taken_by_the_chart(
    path: Pointer, largest: float
) -> None:
    """Else `check` raises BugError. Numbers beyond are told."""
    number: Any = largest
    for key in reversed(path):
        number = {key: number}
    params = {"name": "a", "image": "i", "program": {"module": "p:C"}}

    check("p.yaml", json.dumps({**params, **number}).encode())
    too_large = json.dumps({**params, **number}).replace(json.dumps(largest), "1e299")
    told = check("p.yaml", too_large.encode()).findings
    assert largest > 2**53 or [f for f in told if f.pointer == path]


def test_a_training_value_has_the_same_bounds_in_params_values_and_training_json() -> None:
    training = json.loads((TRAINER_SCHEMAS / "training.schema.json").read_text())
    params, values, trained = (
        dict(_leaves(schema, schema["properties"]["train"]))
        for schema in (params_schema(), values_schema(), training)
    )

    assert params == values
    # Who reads training.json has Python's integers: the ceilings are JSON's and Kubernetes'.
    assert _without_ceilings(trained) == _without_ceilings(values)


def _leaves(schema: Any, at: Any, path: str = "train") -> Iterator[tuple[str, Any]]:
    """Each key of a section and what it may hold, null aside: it is another form of not given."""
    at = {**at, **schema["definitions"][at["$ref"].rpartition("/")[2]]} if "$ref" in at else at
    if "properties" in at:
        for name, below in at["properties"].items():
            yield from _leaves(schema, below, f"{path}.{name}")
        return
    types = at.get("type", [])
    kinds = {types} if isinstance(types, str) else set(types)
    choices = [choice for choice in at.get("enum", []) if choice is not None]
    bounds = {word: at[word] for word in BOUNDS if word in at}
    yield path, {"types": kinds - {"null"}, "choices": choices, **bounds}


def _without_ceilings(leaves: dict[str, Any]) -> dict[str, Any]:
    ceilings = (2**31 - 1, 2**53 - 1)
    return {
        path: {word: bound for word, bound in leaf.items() if bound not in ceilings}
        for path, leaf in leaves.items()
    }
