"""A value that is none of its choices is told, with all of them, wherever a schema has choices."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tf_cluster.check import check
from tf_cluster.params.schema_files import params_schema, resolved, values_schema
from tf_cluster.pointer import json_pointer

FILE = {"name": "digits", "image": "registry.example/trainer:1", "program": {"module": "a:B"}}


def choices(
    node: dict[str, Any], schema: dict[str, Any], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    """Keys of mappings that have choices, with them."""
    node = resolved(node, schema)
    if "enum" in node:
        yield path, node["enum"]
    for key, inner in node.get("properties", {}).items():
        yield from choices(inner, schema, (*path, key))


CHOICES = {
    ".".join(path): (path, words)
    for path, words in (
        *choices(params_schema(), params_schema()),
        *((("extraValues", *path), one) for path, one in choices(values_schema(), values_schema())),
    )
}


def test_there_are_choices_that_are_no_texts() -> None:
    kinds = {type(word) for _, words in CHOICES.values() for word in words}
    assert {str, bool} <= kinds


@pytest.mark.parametrize("name", CHOICES)
def test_what_is_none_of_the_choices_is_told_with_them(name: str) -> None:
    path, words = CHOICES[name]
    for wrong in ("9x9", f"{words[0]}q", f"q{str(words[-1]).upper()}"):
        value: Any = wrong
        for key in reversed(path):
            value = {key: value}
        found = check("p.yaml", json.dumps({**FILE, **value}).encode()).findings
        told = [one.message for one in found if json_pointer(one.pointer) == json_pointer(path)]
        written = [word if isinstance(word, str) else json.dumps(word) for word in words]
        assert [message for message in told if all(word in message for word in written)], found
