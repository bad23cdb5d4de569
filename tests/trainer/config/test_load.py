"""training.json as frozen data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import config

from tests.support.children import training

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
