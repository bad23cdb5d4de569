"""The ConfigMap is what the trainer's schemas describe."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import HELMS, ROOT, render

SCHEMAS = ROOT / "trainer" / "src" / "tf_cluster_trainer" / "schemas"


def schema(name: str) -> Any:
    return json.loads((SCHEMAS / f"{name}.schema.json").read_text())


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("name", ["cluster", "training"])
def test_both_files_are_valid_for_the_trainer(feature: str, name: str) -> None:
    document = render(FEATURES[feature]).config(f"{name}.json")
    jsonschema.Draft7Validator(schema(name)).validate(document)


def test_cluster_json_names_every_task_by_host_and_service() -> None:
    rendered = render({"worker": {"replicas": 2}, "ps": {"replicas": 2}})
    h = rendered.attempt
    told = rendered.cluster
    assert told.attempt == h
    assert told.cluster == {
        "chief": (f"digits-chief-{h}.digits-{h}:2222",),
        "worker": (f"digits-worker-{h}-0.digits-{h}:2222", f"digits-worker-{h}-1.digits-{h}:2222"),
        "ps": (f"digits-ps-0-{h}.digits-{h}:2222", f"digits-ps-1-{h}.digits-{h}:2222"),
    }
    assert told.status == {
        "chief": (f"digits-chief-{h}:8080",),
        **{
            task: tuple(address.replace(":2222", ":8080") for address in told.cluster[task])
            for task in ("worker", "ps")
        },
    }


def test_a_type_without_tasks_has_no_key() -> None:
    between_graph = render(FEATURES["between-graph"]).cluster
    all_reduce = render(FEATURES["all-reduce"]).cluster
    for told, sizes in ((between_graph, {"worker": 3, "ps": 1}), (all_reduce, {"worker": 2})):
        for addresses in (told.cluster, told.status):
            assert {kind: len(hosts) for kind, hosts in addresses.items()} == sizes


def test_addresses_are_the_hostnames_of_the_pods() -> None:
    rendered = render({"worker": {"replicas": 2}, "ps": {"replicas": 2}})
    service = rendered.one("Service", "service")["metadata"]["name"]
    worker = rendered.one("Job", "worker")["metadata"]["name"]
    hosts = {
        "chief": [rendered.one("Job", "chief")["spec"]["template"]["spec"]["hostname"]],
        "worker": [f"{worker}-{index}" for index in range(2)],
        "ps": [
            deployment["spec"]["template"]["spec"]["hostname"]
            for deployment in rendered.all("Deployment", "ps")
        ],
    }
    for task, names in hosts.items():
        assert rendered.cluster.cluster[task] == tuple(f"{name}.{service}:2222" for name in names)
    for name, pod in rendered.pods.items():
        if "cleanup" not in name:
            assert pod["spec"]["subdomain"] == service


def test_large_numbers_stay_whole() -> None:
    flags = {"million": 1000000, "seed": 2**53 - 1, "small": 1e-7, "nested": [7e6]}
    training = render({"train": {"steps": 1000000000}, "flags": flags}).config("training.json")
    assert training["train"]["steps"] == 1000000000
    assert isinstance(training["train"]["steps"], int)
    assert training["flags"] == flags
    assert isinstance(training["flags"]["million"], int)


def test_no_large_number_is_rendered_with_an_exponent() -> None:
    values = {
        "train": {"steps": 1000000, "checkpoint": {"seconds": 1000000, "steps": 1000000}},
        "peers": {"deadlineSeconds": 1000000},
        "chief": {"backoffLimit": 1000000},
        "run": {"attempt": 1000000},
        "cleanup": {"delaySeconds": {"success": 1000000}},
        "security": {"podSecurityContext": {"runAsUser": 1000620000}},
    }
    assert "e+0" not in render(values).text


def test_flags_left_empty_are_an_object() -> None:
    assert render({"flags": None}).config("training.json")["flags"] == {}


def test_what_is_not_set_is_left_out() -> None:
    training = render().config("training.json")
    assert "path" not in training["program"]
    assert "momentum" not in training["train"]["optimizer"]
    assert "steps" not in training["train"]["checkpoint"]


def test_numbers_of_train_stay_as_they_are_written() -> None:
    optimizer = {"learningRate": 1e-7, "schedule": {"name": "linear", "endFactor": 0.0}}
    written = {"steps": 2**53 - 1, "batchSize": 1000000, "optimizer": optimizer}
    told = render({"train": written}).config("training.json")["train"]
    assert (told["steps"], told["batchSize"]) == (2**53 - 1, 1000000)
    assert isinstance(told["steps"], int)
    assert told["optimizer"]["learningRate"] == 1e-7
    assert told["optimizer"]["schedule"]["endFactor"] == 0


@pytest.mark.parametrize("helm", HELMS)
def test_a_null_that_is_written_out_changes_nothing(helm: str) -> None:
    # Helm 3 keeps the nulls of values.yaml, Helm 4 those of the user.
    nulls = {"stepsPerCall": None, "optimizer": {"momentum": None, "schedule": {"endFactor": None}}}
    written, without = render({"train": nulls}, helm=helm), render()
    assert written.attempt == without.attempt
    assert written.config("training.json") == without.config("training.json")


def test_a_schedule_is_told_as_it_stands_without_its_nulls() -> None:
    def schedule(**settings: Any) -> Any:
        values = {"train": {"optimizer": {"schedule": settings}}}
        return render(values).config("training.json")["train"]["optimizer"].get("schedule")

    assert schedule() == {"name": "constant", "warmupSteps": 0}
    assert schedule(warmupSteps=10) == {"name": "constant", "warmupSteps": 10}
    assert schedule(name="cosine", endFactor=0, decaySteps=1000000) == {
        "name": "cosine",
        "warmupSteps": 0,
        "decaySteps": 1000000,
        "endFactor": 0,
    }


def test_the_run_is_named_after_the_release() -> None:
    assert render(release="vision").config("training.json")["run"] == {"name": "vision", "id": "1"}
    named = render({"fullnameOverride": "other", "run": {"id": "2"}})
    assert named.config("training.json")["run"] == {"name": "other", "id": "2"}


def test_the_hint_can_be_typed_in_as_it_is() -> None:
    rendered = render(namespace="lab")
    assert rendered.config("cluster.json")["hint"] == (
        "kubectl --namespace lab get pods "
        f"--selector tf-cluster.io/attempt={rendered.attempt} --output wide"
    )


def test_a_script_stands_in_place_of_a_module() -> None:
    assert render(FEATURES["script"]).config("training.json")["program"] == {
        "script": "/data/code/train.py",
        "args": ["--ps_hosts=$(PS_HOSTS)", "--steps=1000"],
        "ps": "server",
    }
    assert render(FEATURES["script-on-ps"]).config("training.json")["program"] == {
        "script": "train.py",
        "args": [],
        "ps": "script",
        "path": "/data/code",
    }


def test_code_comes_from_one_source() -> None:
    files = render(FEATURES["source-files"]).config("training.json")["program"]
    assert files == {"module": "train:Mine", **FEATURES["source-files"]["program"]}
    git = render(FEATURES["source-git"]).config("training.json")["program"]["source"]
    assert git == FEATURES["source-git"]["program"]["source"]
    url = {"url": "http://example.com/code.zip", "sha256": "ab" * 32}
    program = render({"program": {"source": url}}).config("training.json")["program"]
    assert program["source"] == url


ARGO = "argocd.argoproj.io/sync-options"


def test_argo_cd_applies_a_large_config_map_server_side() -> None:
    # kubectl apply, and Argo CD without this, keep the object in an annotation of 256 KiB at most.
    (config,) = render().all("ConfigMap")
    assert config["metadata"]["annotations"] == {ARGO: "ServerSideApply=true"}
    options = {
        obj["kind"]: obj["metadata"].get("annotations", {}).get(ARGO, "")
        for obj in render().objects
    }
    assert [kind for kind, said in options.items() if "ServerSideApply" in said] == ["ConfigMap"]


def test_sync_options_of_the_users_own_stay() -> None:
    rendered = render({"commonAnnotations": {ARGO: "Prune=false", "team": "a"}})
    (config,) = rendered.all("ConfigMap")
    want = {ARGO: "Prune=false,ServerSideApply=true", "team": "a"}
    assert config["metadata"]["annotations"] == want
    (job,) = rendered.all("Job", "chief")
    assert job["metadata"]["annotations"] == {ARGO: "Prune=false", "team": "a"}
