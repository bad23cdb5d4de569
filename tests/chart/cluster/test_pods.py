"""Every role's pod, and what differs between roles."""

from __future__ import annotations

from typing import Any

import pytest
from tf_cluster_trainer.sources.login import DEFAULT_LOGIN_DIRECTORY

from tests.chart import helm
from tests.chart.features import FEATURES
from tests.chart.helm import Object, Rendered, Values, merged

ROLES = ("chief", "worker", "ps", "evaluator", "cleanup")


def render(changes: Values | None = None) -> Rendered:
    """With an evaluator, so that every role has a pod."""
    return helm.render(merged({"evaluator": {"enabled": True}}, changes or {}))


def pod_of(rendered: Rendered, role: str) -> Object:
    kind = "Deployment" if role == "ps" else "Job"
    return dict(rendered.all(kind, role)[0]["spec"]["template"])


def container_of(rendered: Rendered, role: str) -> Object:
    (container,) = pod_of(rendered, role)["spec"]["containers"]
    return dict(container)


def env_of(rendered: Rendered, role: str) -> dict[str, Any]:
    env = container_of(rendered, role)["env"]
    names = [entry["name"] for entry in env]
    assert len(names) == len(set(names)), f"{role}: a server-side apply refuses names that repeat"
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in env}


UID = {"fieldRef": {"fieldPath": "metadata.uid"}}
JOB_UID = {"fieldRef": {"fieldPath": "metadata.labels['batch.kubernetes.io/controller-uid']"}}
COMMON = {"HOME": "/tmp", "USER": "trainer"}
TASK: dict[str, Any] = {
    **COMMON,
    "TF_CLUSTER_POD_UID": UID,
    "GRPC_FAIL_FAST": "use_caller",
    "TF_CPP_MIN_LOG_LEVEL": "1",
}
NO_GPU = {"NVIDIA_VISIBLE_DEVICES": "void"}
ENV: dict[str, dict[str, Any]] = {
    "chief": {
        **TASK,
        **NO_GPU,
        "TF_CLUSTER_TASK_TYPE": "chief",
        "TF_CLUSTER_TASK_INDEX": "0",
        "TF_CLUSTER_JOB_UID": JOB_UID,
    },
    "worker": {**TASK, "TF_CLUSTER_TASK_TYPE": "worker", "TF_CLUSTER_JOB_UID": JOB_UID},
    "ps": {**TASK, **NO_GPU, "TF_CLUSTER_TASK_TYPE": "ps", "TF_CLUSTER_TASK_INDEX": "0"},
    "evaluator": {
        **TASK,
        **NO_GPU,
        "TF_CLUSTER_TASK_TYPE": "evaluator",
        "TF_CLUSTER_TASK_INDEX": "0",
        "TF_CLUSTER_JOB_UID": JOB_UID,
        "TF_CLUSTER_STATUS": "0.0.0.0:8080",
    },
    "cleanup": {**COMMON, **NO_GPU},
}


@pytest.mark.parametrize("role", ROLES)
def test_the_environment_is_the_one_of_docs_formats(role: str) -> None:
    assert env_of(render(), role) == ENV[role]


def test_each_ps_knows_its_index() -> None:
    for index, deployment in enumerate(render({"ps": {"replicas": 3}}).all("Deployment", "ps")):
        env = deployment["spec"]["template"]["spec"]["containers"][0]["env"]
        assert {"name": "TF_CLUSTER_TASK_INDEX", "value": str(index)} in env
        assert deployment["metadata"]["labels"]["tf-cluster.io/index"] == str(index)


@pytest.mark.parametrize("role", ["chief", "worker", "ps", "evaluator"])
def test_the_users_environment_replaces_ours_by_name(role: str) -> None:
    extra = [{"name": "TF_CPP_MIN_LOG_LEVEL", "value": "3"}, {"name": "MINE", "value": "yes"}]
    env = env_of(render({role: {"extraEnv": extra}}), role)
    assert env == {**ENV[role], "TF_CPP_MIN_LOG_LEVEL": "3", "MINE": "yes"}


@pytest.mark.parametrize("role", ROLES)
def test_the_container_is_named_by_its_role(role: str) -> None:
    assert container_of(render(), role)["name"] == role


@pytest.mark.parametrize("role", ["chief", "worker", "ps", "evaluator"])
def test_a_task_runs_the_images_entrypoint_without_arguments(role: str) -> None:
    container = container_of(render(), role)
    assert "command" not in container
    assert "args" not in container


