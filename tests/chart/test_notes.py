"""What `helm install` tells."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
import yaml

from tests.chart.features import FEATURES
from tests.chart.helm import ROOT, notes, render

SHARED = {"accessModes": ["ReadWriteMany"]}


def commands(text: str) -> list[list[str]]:
    lines = text.replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("    kubectl ")]


def test_the_next_commands_name_the_objects_of_this_attempt() -> None:
    h = render().attempt
    ready, follow, see, run, wait, copy, delete, load = commands(notes())
    kubectl = ["kubectl", "--namespace", "training"]
    # The log of a pod that is not scheduled yet is empty, and following it ends at once.
    assert ready[3:6] == ["wait", "--for=condition=Ready", "--timeout=10m"]
    assert ready[6:] == ["pod", "--selector", f"batch.kubernetes.io/job-name=digits-chief-{h}"]
    assert follow == [*kubectl, "logs", "--follow", f"job/digits-chief-{h}"]
    assert see[3:] == ["get", "jobs,deployments,pods", "--selector", f"tf-cluster.io/attempt={h}"]
    assert run[3:5] == ["run", "digits-files"]
    assert wait[3:6] == ["wait", "--for=condition=Ready", "--timeout=10m"]
    assert wait[6:] == ["pod/digits-files"]
    assert copy[3:] == ["cp", "digits-files:/log/digits/1/export", "export"]
    assert delete[3:] == ["delete", "pod", "digits-files"]
    assert load[3:] == ["cp", "data/.", "digits-files:/data"]


def test_the_evaluators_log_is_told_where_there_is_one() -> None:
    values = {"evaluator": {"enabled": True}}
    name = render(values).one("Job", "evaluator")["metadata"]["name"]
    assert ["logs", "--follow", f"job/{name}"] in [words[3:] for words in commands(notes(values))]
    assert "the evaluator measures" not in notes()


@pytest.mark.parametrize("strategy", ["parameter-server", "all-reduce"])
def test_without_a_chief_worker_0_is_followed(strategy: str) -> None:
    values = {"strategy": strategy, "replication": "between-graph", "update": "sync"}
    h = render(values).attempt
    ready, follow = commands(notes(values))[:2]
    worker_0 = (
        f"batch.kubernetes.io/job-name=digits-worker-{h},batch.kubernetes.io/job-completion-index=0"
    )
    assert ready[6:] == ["pod", "--selector", worker_0]
    assert follow[3:] == ["logs", "--follow", "--tail=-1", "--selector", worker_0]
    assert "The workers share one node" in notes(values)


def test_an_interactive_cluster_has_no_training_to_follow() -> None:
    text = notes(FEATURES["interactive"])
    assert "\n1. Follow the log of worker 0." in text
    assert "the training" not in text.partition("image.tag is empty")[0]
    assert "\n1. Follow the training." in notes()


def test_without_a_notebook_they_say_how_a_client_connects() -> None:
    alone = {"program": {"module": ""}, "interactive": {"enabled": True}}
    text = notes(alone)
    assert "notebooks" not in text
    assert "copy what the client wrote to /log from the claim digits-log" in text
    config = render(alone).one("ConfigMap", "config")["metadata"]["name"]
    assert f"a pod of this namespace with the ConfigMap {config}\nat /etc/tf-cluster" in text
    (policy,) = [
        one
        for one in render(alone).all("NetworkPolicy")
        if one["metadata"]["name"] == "digits-client"
    ]
    labels = policy["spec"]["podSelector"]["matchLabels"]
    told = text.partition("which let it in:\n\n")[2].partition("\n\n")[0]
    assert yaml.safe_load(told) == labels
    assert "No client is made here" not in notes(FEATURES["interactive"])


def test_the_numbers_are_those_of_the_tasks_there_are() -> None:
    assert "with 2 worker(s) and 1 ps." in notes()
    values = {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}
    text = notes({**values, "cleanup": {"enabled": False}})
    assert "with 2 worker(s) and 0 ps." in text
    assert "the ps are gone" not in text
    assert "the parameter servers run until" not in text


def test_a_scripts_directory_is_copied_whole() -> None:
    text = notes(FEATURES["script"])
    assert "/data/code/train.py runs with 2 worker(s) and 1 ps." in text
    assert "copy what the script wrote to LOG_DIR" in text
    assert commands(text)[5][3:] == ["cp", "digits-files:/log/digits/1", "log"]


def files_pod(storage: dict[str, Any]) -> dict[str, Any]:
    run = commands(notes({"storage": storage}))[3]
    option = next(word for word in run if word.startswith("--overrides="))
    return dict(json.loads(option.removeprefix("--overrides="))["spec"])


def test_the_pod_for_files_mounts_the_claims_as_tasks_do() -> None:
    spec = files_pod({"log": {"existingClaim": "mine", "subPath": "runs"}})
    assert spec["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "digits-data"}},
        {"name": "log", "persistentVolumeClaim": {"claimName": "mine"}},
    ]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "data", "mountPath": "/data"},
        {"name": "log", "mountPath": "/log", "subPath": "runs"},
    ]
    assert spec["securityContext"]["runAsNonRoot"] is True


def test_the_pod_for_files_goes_to_the_node_of_claims_that_one_node_can_mount() -> None:
    (wish,) = files_pod({})["affinity"]["podAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    assert wish["podAffinityTerm"]["topologyKey"] == "kubernetes.io/hostname"
    assert "affinity" not in files_pod({"data": SHARED, "log": SHARED})


def test_data_is_loaded_into_a_claim_that_is_new() -> None:
    words = "To load data into the claim digits-data"
    assert words in notes()
    assert words not in notes({"storage": {"data": {"existingClaim": "ours"}}})
    assert words not in notes({"storage": {"data": {"enabled": False}}})
    assert words not in notes({"storage": {"data": {"accessModes": ["ReadOnlyMany"]}}})


def test_claims_that_have_to_exist_are_named() -> None:
    claims = {"data": {"existingClaim": "ours"}, "log": {"existingClaim": "mine"}}
    text = notes({"storage": claims})
    assert "While one does not exist, chief and workers stay Pending" in text
    assert commands(text)[-1][3:] == ["get", "pvc", "ours", "mine"]
    assert "stay Pending" not in notes()


def test_large_numbers_are_written_out() -> None:
    assert "trains to step 1000000 with" in notes({"train": {"steps": 1000000}})


def test_a_shared_node_is_explained() -> None:
    assert "Chief and workers share one node" in notes()
    assert "share one node" not in notes({"storage": {"data": SHARED, "log": SHARED}})


def test_a_shared_claim_of_the_default_class_is_pointed_out() -> None:
    words = "The default StorageClass is asked for ReadWriteMany (digits-data, digits-log)"
    assert words in notes({"storage": {"data": SHARED, "log": SHARED}})
    classed = {**SHARED, "storageClassName": "nfs"}
    assert "asked for" not in notes({"storage": {"data": classed, "log": classed}})


def test_the_address_of_the_status_is_told_to_who_may_use_it() -> None:
    h = render().attempt
    url = f"http://digits-chief-{h}.digits-{h}.training.svc.cluster.local:8080/progress"
    assert url not in notes()
    assert url in notes({"security": {"networkPolicy": {"enabled": False}}})
    values = {"replication": "between-graph", "security": {"networkPolicy": {"enabled": False}}}
    h = render(values).attempt
    host = f"digits-worker-{h}-0.digits-{h}.training.svc.cluster.local"
    assert f"http://{host}:8080/progress" in notes(values)


def test_no_cleanup_is_told() -> None:
    text = notes({"cleanup": {"enabled": False}})
    assert "the parameter servers run until you scale them to 0" in text
    assert "are gone 30 s after" not in text


def test_the_umbrella_tells_the_same_with_its_own_paths() -> None:
    told = notes(chart=ROOT)
    assert "install (a claim's access mode and class can't change), tf-cluster.storage.data" in told
    paths = ("storage.data.accessModes", "storage.log.accessModes", "image.tag")
    for path in paths:
        told = told.replace(f"tf-cluster.{path}", path)
    assert told.strip() == notes().strip()


def test_a_secret_that_is_not_made_here_is_named() -> None:
    source = FEATURES["source-private"]["program"]["source"]
    assert commands(notes({"program": {"source": source}}))[-1][3:] == [
        "get",
        "secret",
        "code-login",
    ]
    assert "secret" not in notes().lower()


def test_tensorboards_address_is_told() -> None:
    assert "TensorBoard" not in notes()
    asked = {"enabled": True, "pathPrefix": "/curves", "service": {"port": 80}}
    text = notes({"tensorboard": asked})
    assert "Open TensorBoard at http://localhost:6006/curves/ while this runs" in text
    assert ["port-forward", "service/digits-tensorboard", "6006:80"] in [
        line[3:] for line in commands(text)
    ]
    assert "any node's address" not in text
    assert "Chief and workers and TensorBoard share one node" in text
    text = notes({"tensorboard": {"enabled": True, "service": {"type": "NodePort"}}})
    assert commands(text)[-1][3:] == [
        *("get", "service", "digits-tensorboard"),
        "--output=jsonpath={.spec.ports[0].nodePort}",
    ]


def test_an_ingress_that_reaches_nothing_is_told() -> None:
    asked = {"enabled": True, "ingress": {"enabled": True}}
    words = "tensorboard.allowFrom is empty: the pods behind its Ingress or HTTPRoute"
    assert words in notes({"tensorboard": asked})
    named = asked | {"allowFrom": [{"namespaceSelector": {}}]}
    node_port = asked | {"service": {"type": "NodePort"}}
    assert words in notes({"tensorboard": node_port | {"allowFrom": []}})
    off = {"security": {"networkPolicy": {"enabled": False}}, "tensorboard": asked}
    for values in ({"tensorboard": named}, {"tensorboard": node_port}, off):
        assert words not in notes(values)


@pytest.mark.parametrize("page", ["tensorboard", "notebook"])
def test_a_node_port_that_nobody_may_reach_is_told(page: str) -> None:
    words, address = (
        f"{page}.allowFrom is empty: nobody can reach the NodePort",
        "any node's address",
    )
    asked = {"enabled": True, "service": {"type": "NodePort"}}
    closed = notes({page: asked | {"allowFrom": []}})
    assert words in closed
    assert address not in closed
    named = asked | {"allowFrom": [{"namespaceSelector": {}}]}
    off = {"security": {"networkPolicy": {"enabled": False}}, page: asked | {"allowFrom": []}}
    for values in ({page: named}, {page: asked}, off):
        text = notes(values)
        assert words not in text
        assert address in text
