"""What the chart itself says is judged once: the findings are those of a whole check."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from jsonschema.validators import Draft7Validator, extend
from tf_cluster.check import check
from tf_cluster.expand.expand import expand, leaves
from tf_cluster.params.go_validator import GoLikeValidator
from tf_cluster.params.schema_files import chart_values, values_schema
from tf_cluster.pointer import Pointer, value_at

from tests.generator.conftest import ROOT

EVERY_TIME = extend(  # type: ignore[no-untyped-call]
    Draft7Validator, {"pattern": GoLikeValidator.VALIDATORS["pattern"]}
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    3,
    -1,
    1.5,
    2**60,
    "",
    "a b",
    "1Gi",
    "worker",
    [],
    {},
    [1],
    [{}],
    {"a": 1},
)
MOST = 400
"""Drawn values files."""


def test_a_drawn_file_has_the_errors_of_a_whole_check() -> None:
    found = 0
    for seed in range(MOST):
        effective = expand(_drawn(random.Random(seed))).effective
        once, every_time = _errors(GoLikeValidator, effective), _errors(EVERY_TIME, effective)
        assert once == every_time, seed
        found += len(once)

    assert found > MOST, "nearly no drawn file is wrong: this compares nothing"


def test_the_charts_own_values_are_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = (ROOT / "values-examples" / "digits.params.yaml").read_bytes()
    check("values-examples/digits.params.yaml", raw)
    judged: list[Any] = []
    descend = GoLikeValidator.descend

    def count(self: Any, instance: Any, *arguments: Any, **others: Any) -> Iterator[Any]:
        judged.append(instance)
        yield from descend(self, instance, *arguments, **others)

    monkeypatch.setattr(GoLikeValidator, "descend", count)
    check("values-examples/digits.params.yaml", raw)

    assert judged
    assert len(judged) < len(list(leaves(chart_values()))) / 4


def _errors(validator: Any, values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    return [
        (str(list(one.absolute_path)), str(one.validator), one.message)
        for one in validator(values_schema()).iter_errors(values)
    ]


def _drawn(chance: random.Random) -> dict[str, Any]:
    """Params whose extraValues set a few of the chart's values, and say others of them again."""
    paths = [path for path, _ in _all(chart_values())]
    extra: dict[str, Any] = {}
    for path in chance.sample(paths, chance.randrange(1, 6)):
        inner = extra
        for key in path[:-1]:
            below = inner.setdefault(str(key), {})
            inner = below if isinstance(below, dict) else {}
        other = value_at(chart_values(), chance.choice(paths))
        value = chance.choice((*VALUES, other, value_at(chart_values(), path)))
        inner[str(path[-1])] = copy.deepcopy(value) if isinstance(value, dict) else value
    return {"preset": chance.choice(("small", "medium", "large")), "extraValues": extra}


def _all(data: Any, path: Pointer = ()) -> Iterator[tuple[Pointer, Any]]:
    for key, value in data.items() if isinstance(data, Mapping) else ():
        yield (*path, key), value
        yield from _all(value, (*path, key))