@pytest.mark.parametrize("role", ["chief", "worker", "ps", "evaluator"])
def test_a_task_names_its_ports_and_tells_when_it_answers(role: str) -> None:
    container = container_of(render(), role)
    tensorflow = {"name": "tensorflow", "containerPort": 2222}
    status = {"name": "status", "containerPort": 8080}
    assert container["ports"] == ([status] if role == "evaluator" else [tensorflow, status])
    assert container["readinessProbe"]["httpGet"] == {"path": "/healthz", "port": "status"}
    assert "livenessProbe" not in container


@pytest.mark.parametrize("role", ROLES)
def test_every_pod_keeps_names_and_tokens_to_itself(role: str) -> None:
    spec = pod_of(render(), role)["spec"]
    assert spec["enableServiceLinks"] is False
    assert spec["automountServiceAccountToken"] is (role == "cleanup")
    assert spec["dnsConfig"] == {"options": [{"name": "ndots", "value": "2"}]}


@pytest.mark.parametrize("role", ROLES)
def test_only_chief_workers_and_evaluator_mount_the_claims(role: str) -> None:
    rendered = render()
    mounts = {m["name"]: m["mountPath"] for m in container_of(rendered, role)["volumeMounts"]}
    mounting = role in ("chief", "worker", "evaluator")
    claims = {"data": "/data", "log": "/log"} if mounting else {}
    config = {} if role == "cleanup" else {"config": "/etc/tf-cluster"}
    assert mounts == {"tmp": "/tmp", **config, **claims}
    volumes = pod_of(rendered, role)["spec"]["volumes"]
    assert [volume["name"] for volume in volumes] == list(mounts)


def test_a_ps_that_runs_the_script_mounts_the_claims_too() -> None:
    rendered = helm.render(FEATURES["script-on-ps"])
    mounts = {m["name"] for m in container_of(rendered, "ps")["volumeMounts"]}
    assert {"data", "log"} <= mounts
    for role in ("worker", "ps"):
        (pod,) = (pod for name, pod in rendered.pods.items() if f"-{role}-" in name)
        (term,) = pod["spec"]["affinity"]["podAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        (rule,) = term["labelSelector"]["matchExpressions"]
        assert rule["values"] == ["chief", "worker", "evaluator", "test", "ps"]


def test_a_digest_wins_over_a_tag() -> None:
    digest = "sha256:" + "a" * 64
    image = {"tag": "2.0", "digest": digest}
    rendered = render({"image": image})
    for role in ROLES:
        want = f"registry.example/tf-cluster-trainer@{digest}"
        assert container_of(rendered, role)["image"] == want


def test_the_tag_is_the_charts_app_version_unless_it_is_set() -> None:
    assert container_of(render(), "ps")["image"].endswith("-trainer:0.1.0")
    assert container_of(render({"image": {"tag": "7e5"}}), "ps")["image"].endswith("-trainer:7e5")


@pytest.mark.parametrize("role", ROLES)
def test_scheduling_values_reach_the_pod_of_their_role_alone(role: str) -> None:
    values = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "gpu", "operator": "Exists"}],
        "priorityClassName": "high",
        "podLabels": {"team": "a"},
        "podAnnotations": {"note": "b"},
    }
    rendered = render({role: values})
    for other in ROLES:
        pod = pod_of(rendered, other)
        for key in ("nodeSelector", "tolerations", "priorityClassName"):
            assert pod["spec"].get(key) == (values[key] if other == role else None)
        assert ("team" in pod["metadata"]["labels"]) == (other == role)
        assert ("annotations" in pod["metadata"]) == (other == role)


POD: dict[str, Any] = {
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"key": "gpu", "operator": "Exists"}],
    "affinity": {"nodeAffinity": {}},
    "priorityClassName": "high",
}


@pytest.mark.parametrize("key", POD)
def test_a_default_is_for_every_role_and_a_role_may_have_another(key: str) -> None:
    shared = {"accessModes": ["ReadWriteMany"]}
    storage = {"data": shared, "log": shared}
    rendered = render({"pod": POD, "storage": storage, "ps": {key: type(POD[key])()}})
    for role in ROLES:
        found = pod_of(rendered, role)["spec"].get(key)
        assert found == (None if role == "ps" else POD[key]), role


