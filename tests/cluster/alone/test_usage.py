"""`tf-cluster top` beside the real metrics-server, and without one."""

from __future__ import annotations

from pathlib import Path

import pytest
from tf_cluster.cluster.reading import amount

from tests.cluster import turns
from tests.cluster.alone.conftest import Train
from tests.cluster.alone.faults import Machine
from tests.cluster.alone.training import Training
from tests.cluster.kubernetes import Namespace
from tests.cluster.metrics_server import measured, metrics_server
from tests.cluster.operations.conftest import Tool
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(turns.METRICS, of=turns.OF)]
ROLES = ("chief", "worker", "ps")


@pytest.fixture(scope="module")
def training(train: Train) -> Training:
    return train("measured", {}, ROLES)


def test_top_says_what_a_training_uses_where_it_is_measured(
    training: Training, machine: Machine, tmp_path: Path
) -> None:
    there = training.release.namespace
    tool = Tool(there, there.kubeconfig)

    without = tool.document("top")
    assert "metrics-server is not installed" in " ".join(without["unread"])
    (mine,) = without["trainings"]
    assert mine["used"] is None and mine["asked"]["cpu"] > 0

    with metrics_server(machine.admin, tmp_path):
        path = f"namespaces/{there.name}/pods"
        tasks = {
            pod["metadata"]["name"] for role in ROLES for pod in training.release.running(role)
        }
        eventually("every task's metrics", lambda: tasks <= set(_memory(there, path)), 120)
        found = tool.document("top")
        told = _memory(there, path)
    assert found["unread"] == []
    (node,) = found["nodes"]
    assert node["used"]["cpu"] > 0 and 0 < node["used"]["memory"] < node["allocatable"]["memory"]
    (mine,) = found["trainings"]
    assert mine["used"]["cpu"] > 0
    # The clean-up's pod is of the training, too. Between the questions they may be measured anew.
    assert mine["used"]["memory"] == pytest.approx(sum(told.values()), rel=0.2)


def _memory(there: Namespace, path: str) -> dict[str, float]:
    """Bytes, by pod."""
    return {
        pod["metadata"]["name"]: sum(amount(one["usage"]["memory"]) for one in pod["containers"])
        for pod in measured(there, path)
    }
