"""Values drawn from shared cases and features: right, or wrong in one or two places."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

from tf_cluster.params.schema_files import values_schema
from tf_cluster.params.schema_violations import violations

from tests.chart.features import FEATURES
from tests.chart.helm import LEAST, merged
from tests.chart.refusals.cases import CASES, Values
from tests.chart.refusals.guard_cases import GUARD_CASES, TAKEN

Place = tuple[Any, ...]

_TRIES = 6
_MOST_TEXT = 2_000  # characters of a case; the larger ones are about size, and slow

# What stands somewhere else in a values file, or nowhere.
SCALARS: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2, 0.5, 1.0, 2.0, 1e3, 65535, 65536, 2**31 - 1, 2**31, 2**53),
    *("", " ", "a", "A", "1", "0", "-1", "true", "null", "a b", "a.b", "a-", "a_b", "a/b", "/a"),
    *("..", "a/..", "../a", "/a:b", "ä", "a\n", "\u0000", "{{ a }}", "$(A)", "a" * 63, "a" * 64),
    *("1Gi", "1G", "500m", "0.5", "1e3", "1E3", "+2", "2.", ".5", "1Ki", "0Gi", "1n", "4 Gi"),
    *("hugepages-2Mi", "hugepages-3Mi", "nvidia.com/gpu", "requests.a/b", "kubernetes.io/a"),
    *("10.0.0.0/8", "10.0.0.1/8", "fd00::/8", "::/0", "metadata.name", "limits.cpu", "Exists"),
)


def drawn(seed: int) -> Values:
    """One set of values, always the same for a seed.

    Most are changed until the schema takes them: it is one for both sides, the guards are not.
    """
    random = Random(seed)
    values: Values = {}
    for part in random.sample(_INGREDIENTS, random.choice((1, 1, 2, 3))):
        values = merged(values, copy.deepcopy(part))
    for _ in range(random.choice((0, 1, 1, 2))):
        values = _mutated(random, values, of_schema=random.random() < 0.8)
    return values


def _ingredients() -> Iterator[Values]:
    for case in (*CASES.values(), *GUARD_CASES.values()):
        for params in (case.params, case.instead):
            if params.keys() <= {"extraValues"}:
                yield params.get("extraValues") or {}
    for feature in FEATURES.values():
        yield feature
        yield from ({section: part} for section, part in feature.items())
    yield from (params["extraValues"] for params in TAKEN.values() if [*params] == ["extraValues"])


_INGREDIENTS = [
    json.loads(text)
    for text in sorted({json.dumps(part) for part in _ingredients()})
    if len(text) < _MOST_TEXT
]


def _mutated(random: Random, values: Values, *, of_schema: bool) -> Values:
    """Values with one change: of the first of some that the schema takes, where that is asked."""
    changed = values
    for _ in range(_TRIES if of_schema else 1):
        changed = copy.deepcopy(values)
        _mutate(random, changed)
        if not violations(merged(LEAST, changed), values_schema()):
            break
    return changed


def _mutate(random: Random, values: Values) -> None:
    """One change at one place."""
    places = [place for place in _places(values) if place]
    if not places:
        return
    *above, key = random.choice(places)
    holder: Any = values
    for step in above:
        holder = holder[step]
    match random.randrange(6):
        case 0:
            del holder[key]
        case 1:
            holder[key] = random.choice((*SCALARS, [], {}, [holder[key]], {"a": holder[key]}))
        case 2 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case 2:
            holder[str(random.choice(SCALARS))] = holder.pop(key)
        case 3:
            other = random.choice(_INGREDIENTS)
            place = random.choice([(), *_places(other)])
            holder[key] = copy.deepcopy(_at(other, place))
        case 4 if isinstance(holder[key], str):
            holder[key] = _changed(random, holder[key])
        case 4 if isinstance(holder[key], int | float):
            holder[key] += random.choice((-1, 1, 0.5, 10))
        case _:
            holder[key] = random.choice(SCALARS)


def _changed(random: Random, text: str) -> str:
    """A text with one character less, more or other."""
    at = random.randrange(len(text) + 1)
    new = random.choice(("", "a", "A", "0", "9", ".", "-", "/", "_", ":", " ", "é"))
    return text[:at] + new + text[at + random.randrange(2) :]


def _places(value: Any, above: Place = ()) -> Iterator[Place]:
    yield above
    keys = range(len(value)) if isinstance(value, list) else value
    keys = keys if isinstance(value, dict | list) else ()
    for key in keys:
        yield from _places(value[key], (*above, key))


def _at(value: Any, place: Place) -> Any:
    for key in place:
        value = value[key]
    return value
