"""training.json as frozen data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import config

from tests.support.children import training

SCHEMAS = Path(config.__file__).parents[1] / "schemas"
ADDRESSES = {kind: ["127.0.0.1:1"] for kind in ("chief", "worker", "ps")}
OPTIMIZER = {"name": "SGD", "learningRate": 0.5}


def loaded(folder: Path, train: dict[str, Any]) -> config.Config:
    """What a chief is told by a training.json with these keys of `train`."""
    document = training(folder, optimizer=OPTIMIZER)
    document["train"] |= train
    cluster = {"version": 1, "attempt": "test", "cluster": ADDRESSES, "status": ADDRESSES}
    (folder / "cluster.json").write_text(json.dumps(cluster))
    (folder / "training.json").write_text(json.dumps(document))
    return config.load({"TF_CLUSTER_CONFIG": str(folder), "TF_CLUSTER_TASK_TYPE": "chief"})


@pytest.mark.parametrize("name", ["microBatches", "stepsPerCall", "precision", "xla"])
def test_null_is_a_key_that_is_not_given(tmp_path: Path, name: str) -> None:
    told = loaded(tmp_path, {name: None})
    document = json.loads((tmp_path / "training.json").read_text())
    del document["train"][name]
    (tmp_path / "training.json").write_text(json.dumps(document))

    without = config.load({"TF_CLUSTER_CONFIG": str(tmp_path), "TF_CLUSTER_TASK_TYPE": "chief"})
    assert told.settings == without.settings


def test_nulls_of_the_optimizer_and_of_checkpoints_are_not_given(tmp_path: Path) -> None:
    schedule = {"name": "cosine", "warmupSteps": None, "decaySteps": None, "endFactor": None}
    least = loaded(tmp_path, {"optimizer": OPTIMIZER | {"schedule": {"name": "cosine"}}})
    told = loaded(tmp_path, {"optimizer": OPTIMIZER | {"momentum": None, "schedule": schedule}})
    assert told.settings == least.settings
    none = loaded(tmp_path, {"optimizer": OPTIMIZER | {"momentum": None, "schedule": None}})
    assert none.settings.optimizer == config.Optimizer("SGD", 0.5, None, None)
    checkpoint = {"seconds": 60, "steps": None, "keep": 3}
    assert loaded(tmp_path, {"checkpoint": checkpoint}).settings.checkpoint.steps is None


@pytest.mark.parametrize("name", ["steps", "batchSize", "seed", "optimizer", "reportSeconds"])
def test_null_where_a_value_is_needed_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(config.ConfigError, match=f"/train/{name}"):
        loaded(tmp_path, {name: None})


def test_nulls_of_flags_are_the_users(tmp_path: Path) -> None:
    document = training(tmp_path, flags={"a": None})
    loaded(tmp_path, {})
    (tmp_path / "training.json").write_text(json.dumps(document))
    told = config.load({"TF_CLUSTER_CONFIG": str(tmp_path), "TF_CLUSTER_TASK_TYPE": "chief"})
    assert told.flags == {"a": None}


OTHER: dict[str, Any] = {
    "steps": 7,
    "batchSize": 7,
    "microBatches": 7,
    "stepsPerCall": 7,
    "seed": 7,
    "precision": "mixed_bfloat16",
    "xla": True,
    "optimizer.name": "Momentum",
    "optimizer.learningRate": 0.25,
    "optimizer.momentum": 0.25,
    "optimizer.schedule": {"name": "linear"},
    "optimizer.schedule.name": "exponential",
    "optimizer.schedule.warmupSteps": 7,
    "optimizer.schedule.decaySteps": 7,
    "optimizer.schedule.endFactor": 0.25,
    "checkpoint.seconds": 7,
    "checkpoint.steps": 7,
    "checkpoint.keep": 7,
    "reportSeconds": 7,
}
SCHEDULE = {"name": "cosine", "warmupSteps": 1, "decaySteps": 2, "endFactor": 0.5}


def test_each_key_of_train_has_another_value_here() -> None:
    schema = json.loads((SCHEMAS / "training.schema.json").read_text())
    assert set(OTHER) == set(_keys(schema["properties"]["train"]["properties"]))


@pytest.mark.parametrize("key", OTHER)
def test_each_key_of_train_reaches_the_settings(tmp_path: Path, key: str) -> None:
    document = {"optimizer": {**OPTIMIZER, "schedule": SCHEDULE}}
    before = loaded(tmp_path, document).settings
    section = training(tmp_path)["train"] | document
    at = section
    *above, last = key.split(".")
    for name in above:
        at[name] = dict(at[name])
        at = at[name]
    at[last] = OTHER[key]

    assert loaded(tmp_path, section).settings != before


def _keys(properties: dict[str, Any], above: str = "") -> Iterator[str]:
    for name, schema in properties.items():
        below = schema.get("properties")
        if below is None or "null" in schema["type"]:
            yield above + name
        yield from _keys(below or {}, f"{above}{name}.")


def test_a_count_and_a_pattern_stand_for_the_address_of_each_task(tmp_path: Path) -> None:
    pattern = {"count": 3, "address": "w-h-{}.s-h:2222"}
    cluster = {"chief": ["c-h.s-h:2222"], "worker": pattern}
    first = {"count": 3, "address": "w-h-{}.s-h:8080", "first": "w-h-0:8080"}
    told = read(tmp_path, cluster, {"chief": ["c-h:8080"], "worker": first})

    workers = tuple(f"w-h-{index}.s-h:2222" for index in range(3))
    assert told.cluster == {"chief": ("c-h.s-h:2222",), "worker": workers}
    statuses = ("w-h-0:8080", "w-h-1.s-h:8080", "w-h-2.s-h:8080")
    assert told.status == {"chief": ("c-h:8080",), "worker": statuses}
    assert told.spec() == {"chief": ["c-h.s-h:2222"], "worker": list(workers)}


def test_a_pattern_and_a_list_have_to_agree_on_the_number(tmp_path: Path) -> None:
    with pytest.raises(config.ConfigError, match="/status/worker: one address for each"):
        read(tmp_path, {"worker": {"count": 2, "address": "w-{}:1"}}, {"worker": ["w-0:2"]})


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": 0, "address": "w-{}:1"},
        {"count": 2, "address": "w:1"},
        {"count": 2, "address": "w-{}-{}:1"},
        {"count": 2, "address": "w-{}"},
        {"count": 2},
        {"count": 1, "address": "w-{}:1", "last": "w:1"},
        [],
    ],
)
def test_what_is_neither_a_list_nor_a_pattern_is_told_with_both_forms(
    tmp_path: Path, wrong: Any
) -> None:
    with pytest.raises(config.ConfigError, match="/cluster/worker: give a list of host:port, or"):
        read(tmp_path, {"worker": wrong}, {"worker": ["w:2"]})


def test_the_most_tasks_that_the_chart_takes_are_read(tmp_path: Path) -> None:
    sizes = {"worker": 10_000, "ps": 1_000}
    addresses = {kind: {"count": n, "address": f"{kind}-{{}}:1"} for kind, n in sizes.items()}
    told = read(tmp_path, addresses, addresses)
    assert {kind: told.size(kind) for kind in sizes} == sizes
    assert told.cluster["worker"][9_999] == "worker-9999:1"


def read(folder: Path, cluster: dict[str, Any], status: dict[str, Any]) -> config.Cluster:
    document = {"version": 1, "attempt": "h", "cluster": cluster, "status": status}
    (folder / "cluster.json").write_text(json.dumps(document))
    return config.read_cluster(folder)
