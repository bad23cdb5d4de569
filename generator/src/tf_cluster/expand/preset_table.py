"""What each preset decides, beside the chart's default where it decides nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tf_cluster.expand.expand import expand, key_of, leaves
from tf_cluster.expand.merge import merged
from tf_cluster.expand.preset import DEFAULT_PRESET, PRESETS
from tf_cluster.expand.quantity import quantity
from tf_cluster.expand.roles import TASKS, absent_roles
from tf_cluster.params.schema_files import chart_values
from tf_cluster.pointer import Pointer, dotted, value_at

_GIBIBYTE = 1024**3


@dataclass(frozen=True)
class Preset:
    """One preset: by key of the params file what it decides, and the chart's default elsewhere.

    The defaults are those of keys that another preset decides. `cpu` and `memory` are what all
    tasks of a training with nothing but this preset ask for.
    """

    name: str
    decides: Mapping[str, Any]
    leaves_open: Mapping[str, Any]
    cpu: Fraction
    memory: Fraction


def presets() -> list[Preset]:
    """All presets, the smallest first."""
    paths = dict.fromkeys(path for one in PRESETS.values() for path, _ in leaves(one))
    ordered = [path for path, _ in leaves(chart_values()) if path in paths]
    return [_preset(name, ordered) for name in PRESETS]


def _preset(name: str, paths: list[Pointer]) -> Preset:
    own = dict(leaves(PRESETS[name]))
    both = merged(chart_values(), PRESETS[name])
    return Preset(
        name,
        {dotted(key_of(path)): own[path] for path in paths if path in own},
        {dotted(key_of(path)): value_at(both, path) for path in paths if path not in own},
        *(_asked(expand({"preset": name}).effective, what) for what in ("cpu", "memory")),
    )


def _asked(values: Mapping[str, Any], what: str) -> Fraction:
    """How much all tasks of these values ask for."""
    absent = absent_roles(values)
    return sum(
        (
            (values[role].get("replicas") or 1)
            * quantity(str(values[role]["resources"]["requests"][what]))
            for role in TASKS
            if role not in absent
        ),
        Fraction(0),
    )


def preset_text() -> str:
    """The presets as a table for people."""
    listed = presets()
    rows = [["", *(one.name for one in listed)]]
    keys = [*listed[0].decides, *listed[0].leaves_open]
    for key in sorted(keys, key=lambda key: key.startswith("resources.")):
        rows.append([key, *(_cell(one, key) for one in listed)])
    rows.append(["all tasks ask for", *(f"{float(one.cpu):g} CPU" for one in listed)])
    rows.append(["", *(f"{float(one.memory / _GIBIBYTE):g}Gi" for one in listed)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([*lines, "", *_NOTES, ""])


_NOTES = (
    "(In brackets): the chart's default, which the preset leaves as it is.",
    f"Without the key preset it is {DEFAULT_PRESET}. What the file says itself wins, key by key.",
    "ReadWriteOnce keeps all pods that mount the claim on one node.",
)


def _cell(preset: Preset, key: str) -> str:
    if key in preset.decides:
        return _short(preset.decides[key])
    return f"({_short(preset.leaves_open[key])})"


def _short(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def preset_json() -> str:
    """The presets as JSON. `version` changes when a reader would break."""
    document = {
        "version": 1,
        "default": DEFAULT_PRESET,
        "presets": {
            one.name: {
                "decides": one.decides,
                "chartDefaults": one.leaves_open,
                "requests": {"cpu": float(one.cpu), "memoryBytes": int(one.memory)},
            }
            for one in presets()
        },
    }
    return json.dumps(document, indent=2) + "\n"
