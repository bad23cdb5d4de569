"""Values drawn over the schema of charts/tf-serving: each is refused in words, or renders whole."""

from __future__ import annotations

import json
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import assume, given, seed
from hypothesis import strategies as st

from tests.chart.fuzz.schema import Draw, Draws, Schema
from tests.chart.helm import RefusedError, merged
from tests.chart.tf_serving.features import FEATURES
from tests.chart.tf_serving.helm import SERVING, render
from tests.chart.tf_serving.test_configs import official, parsed
from tests.slices import sliced
from tests.support.drawing import draws
from tools.chart.values_docs import read_values

SCHEMA: Schema = json.loads((SERVING / "values.schema.json").read_text())
DRAWS = Draws(SCHEMA)
# 700 in all; each takes Helm a process.
PARTS, FILES = 20, 35


def leaves() -> dict[tuple[str, ...], Schema]:
    """The schema of every value by its path; `global` is other charts', too."""
    found = {}
    for value in read_values((SERVING / "values.yaml").read_text()):
        part = SCHEMA
        for step in value.path:
            part = part["properties"][step]
        if not value.is_section and value.path[0] != "global":
            found[value.path] = part
    return found


LEAVES = leaves()


@st.composite
def values_files(draw: Draw) -> dict[str, Any]:
    """A feature's values, with one or two others."""
    values: dict[str, Any] = draw(st.sampled_from(list(FEATURES.values())))
    paths = st.lists(st.sampled_from(sorted(LEAVES)), min_size=1, max_size=2, unique=True)
    for path in draw(paths):
        value = DRAWS.value(draw, LEAVES[path])
        for step in reversed(path):
            value = {step: value}
        values = merged(values, value)
    return values


@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_what_is_drawn_is_refused_in_words_or_renders_whole(part: int) -> None:
    @seed(part)
    @draws(FILES)
    @given(values_files())
    def take(values: dict[str, Any]) -> None:
        # Other characters are YAML's matter, not this chart's.
        assume(all(" " <= letter <= "~" for letter in json.dumps(values, ensure_ascii=False)))
        try:
            rendered = render(values)
        except RefusedError as error:
            for words in ("executing", "nil pointer", "YAML parse", "meet the specifications"):
                assert words not in str(error)
            return
        (config,) = rendered.all("ConfigMap")
        files = config["data"]
        text_format.Parse(files["models.config"], official.ModelServerConfig())
        for name, message in (
            ("batching.config", "BatchingParameters"),
            ("monitoring.config", "MonitoringConfig"),
        ):
            if name in files:
                parsed(message, files[name])

    take()
