"""Values are laid over the chart's as the real helm lays them, null above all."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.expand.expand import leaves
from tf_cluster.expand.merge import merged

from tests.generator.helm_reader import HelmReader

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
DECLARED = {"none": None, "one": 1, "empty": {}, "inner": {"none": None, "one": 1}, "list": [1]}


def without_declared_nulls(
    values: dict[str, Any], declared: dict[str, Any] = DECLARED
) -> dict[str, Any]:
    """`values` less the nulls that the chart declares: Helm 4 leaves some of them out.

    To a template nothing and null are the same there.
    """
    return {
        key: without_declared_nulls(value, declared[key])
        if isinstance(value, dict) and isinstance(declared.get(key), dict)
        else value
        for key, value in values.items()
        if value is not None or key not in declared or declared[key] is not None
    }


@pytest.fixture(scope="module")
def reader(helm: str, tmp_path_factory: pytest.TempPathFactory) -> HelmReader:
    made = HelmReader.make(helm, tmp_path_factory.mktemp("merge") / "chart")
    (made.chart / "values.yaml").write_text(yaml.safe_dump(DECLARED))
    return made


@pytest.mark.parametrize(
    "over",
    [
        {"none": None},
        {"none": 2},
        {"one": None},
        {"nope": None},
        {"empty": None},
        {"inner": None},
        {"inner": {"none": None}},
        {"inner": {"one": None}},
        {"inner": {"nope": None}},
        {"inner": {"nope": {"deeper": None}}},
        {"list": None},
        {"list": [None]},
        {"nope": {"deeper": None}},
    ],
    ids=json.dumps,
)
def test_the_merged_values_are_what_helms_templates_see(
    over: dict[str, Any], reader: HelmReader
) -> None:
    seen = reader.read(yaml.safe_dump(over))

    assert without_declared_nulls(merged(DECLARED, over)) == without_declared_nulls(seen)


@pytest.mark.parametrize(
    ("extra", "finding"),
    [
        ("nope: null", "unknown key 'nope'"),
        ("chief: {nope: null}", "unknown key 'nope' in extraValues.chief"),
        ("nope: {deeper: null}", "unknown key 'nope'"),
    ],
)
def test_a_null_for_a_key_that_the_chart_lacks_is_told_as_an_unknown_key(
    extra: str, finding: str
) -> None:
    checked = check("p.yaml", f"{GOOD}extraValues: {{{extra}}}\n".encode())

    assert [one.message for one in checked.findings] == [finding]


@pytest.mark.parametrize(
    "extra",
    [
        "train: {stepsPerCall: null}",
        "train: {optimizer: {momentum: null}}",
        "storage: {colocate: null}",
    ],
)
def test_null_where_the_chart_declares_null_is_no_finding_and_stays(extra: str) -> None:
    checked = check("p.yaml", f"{GOOD}extraValues: {{{extra}}}\n".encode())

    assert checked.findings == ()
    assert set(leaves(yaml.safe_load(extra))) <= {
        (path, value) for path, value in leaves(checked.values.effective) if value is None
    }
