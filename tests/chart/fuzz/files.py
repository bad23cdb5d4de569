"""Values files of the chart: a training that goes together, and any of its values drawn."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.chart.fuzz.schema import Draw, Draws, Schema
from tests.chart.helm import CHART, LEAST, merged
from tools.chart.values_docs import read_values

SCHEMA: Schema = json.loads((CHART / "values.schema.json").read_text())

# Not drawn, and why.
NOT_DRAWN = {
    "global": "read by no template",
    "extraObjects": "what a user writes there is no object of ours",
    # They go together: TRAININGS.
    "strategy": "",
    "replication": "",
    "update": "",
    "program.module": "",
    "program.script": "",
    "program.args": "",
    "program.ps": "",
    "program.path": "",
    "program.source.files": "",
    "program.source.url": "",
    "program.source.sha256": "",
    "program.source.git": "",
    "program.source.commit": "",
    "image.repository": "",
}

_URL = "https://example.com/team/code"
COMBINATIONS = [
    {},
    {"update": "sync"},
    {"replication": "between-graph"},
    {"replication": "between-graph", "update": "sync"},
    {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"},
]
PROGRAMS = [
    {},
    {"module": "", "script": "/data/train.py"},
    {"module": "", "script": "train.py", "path": "/data/code"},
    {"source": {"git": f"{_URL}.git", "commit": "ab" * 20}, "path": "src"},
    {"source": {"url": f"{_URL}.zip", "sha256": "AB" * 32}},
    {"source": {"files": {"train.py": "import this\n", "a b/c.py": ""}}},
]

# Parts that make nothing until several values go together: the section, and what switches it on.
_ROUTED = {
    "enabled": True,
    "ingress": {"enabled": True},
    "httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}]},
}
SWITCHED_ON: list[tuple[str, dict[str, Any]]] = [
    ("tensorboard", {"tensorboard": _ROUTED}),
    ("notebook", {"notebook": _ROUTED}),
    (
        "monitoring",
        {
            "monitoring": {"podMonitor": {"enabled": True}, "rules": {"enabled": True}},
            "security": {"networkPolicy": {"statusFrom": [{"podSelector": {}}]}},
        },
    ),
]


def leaves(schema: Schema = SCHEMA) -> dict[str, Schema]:
    """The schema of every value that values.yaml documents, by its path."""
    found = {}
    for value in read_values((CHART / "values.yaml").read_text()):
        part = schema
        for step in value.path:
            part = part["properties"][step]
        if not value.is_section:
            found[".".join(value.path)] = part
    return found


@st.composite
def values_files(draw: Draw) -> dict[str, Any]:
    """Values files that the schema takes."""
    values = merged(LEAST, draw(st.sampled_from(COMBINATIONS)))
    values = merged(values, {"program": draw(st.sampled_from(PROGRAMS))})
    paths = draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=12, unique=True))
    if draw(st.booleans()):
        section, on = draw(st.sampled_from(SWITCHED_ON))
        values = merged(values, on)
        below = [path for path in PATHS if path.startswith(f"{section}.")]
        below = [path for path in below if not path.endswith(".enabled")]
        paths += draw(st.lists(st.sampled_from(below), max_size=8, unique=True))
    for path in paths:
        values = merged(values, nested(path, DRAWS.value(draw, LEAVES[path])))
    return values


def _resources(draw: Draw) -> dict[str, Any]:
    """Requests and limits that go together; amounts of any form."""
    limits = PLAIN.value(draw, {"$ref": "#/definitions/quantities"})
    requests = {name: amount for name, amount in limits.items() if draw(st.booleans())}
    return {"limits": limits, "requests": requests}


PLAIN = Draws(SCHEMA)
DRAWS = Draws(SCHEMA, {"resources": _resources})
LEAVES = leaves()
PATHS = sorted(LEAVES.keys() - NOT_DRAWN.keys())


def nested(path: str, value: Any) -> dict[str, Any]:
    for step in reversed(path.split(".")):
        value = {step: value}
    return dict(value)
