"""`tf-cluster presets` says what a preset decides, from the one place that decides it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tf_cluster.check import check
from tf_cluster.expand.expand import expand, leaves
from tf_cluster.expand.preset import PRESETS
from tf_cluster.expand.preset_table import preset_json, preset_text
from tf_cluster.pointer import value_at

from tests.generator.conftest import Command

GOOD = {"name": "a", "image": "r/i:1", "program": {"module": "p.m:C"}}


def _nested(flat: dict[str, Any]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in flat.items():
        inner = data
        *around, last = key.split(".")
        for part in around:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return data


@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_keys_of_the_table_are_those_that_say_the_same(preset: str) -> None:
    decides = json.loads(preset_json())["presets"][preset]["decides"]

    said = {**GOOD, "preset": "small", "evaluator": True, **_nested(decides)}
    findings = check("p", json.dumps(said).encode()).findings

    assert findings == ()
    wanted = expand({**GOOD, "preset": preset, "evaluator": True}).data
    assert expand(said).data == wanted


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_default_in_the_table_is_what_the_values_have(preset: str) -> None:
    table = json.loads(preset_json())["presets"][preset]
    effective = expand({**GOOD, "preset": preset}).effective

    assert len(table["decides"]) == len(list(leaves(PRESETS[preset])))
    for key, value in table["chartDefaults"].items():
        role, *rest = key.removeprefix("resources.").split(".")
        assert value_at(effective, (role, "resources", *rest)) == value, key


def test_the_table_fits_a_terminal_and_says_what_all_tasks_ask_for() -> None:
    lines = preset_text().splitlines()

    assert max(map(len, lines)) <= 80
    assert "all tasks ask for" in preset_text()
    assert json.loads(preset_json())["presets"]["medium"]["requests"] == {
        "cpu": 9.5,
        "memoryBytes": 22 * 1024**3,
    }


def test_the_command_prints_both(tf_cluster: Command) -> None:
    assert tf_cluster("presets").stdout == preset_text()
    assert tf_cluster("presets", "--format", "json").stdout == preset_json()