def test_a_map_of_a_role_replaces_the_whole_default() -> None:
    rendered = render({"pod": POD, "worker": {"nodeSelector": {"gpu": "a100"}}})
    assert pod_of(rendered, "worker")["spec"]["nodeSelector"] == {"gpu": "a100"}
    assert pod_of(rendered, "chief")["spec"]["nodeSelector"] == {"disk": "ssd"}


def test_labels_and_annotations_of_a_role_are_added_to_the_default_by_key() -> None:
    words = {"team": "a", "tier": "batch"}
    rendered = render(
        {
            "pod": {"podLabels": words, "podAnnotations": words},
            "worker": {"podLabels": {"tier": "gpu"}, "podAnnotations": {"note": "b"}},
        }
    )
    worker, chief = (pod_of(rendered, role)["metadata"] for role in ("worker", "chief"))
    assert {"team": "a", "tier": "gpu"}.items() <= worker["labels"].items()
    assert worker["annotations"] == {**words, "note": "b"}
    assert words.items() <= chief["labels"].items()
    assert chief["annotations"] == words


def test_variables_of_a_role_are_added_to_the_default_by_name() -> None:
    default = [{"name": "TF_CPP_MIN_LOG_LEVEL", "value": "3"}, {"name": "A", "value": "all"}]
    extra = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "worker"}]
    rendered = render({"pod": {"extraEnv": default}, "worker": {"extraEnv": extra}})
    of_all = {"TF_CPP_MIN_LOG_LEVEL": "3", "A": "all"}
    for role in ROLES:
        own = {"A": "$(B)", "B": "worker"} if role == "worker" else {}
        assert env_of(rendered, role) == {**ENV[role], **of_all, **own}


@pytest.mark.parametrize("role", ["chief", "worker", "evaluator"])
def test_exit_2_fails_at_once_and_42_and_disruptions_do_not_count(role: str) -> None:
    job = render().one("Job", role)["spec"]
    assert job["template"]["spec"]["restartPolicy"] == "Never"
    assert job["podFailurePolicy"]["rules"] == [
        {
            "action": "FailJob",
            "onExitCodes": {"containerName": role, "operator": "In", "values": [2]},
        },
        {
            "action": "Ignore",
            "onExitCodes": {"containerName": role, "operator": "In", "values": [42]},
        },
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        },
    ]
    assert isinstance(job["backoffLimit"], int)


def test_workers_are_one_indexed_job() -> None:
    job = render({"worker": {"replicas": 5}}).one("Job", "worker")["spec"]
    assert job["completionMode"] == "Indexed"
    assert job["completions"] == job["parallelism"] == 5


@pytest.mark.parametrize(
    ("replication", "worker", "chief", "seconds"),
    [
        ("in-graph", 30, 60, 30),
        ("between-graph", 30, 60, 60),
        ("between-graph", 90, 60, 90),
        ("between-graph", 0, 0, 0),
    ],
)
def test_workers_have_the_time_to_save_of_a_chief_where_one_of_them_is_it(
    replication: str, worker: int, chief: int, seconds: int
) -> None:
    grace = {
        role: {"terminationGracePeriodSeconds": number}
        for role, number in (("worker", worker), ("chief", chief))
    }
    pod = pod_of(render({"replication": replication, **grace}), "worker")
    assert pod["spec"]["terminationGracePeriodSeconds"] == seconds


@pytest.mark.parametrize("feature", ["between-graph", "between-graph-sync", "all-reduce"])
def test_without_a_chief_workers_differ_in_nothing_but_that_time(feature: str) -> None:
    rendered, in_graph = render(FEATURES[feature]), render()
    job, other = (one.one("Job", "worker")["spec"] for one in (rendered, in_graph))
    assert job["podFailurePolicy"] == other["podFailurePolicy"]
    assert env_of(rendered, "worker") == ENV["worker"]
    assert (
        container_of(rendered, "worker")["volumeMounts"]
        == (container_of(in_graph, "worker")["volumeMounts"])
    )


def test_values_of_roles_that_are_not_there_change_no_pod() -> None:
    all_reduce = FEATURES["all-reduce"]
    changed = {**all_reduce, "ps": {"replicas": 9, "nodeSelector": {"disk": "ssd"}}}
    changed["chief"] = {"nodeSelector": {"disk": "ssd"}, "backoffLimit": 1}
    assert render(changed).text == render(all_reduce).text


