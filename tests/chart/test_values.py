"""values.yaml, its schema, its documentation and the templates say the same."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tests.chart.helm import CHART
from tools.chart.value_lint import findings, templates_of, used_values
from tools.chart.values_docs import ROLES, outputs, read_values

VALUES = (CHART / "values.yaml").read_text()
SCHEMA = json.loads((CHART / "values.schema.json").read_text())


def test_every_value_is_used_and_every_used_value_is_declared() -> None:
    assert findings(templates_of(CHART), VALUES) == []


def test_the_lint_sees_the_pod_values_of_a_role() -> None:
    template = """
        {{- $pod := include "tf-cluster.podValues" . | fromJson -}}
        {{ $pod.resources }} {{ include "tf-cluster.pod.env" . }} {{ .pod.extraEnv }}
    """
    values = "pod:\n  # -- Used.\n  extraEnv: []\n  # -- Forgotten.\n  affinity: {}\n"
    assert findings([template], values + "ps:\n  # -- Used.\n  resources: {}\n") == [
        "pod.affinity is declared in values.yaml and used by no template"
    ]


def test_the_lint_sees_a_value_that_nobody_uses() -> None:
    values = "a:\n  # -- Used.\n  b: 1\n  # -- Forgotten.\n  c: 1\n"
    assert findings(["{{ .Values.a.b }}"], values) == [
        "a.c is declared in values.yaml and used by no template"
    ]


def test_the_lint_sees_a_value_that_nobody_declared() -> None:
    values = "a:\n  # -- Used.\n  b: 1\n"
    assert findings(["{{ .Values.a.b }}{{ $.Values.a.d }}"], values) == [
        "a.d is used by a template and not declared in values.yaml"
    ]


def test_the_lint_follows_variables_and_chosen_sections() -> None:
    template = """
        {{- define "x" -}}
        {{- $values := get .root.Values .role -}}
        {{ $values.resources }} {{ (get $.Values $role | default dict).extraEnv }}
        {{- end -}}
        {{- define "y" -}}
        {{ $values.notAValue }} {{ (.Values.a | default dict).b }}
        {{- end -}}
    """
    assert set(used_values(template)) == {
        ("<role>", "resources"),
        ("<role>", "extraEnv"),
        ("a", "b"),
    }


def test_the_lint_sees_fields_that_a_loop_passes_through() -> None:
    template = """
        {{- $values := get .root.Values .role -}}
        {{- range $field := list "nodeSelector" "tolerations" }}
        {{- with get $values $field }}
        {{- dict $field . | toYaml | nindent 2 }}
        {{- end }}
        {{- end }}
    """
    assert {("<role>", "nodeSelector"), ("<role>", "tolerations")} <= set(used_values(template))


@pytest.mark.parametrize("path", outputs(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_file_is_written_from_the_comments_of_values(path: Path) -> None:
    assert path.read_text() == outputs()[path], "python -m tools.chart.values_docs"


def _keys(node: Any, documented: set[tuple[str, ...]], path: tuple[str, ...] = ()) -> Iterator[Any]:
    for key, child in node.items():
        here = (*path, key)
        if path in documented and path not in SECTIONS:
            return
        yield here
        if isinstance(child, dict):
            yield from _keys(child, documented, here)


SECTIONS = {value.path for value in read_values(VALUES) if value.is_section}


def test_every_value_has_a_comment() -> None:
    documented = {value.path for value in read_values(VALUES)}
    assert [p for p in _keys(yaml.safe_load(VALUES), documented) if p not in documented] == []


def schema_keys(node: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, child in node.get("properties", {}).items():
        yield (*path, key)
        yield from schema_keys(child, (*path, key))


def test_the_schema_describes_exactly_what_is_declared() -> None:
    declared = {value.path for value in read_values(VALUES)}
    of_pods = {
        (role, path[1])
        for role in ROLES
        if (role,) in declared  # the pod of `helm test` has the defaults alone
        for path in declared
        if path[:1] == ("pod",) != path
    }
    assert set(schema_keys(SCHEMA)) == declared | of_pods


def test_the_defaults_are_valid() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(yaml.safe_load(VALUES))


# What is the user's.
OPEN = {
    "properties/global",
    "properties/flags",
    "properties/extraObjects/items",
    "properties/extraObjects/items/properties/metadata",
}


def schema_nodes(node: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        yield "/".join(place), node
        for key, child in node.items():
            yield from schema_nodes(child, (*place, key))


def hold_closed(
    schema: dict[str, Any], left_open: Collection[str] = frozenset({"properties/global"})
) -> None:
    """No object of a chart's schema takes keys that it does not name, but those left open."""
    for place, node in schema_nodes(schema):
        if node.get("type") == "object":
            closed = "additionalProperties" in node
            assert closed != (place in left_open), place


def test_every_object_of_the_schema_is_closed() -> None:
    hold_closed(SCHEMA, OPEN)


def test_the_schema_keeps_to_what_both_validators_read_alike() -> None:
    text = json.dumps(SCHEMA)
    for construct in ("(?=", "(?!", "(?<", "\\\\p{", "\\\\w", "\\\\d", "multipleOf"):
        assert construct not in text, construct
    for place, node in schema_nodes(SCHEMA):
        assert not isinstance(node.get("format"), str), place
        assert node.get("$ref", "#").startswith("#")
