"""What only the evaluator's pod has."""

from __future__ import annotations

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import Rendered, render


def env_of(rendered: Rendered) -> dict[str, str]:
    job = rendered.one("Job", "evaluator")
    (container,) = job["spec"]["template"]["spec"]["containers"]
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


def test_there_is_none_unless_it_is_asked_for() -> None:
    assert render().all("Job", "evaluator") == []


def test_it_is_told_which_model_to_export() -> None:
    assert env_of(render(FEATURES["evaluator"]))["TF_CLUSTER_EXPORT_BEST"] == "max:accuracy"
    assert env_of(render(FEATURES["everything"]))["TF_CLUSTER_EXPORT_BEST"] == "min:loss: total"
    assert "TF_CLUSTER_EXPORT_BEST" not in env_of(render({"evaluator": {"enabled": True}}))


@pytest.mark.parametrize("feature", ["evaluator", "evaluator-all-reduce", "everything"])
def test_it_is_never_in_the_training_cluster(feature: str) -> None:
    cluster = render(FEATURES[feature]).config("cluster.json")
    assert "evaluator" not in cluster["cluster"]
    assert "evaluator" not in cluster["status"]


def test_it_sees_gpus_only_when_it_asks_for_one() -> None:
    assert env_of(render(FEATURES["evaluator"]))["NVIDIA_VISIBLE_DEVICES"] == "void"
    assert "NVIDIA_VISIBLE_DEVICES" not in env_of(render(FEATURES["evaluator-all-reduce"]))