def test_a_ps_is_replaced_before_its_name_is_taken_again() -> None:
    deployment = render().one("Deployment", "ps")["spec"]
    assert deployment["strategy"] == {"type": "Recreate"}
    selector = deployment["selector"]["matchLabels"]
    assert selector.items() <= deployment["template"]["metadata"]["labels"].items()
    assert selector["tf-cluster.io/index"] == "0"


def test_a_ps_outlives_the_chiefs_last_save() -> None:
    rendered = render()
    assert container_of(rendered, "ps")["lifecycle"] == {
        "preStop": {"exec": {"command": ["sleep", "10"]}}
    }
    for role in ("chief", "worker", "evaluator", "cleanup"):
        assert "lifecycle" not in container_of(rendered, role)
    assert "lifecycle" not in container_of(render({"ps": {"preStopSeconds": 0}}), "ps")


def test_a_worker_outlives_the_step_that_a_synchronous_chief_is_in() -> None:
    rendered = render({"update": "sync"})
    assert container_of(rendered, "worker")["lifecycle"] == {
        "preStop": {"exec": {"command": ["sleep", "10"]}}
    }
    pod = rendered.one("Job", "worker")["spec"]["template"]["spec"]
    assert pod["terminationGracePeriodSeconds"] == 40
    without = render({"replication": "between-graph", "update": "sync"})
    assert "lifecycle" not in container_of(without, "worker")


def test_the_service_publishes_tasks_that_are_not_ready_and_leaves_cleanup_out() -> None:
    rendered = render(FEATURES["large"])
    spec = rendered.one("Service", "service")["spec"]
    assert spec["clusterIP"] == "None"
    assert spec["publishNotReadyAddresses"] is True
    selected = [
        name
        for name, pod in rendered.pods.items()
        if spec["selector"].items() <= pod["metadata"]["labels"].items()
    ]
    assert selected == [name for name in rendered.pods if "cleanup" not in name]


def test_the_chief_is_found_by_a_name_that_is_there_before_its_pod() -> None:
    rendered = render(FEATURES["large"])
    service = rendered.one("Service", "chief")
    spec = service["spec"]
    # A headless Service has no address of its own: its name is absent while it has no pod.
    assert "clusterIP" not in spec
    assert spec["publishNotReadyAddresses"] is True
    assert [port["port"] for port in spec["ports"]] == [8080]
    address = f"{service['metadata']['name']}:8080"
    assert rendered.cluster.status["chief"] == (address,)
    selected = [
        name
        for name, pod in rendered.pods.items()
        if spec["selector"].items() <= pod["metadata"]["labels"].items()
    ]
    assert selected == [name for name in rendered.pods if "chief" in name]


PRIVATE = FEATURES["source-private"]["program"]["source"]
SCRIPT = {"module": "", "script": "train.py", "source": PRIVATE}


@pytest.mark.parametrize(
    ("values", "fetching"),
    [
        ({"program": {"source": PRIVATE}}, {"chief", "evaluator"}),
        ({"program": SCRIPT}, {"chief", "worker"}),
        ({"program": SCRIPT | {"ps": "script"}}, {"chief", "worker", "ps"}),
        (
            {"program": {"source": PRIVATE}, "replication": "between-graph"},
            {"worker", "evaluator"},
        ),
    ],
    ids=["in-graph", "script", "script on ps", "between-graph"],
)
def test_the_login_of_a_private_source_is_a_file_in_the_pods_that_fetch(
    values: dict[str, Any], fetching: set[str]
) -> None:
    evaluator = {"evaluator": {"enabled": "evaluator" in fetching}}
    rendered = render(values | evaluator)
    for role in ROLES:
        if not rendered.all("Deployment" if role == "ps" else "Job", role):
            continue
        spec = pod_of(rendered, role)["spec"]
        mounted = {v["name"]: v for v in spec["containers"][0]["volumeMounts"]}
        volumes = {v["name"]: v for v in spec["volumes"]}
        assert ("login" in mounted) == ("login" in volumes) == (role in fetching), role
        if role in fetching:
            assert mounted["login"]["mountPath"] == DEFAULT_LOGIN_DIRECTORY
            assert mounted["login"]["readOnly"] is True
            secret = {"secretName": "code-login", "defaultMode": 0o440}
            assert volumes["login"]["secret"] == secret
        assert "code-login" not in str(spec["containers"][0]["env"])
