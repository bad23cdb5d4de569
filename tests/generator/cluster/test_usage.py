"""What nodes and trainings ask for and use, of a server that says so: no metrics-server is here."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import Draft7Validator
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.reading import quotas, trainings
from tf_cluster.cluster.usage import Usage, usage
from tf_cluster.cluster.usage_text import quota_json, quota_text, shown, usage_json, usage_text
from tf_cluster.params.schema_files import printed_schema_text

from tests.generator.cluster.conftest import EMPTY, Server, config

LABELS = {
    "app.kubernetes.io/instance": "digits",
    "app.kubernetes.io/name": "tf-cluster",
    "app.kubernetes.io/component": "worker",
    "tf-cluster.io/attempt": "cf7ebc8b",
}
GPU = "nvidia.com/gpu"


def node(name: str, **spec: Any) -> dict[str, Any]:
    amounts = {"cpu": "8", "memory": "32Gi", GPU: "4", "pods": "110"}
    ready = {"type": "Ready", "status": "True"}
    return {
        "metadata": {"name": name},
        "spec": spec,
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [ready]},
    }


def pod(name: str, on: str, phase: str = "Running", **labels: str) -> dict[str, Any]:
    resources = {"requests": {"cpu": "1500m", "memory": "2Gi"}, "limits": {GPU: "1"}}
    return {
        "metadata": {"name": name, "namespace": "vision", "uid": name, "labels": labels},
        "spec": {"nodeName": on, "containers": [{"name": "worker", "resources": resources}]},
        "status": {"phase": phase},
    }


def listed(*items: dict[str, Any]) -> tuple[int, dict[str, Any], dict[str, str]]:
    return 200, {**EMPTY, "items": list(items)}, {}


def measured(name: str, namespace: str = "", **used: str) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    if not namespace:
        return {"metadata": metadata, "usage": used}
    return {"metadata": metadata, "containers": [{"name": "worker", "usage": used}]}


def seen(server: Server, *answers: Any) -> Usage:
    mine = pod("digits-worker-0", "a", **LABELS)
    over = pod("digits-worker-1", "a", "Succeeded", **LABELS)
    server.answers = [
        listed(),
        listed(),
        listed(mine, over),
        listed(node("b", unschedulable=True), node("a")),
        listed(mine, over, pod("other", "a")),
        *answers,
    ]
    connection = connect(None, None)
    return usage(connection, "vision", trainings(connection, "vision").trainings)


def test_what_is_asked_and_free_counts_pods_that_have_not_ended(use: Any, server: Server) -> None:
    use(config(server.url))
    found = seen(
        server,
        listed(measured("a", cpu="2500m", memory="3Gi")),
        listed(measured("digits-worker-0", "vision", cpu="900m", memory="512Mi")),
    )
    a, b = found.nodes
    assert (a.node.name, a.asked["cpu"], a.asked[GPU], a.asked["pods"]) == ("a", 3.0, 2.0, 2.0)
    assert (a.free("cpu"), a.free(GPU)) == (5.0, 2.0)
    assert a.used == {"cpu": 2.5, "memory": 3.0 * 2**30}
    assert (b.free("cpu"), b.free(GPU), b.used) == (0.0, 0.0, None)
    (training,) = found.trainings
    assert (training.asked["cpu"], training.asked[GPU]) == (1.5, 1.0)
    assert training.used == {"cpu": 0.9, "memory": 512.0 * 2**20}
    assert found.unread == ()

    text = usage_text(found, with_namespace=True)
    rows = [" ".join(line.split()) for line in text.splitlines()]
    assert rows[1] == "a ready 3 2.5 5 4.0Gi 3.0Gi 28.0Gi 2 2 2/110"
    assert rows[2].startswith("b cordoned ")
    assert rows[-1] == "vision digits 1.5 0.9 2.0Gi 512Mi 1"
    schema = json.loads(printed_schema_text("usage"))
    Draft7Validator.check_schema(schema)
    Draft7Validator(schema).validate(json.loads(json.dumps(usage_json(found))))


@pytest.mark.parametrize(
    ("code", "words"),
    [(404, "metrics-server is not installed"), (403, "what is used: not allowed")],
)
def test_without_metrics_the_rest_is_shown(code: int, words: str, use: Any, server: Server) -> None:
    use(config(server.url))
    refused = (code, {"kind": "Status", "code": code, "message": "no"}, {})
    found = seen(server, refused, refused)
    assert [one.node.name for one in found.nodes] == ["a", "b"]
    assert found.trainings[0].used is None
    assert all(words in one for one in found.unread)


def test_a_quota_says_what_is_left(use: Any, server: Server) -> None:
    use(config(server.url))
    hard = {"requests.cpu": "10", "limits.memory": "64Gi", "pods": "20", f"requests.{GPU}": "4"}
    used = {"requests.cpu": "2500m", "limits.memory": "65Gi", "pods": "3"}
    status = {"hard": hard, "used": used}
    server.answers = [listed({"metadata": {"name": "q", "namespace": "vision"}, "status": status})]
    found = quotas(connect(None, None), "vision")
    rows = [" ".join(line.split()) for line in quota_text(found, with_namespace=True).splitlines()]
    assert rows == [
        "NAMESPACE QUOTA RESOURCE USED HARD LEFT",
        "vision q limits.memory 65Gi 64Gi 0Mi",
        "vision q pods 3 20 17",
        "vision q requests.cpu 2500m 10 7.5",
        f"vision q requests.{GPU} 0 4 4",
    ]
    schema = json.loads(printed_schema_text("quota"))
    Draft7Validator.check_schema(schema)
    Draft7Validator(schema).validate(json.loads(json.dumps(quota_json(found))))


def test_amounts_are_shown_as_people_write_them() -> None:
    said = [shown("cpu", 0.25), shown("cpu", 8.0), shown("memory", 1.5 * 2**30)]
    assert said == ["0.25", "8", "1.5Gi"]
    assert [shown("memory", 2.0**28), shown(GPU, 3.0)] == ["256Mi", "3"]
