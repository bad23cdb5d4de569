"""Params files drawn over the schema of params, with extraValues over the chart's, and code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import tf_cluster
import yaml
from hypothesis import strategies as st
from tf_cluster.expand.expand import expand
from tf_cluster.findings.finding import errors
from tf_cluster.params.schema_files import params_schema
from tf_cluster.params.values import PRESET

from tests.chart.fuzz import files
from tests.chart.fuzz.programs import Drawn, coin, drawn_code
from tests.chart.fuzz.schema import Draw, Draws, Schema
from tests.chart.helm import merged

SCHEMA: Schema = params_schema()
IMAGE = "registry.example/team/trainer:1.0"

# Not drawn over the schema of params, and what draws them.
OWN = {
    "name": "a few names",
    "program": "code beside the file, or PROGRAMS",
    "extraValues": "the chart's schema",
    "strategy": "COMBINATIONS",
    "replication": "COMBINATIONS",
    "update": "COMBINATIONS",
}
KEYS = sorted(SCHEMA["properties"].keys() - OWN.keys())
NAMES = ("a", "digits", "mnist-2", "a" * 40)

_URL = "https://example.com/team/code"
# Programs whose code the tool does not have.
PROGRAMS: tuple[Mapping[str, Any], ...] = (
    {"module": "team.train:Net"},
    {"module": "train:Net", "path": "/data/code"},
    {"script": "/data/train.py"},
    {"script": "train.py", "path": "/data/code", "args": ["--steps", "3"], "ps": "script"},
    {"script": "train.py", "source": {"url": f"{_URL}.zip", "sha256": "AB" * 32}, "ps": "server"},
    {"module": "train:Net", "source": {"git": f"{_URL}.git", "commit": "ab" * 20}, "path": "src"},
    {
        "module": "train:Net",
        "source": {"url": f"{_URL}.tar.gz", "sha256": "ab" * 32, "secretName": "login"},
    },
)
# What a value of the chart needs in a params file: without it the value is for nothing.
BESIDE: Mapping[str, Mapping[str, Any]] = {
    "tensorboard": {"tensorboard": True},
    "notebook": {"notebook": True},
    "evaluator": {"evaluator": True},
    "scheduling.gang.minMember": {"scheduling": {"gang": {"provider": "volcano"}}},
    "scheduling.gang.timeoutSeconds": {"scheduling": {"gang": {"provider": "coscheduling"}}},
    "train.optimizer.schedule.decaySteps": {
        "train": {"optimizer": {"schedule": {"name": "linear"}}}
    },
}


@dataclass(frozen=True)
class ParamsFile:
    """A drawn params file: its text, what it says, and the code beside it."""

    text: str
    params: Mapping[str, Any]
    code: Drawn


@st.composite
def params_files(draw: Draw, must: str = "") -> ParamsFile:
    """Params files that the schema of params takes.

    `must` is what each of them has: a key of params, or the path of a value of the chart.
    """
    code = _code(draw, must)
    params: dict[str, Any] = {"name": draw(st.sampled_from(NAMES)), "image": IMAGE, **code.params}
    having = [one for one in files.COMBINATIONS if must in one] or files.COMBINATIONS
    combination = draw(st.sampled_from(having))
    params |= {key: word for key, word in combination.items() if draw(st.integers(0, 9))}
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=6, unique=True))
    for key in [*([must] if must in KEYS else []), *keys]:
        if key not in code.params:
            params[key] = DRAWS.value(draw, SCHEMA["properties"][key])
    params |= BESIDE.get(must, BESIDE.get(must.split(".")[0], {}))
    params |= {"extraValues": extra} if (extra := _extra_values(draw, params, must)) else {}
    params = json.loads(json.dumps(params))
    if not code.missed and draw(st.sampled_from((True, True, False))):
        params = _without_faults(params, code)
    return ParamsFile(draw(st.sampled_from(_WRITERS))(params), params, code)


def _code(draw: Draw, must: str) -> Drawn:
    """Code and the keys about it, or a program whose code the tool does not have."""
    within = must.removeprefix("program.")
    if must == within and draw(st.sampled_from((True, True, False))):
        return drawn_code(draw)
    having = [one for one in PROGRAMS if must == within or has(one, within)]
    return Drawn({}, {"program": draw(st.sampled_from(having))}) if having else drawn_code(draw)


def has(values: Any, path: str) -> bool:
    """Whether there is a value at a path, which may be null."""
    for key in path.split("."):
        if not isinstance(values, Mapping) or key not in values:
            return False
        values = values[key]
    return True


def _extra_values(draw: Draw, params: Mapping[str, Any], must: str) -> dict[str, Any]:
    """Values of the chart; most of the time none that another key sets."""
    first = [must] if must in files.PATHS else []
    if not first and coin(draw):
        return {}
    paths = draw(st.lists(st.sampled_from(files.PATHS), max_size=4, unique=True))
    extra: dict[str, Any] = {}
    said = [] if draw(st.integers(0, 19)) == 0 else _said(params)
    for path in [*first, *paths]:
        if not any(_around(path, other) for other in said):
            drawn = files.DRAWS.value(draw, files.LEAVES[path])
            extra = merged(extra, files.nested(path, drawn))
    return extra


def _without_faults(params: dict[str, Any], code: Drawn) -> dict[str, Any]:
    """Without the values that the tool refuses, so that what is left may be taken."""
    found = tf_cluster.validate(json.dumps(params), read=code.files)
    for one in errors(found):
        holder: Any = params
        path = [*takewhile(lambda key: isinstance(key, str), one.pointer)]
        for key in path[:-1]:
            holder = holder.get(key, {}) if isinstance(holder, dict) else {}
        if path and path[-1] not in OWN and isinstance(holder, dict):
            holder.pop(path[-1], None)
    return params


def _said(params: Mapping[str, Any]) -> list[str]:
    """The paths of the chart's values that the keys of a params file set."""
    program = dict(params["program"])
    program.pop("source", None)  # names of files, where the tool has their texts by now
    origins = expand({**params, "program": program}).origins
    return [".".join(map(str, path)) for path, origin in origins.items() if origin != PRESET]


def _around(path: str, other: str) -> bool:
    return f"{path}.".startswith(f"{other}.") or f"{other}.".startswith(f"{path}.")


class _Quoting(yaml.SafeDumper):
    """Writes every text in quotes, and nothing twice as an alias."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Quoting.add_representer(
    str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def _json(params: Mapping[str, Any]) -> str:
    return json.dumps(params, ensure_ascii=False)


def _ascii(params: Mapping[str, Any]) -> str:
    return json.dumps(params, indent=2)


def _yaml(params: Mapping[str, Any]) -> str:
    return yaml.dump(params, Dumper=_Quoting, sort_keys=False, allow_unicode=True)


_WRITERS = (_json, _ascii, _yaml)


def _resources(draw: Draw) -> dict[str, Any]:
    """Requests and limits that go together."""
    schema = SCHEMA["definitions"]["resources"]
    amounts = PLAIN.value(draw, schema["properties"]["limits"])
    limits = {name: amount for name, amount in amounts.items() if coin(draw)}
    return {"requests": amounts, "limits": limits}


PLAIN = Draws(SCHEMA)
DRAWS = Draws(SCHEMA, {"resources": _resources})
