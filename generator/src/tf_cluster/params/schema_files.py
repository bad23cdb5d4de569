"""The schemas of params and values, and the chart's own values.

The chart's two files are links to charts/tf-cluster in a checkout, and files in a wheel.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tf_cluster.yaml.reader import read_document

_FOLDER = Path(__file__).parent / "schemas"
_PRINTED = Path(__file__).parents[1] / "cluster" / "schemas"


@cache
def params_schema() -> dict[str, Any]:
    """The schema of params files."""
    return _json("params")


@cache
def values_schema() -> dict[str, Any]:
    """The chart's values.schema.json."""
    return _json("values")


@cache
def chart_values() -> dict[str, Any]:
    """The chart's values.yaml: its defaults and its order. Do not modify it."""
    name = "values.yaml"
    return read_document(name, (_FOLDER / name).read_bytes()).data


def resolved(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a node's `$ref` into the same schema leads to; a node without one itself."""
    while "$ref" in node:
        node = referred(node["$ref"], schema)
    return node


def referred(reference: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node of a schema that a `$ref` names."""
    node = schema
    for key in reference.removeprefix("#/").split("/"):
        node = node[key]
    return node


def types_of(node: Mapping[str, Any]) -> set[str]:
    """The types that a schema takes; empty when it takes any."""
    if "enum" in node:
        return {"string"} if all(isinstance(word, str) for word in node["enum"]) else set()
    types = node.get("type", [])
    return {types} if isinstance(types, str) else {*types}


def one_level(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """A node whose items and properties are resolved, too."""
    known = node.get("properties", {})
    return {
        **node,
        "items": resolved(node.get("items", {}), schema),
        "properties": {key: resolved(one, schema) for key, one in known.items()},
    }


def schema_text(name: str) -> str:
    """The schema of `params` or `values` as it is written."""
    return (_FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")


def printed_schema_text(name: str) -> str:
    """The schema of what a verb prints as JSON: `trainings` of `list`, `training` of `get`, ..."""
    return (_PRINTED / f"{name}.schema.json").read_text(encoding="utf-8")


def _json(name: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(schema_text(name))
    return schema
