"""Every role's pod, and what differs between roles."""

from __future__ import annotations

import json
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
DIGEST = "sha256:" + "b" * 64
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
        pages = ["tensorboard", "notebook"]
        assert rule["values"] == ["chief", "worker", "evaluator", "test", *pages, "ps"]


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


CONSTRAINT = {
    "maxSkew": 1,
    "topologyKey": "zone",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"team": "a"}},
}
POD: dict[str, Any] = {
    "nodeSelector": {"disk": "ssd"},
    "schedulerName": "on",
    "runtimeClassName": "123",
    "topologySpreadConstraints": [CONSTRAINT],
    "resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}],
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


def test_an_empty_text_and_false_of_a_role_take_the_defaults_place() -> None:
    default = {"podLabels": {"tier": "gpu"}, "shmSize": "1Gi"}
    worker = {
        "podLabels": {"tier": ""},
        "shmSize": "",
        "containerSecurityContext": {"readOnlyRootFilesystem": False},
    }
    pod = pod_of(render({"pod": default, "worker": worker}), "worker")
    assert pod["metadata"]["labels"]["tier"] == ""
    assert "shm" not in [volume["name"] for volume in pod["spec"]["volumes"]]
    (container,) = pod["spec"]["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is False


RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def test_a_security_context_is_laid_over_the_restricted_one_by_key() -> None:
    own = {"runAsUser": 7, "capabilities": {"add": ["IPC_LOCK"]}}
    root = {"runAsUser": 0, "runAsNonRoot": False}
    tool = {"name": "fill", "image": "tool:1", "securityContext": root}
    rendered = render({"worker": {"containerSecurityContext": own, "initContainers": [tool]}})
    capabilities = {"add": ["IPC_LOCK"], "drop": ["ALL"]}
    worker = {**RESTRICTED, "runAsUser": 7, "capabilities": capabilities}
    assert container_of(rendered, "worker")["securityContext"] == worker
    (init,) = pod_of(rendered, "worker")["spec"]["initContainers"]
    assert init["securityContext"] == {**worker, **root}
    assert container_of(rendered, "chief")["securityContext"] == RESTRICTED


@pytest.mark.parametrize("role", ROLES)
def test_sidecars_start_before_init_containers_and_keep_no_job_open(role: str) -> None:
    proxy, first, second = ({"name": name, "image": "tool:1"} for name in ("proxy", "a", "b"))
    rendered = render({"pod": {"sidecars": [proxy], "initContainers": [first, second]}})
    found = pod_of(rendered, role)["spec"]["initContainers"]
    assert [container["name"] for container in found] == ["proxy", "a", "b"]
    assert [container.get("restartPolicy") for container in found] == ["Always", None, None]
    assert all(container["securityContext"] == RESTRICTED for container in found)
    assert [c["name"] for c in pod_of(rendered, role)["spec"]["containers"]] == [role]


@pytest.mark.parametrize("role", ROLES)
def test_volumes_and_mounts_are_added_to_the_charts_own(role: str) -> None:
    volume = {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}}
    mount = {"name": "scratch", "mountPath": "/scratch", "readOnly": True, "subPath": "a"}
    rendered = render({"pod": {"extraVolumes": [volume], "extraVolumeMounts": [mount]}})
    before = pod_of(render(), role)["spec"]
    spec = pod_of(rendered, role)["spec"]
    names = [volume["name"] for volume in before["volumes"]]
    assert [volume["name"] for volume in spec["volumes"]] == [*names, "scratch"]
    assert spec["volumes"][-1] == volume
    own = before["containers"][0]["volumeMounts"]
    assert spec["containers"][0]["volumeMounts"] == [*own, mount]


@pytest.mark.parametrize("role", ROLES)
def test_sizes_of_shared_memory_and_of_tmp(role: str) -> None:
    rendered = render({"pod": {"shmSize": "1Gi"}, role: {"tmpSize": "5Gi"}})
    for other in ROLES:
        spec = pod_of(rendered, other)["spec"]
        volumes = {volume["name"]: volume.get("emptyDir") for volume in spec["volumes"]}
        assert volumes["shm"] == {"medium": "Memory", "sizeLimit": "1Gi"}
        assert volumes["tmp"] == ({"sizeLimit": "5Gi"} if other == role else {})
        mounts = spec["containers"][0]["volumeMounts"]
        assert {"name": "shm", "mountPath": "/dev/shm"} in mounts


@pytest.mark.parametrize("role", ROLES)
def test_variables_come_from_config_maps_and_secrets(role: str) -> None:
    sources = [{"prefix": "S3_", "secretRef": {"name": "bucket"}}]
    rendered = render({"pod": {"envFrom": sources}, "cleanup": {"envFrom": []}})
    want = None if role == "cleanup" else sources
    assert container_of(rendered, role).get("envFrom") == want


@pytest.mark.parametrize("role", ROLES)
def test_labels_of_a_job_or_deployment_are_not_its_pods_and_restart_nothing(role: str) -> None:
    words = {"kueue.x-k8s.io/queue-name": "research"}
    rendered = render(
        {
            "commonLabels": {"kueue.x-k8s.io/queue-name": "all", "team": "a"},
            role: {"objectLabels": words, "objectAnnotations": {"note": "b"}},
        }
    )
    assert rendered.names == render().names
    for obj in rendered.objects:
        metadata = obj["metadata"]
        is_it = obj["kind"] in ("Job", "Deployment") and (
            metadata["labels"]["app.kubernetes.io/component"] == role
        )
        queue = "research" if is_it else "all"
        assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == queue, metadata
        assert metadata["labels"]["team"] == "a"
        assert ("note" in metadata.get("annotations", {})) == is_it
    assert "kueue" not in str(pod_of(rendered, role))


@pytest.mark.parametrize(
    ("image", "own", "want"),
    [
        ({}, {}, "registry.example/tf-cluster-trainer:0.1.0"),
        ({}, {"tag": "gpu"}, "registry.example/tf-cluster-trainer:gpu"),
        ({"tag": "2"}, {"repository": "gpu"}, "gpu:2"),
        ({"tag": "2"}, {"pullPolicy": "Always"}, "registry.example/tf-cluster-trainer:2"),
        ({"digest": DIGEST}, {}, f"registry.example/tf-cluster-trainer@{DIGEST}"),
        ({"digest": DIGEST}, {"tag": "gpu"}, "registry.example/tf-cluster-trainer:gpu"),
        ({"digest": DIGEST, "tag": "2"}, {"repository": "gpu"}, "gpu:2"),
        ({"tag": "2"}, {"digest": DIGEST}, f"registry.example/tf-cluster-trainer@{DIGEST}"),
        ({"registry": "a:5000", "repository": "b"}, {}, "a:5000/b:0.1.0"),
        ({"registry": "a:5000", "repository": "b"}, {"registry": "c"}, "c/b:0.1.0"),
        ({"registry": "a", "digest": DIGEST}, {"registry": "c"}, "c/registry.example/"),
    ],
)
@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_have_another_image(
    role: str, image: dict[str, str], own: dict[str, str], want: str
) -> None:
    rendered = render({"image": image, role: {"image": own}})
    for other in ROLES:
        container = container_of(rendered, other)
        if other == role:
            assert container["image"].startswith(want)
            assert container["imagePullPolicy"] == own.get("pullPolicy", "IfNotPresent")
        else:
            assert container["image"] == container_of(render({"image": image}), other)["image"]


@pytest.mark.parametrize(
    ("account", "name"),
    [({}, None), ({"create": True}, "digits"), ({"name": "mine"}, "mine")],
)
def test_all_pods_but_cleanups_have_the_account_and_none_has_its_token(
    account: dict[str, Any], name: str | None
) -> None:
    annotations = {"eks.amazonaws.com/role-arn": "arn"} if "create" in account else {}
    rendered = render({"serviceAccount": {**account, "annotations": annotations}})
    for role in ROLES:
        spec = pod_of(rendered, role)["spec"]
        if role != "cleanup":
            assert spec.get("serviceAccountName") == name
            assert spec["automountServiceAccountToken"] is False
        else:
            assert "cleanup" in spec["serviceAccountName"]
    made = [
        (obj["metadata"]["annotations"], obj["automountServiceAccountToken"])
        for obj in rendered.all("ServiceAccount", "security")
    ]
    assert made == ([(annotations, False)] if "create" in account else [])


def test_pull_secrets_are_names_or_objects() -> None:
    rendered = render({"image": {"pullSecrets": ["123", {"name": "b"}]}})
    for role in ROLES:
        secrets = pod_of(rendered, role)["spec"]["imagePullSecrets"]
        assert secrets == [{"name": "123"}, {"name": "b"}]


@pytest.mark.parametrize("role", ROLES)
def test_a_pod_names_its_run_and_its_last_words(role: str) -> None:
    pod = pod_of(render({"run": {"id": "1e3"}}), role)
    assert pod["metadata"]["labels"]["tf-cluster.io/run"] == "1e3"
    (container,) = pod["spec"]["containers"]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


@pytest.mark.parametrize(("deadline", "seconds"), [(1800, 1800), (0.5, 600), (7200.5, 7201)])
def test_a_ps_without_a_node_is_no_failure_before_the_chief_gives_up(
    deadline: float, seconds: int
) -> None:
    deployment = render({"peers": {"deadlineSeconds": deadline}}).one("Deployment", "ps")["spec"]
    assert deployment["progressDeadlineSeconds"] == seconds


def test_objects_of_the_users_own_have_the_releases_labels_and_are_no_templates() -> None:
    own = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "words", "labels": {"app.kubernetes.io/version": "7"}},
        "data": {"a": "{{ fail }}"},
    }
    rendered = render({"extraObjects": [own], "commonAnnotations": {"note": "b"}})
    (found,) = (obj for obj in rendered.objects if obj["metadata"]["name"] == "words")
    assert found["data"] == own["data"]
    assert found["metadata"]["labels"]["app.kubernetes.io/instance"] == "digits"
    assert found["metadata"]["labels"]["app.kubernetes.io/version"] == "7"
    assert found["metadata"]["annotations"] == {"note": "b"}
    before = render({"commonAnnotations": {"note": "b"}})
    assert rendered.names - before.names == {("ConfigMap", "words")}


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


SHARED = {"accessModes": ["ReadWriteMany"]}
SCRIPT = {
    "program": {"module": "", "script": "/data/train.py"},
    "evaluator": {"enabled": False},
}


@pytest.mark.parametrize(
    ("changes", "mounted", "is_colocated"),
    [
        ({}, (), False),
        ({"storage": {"log": SHARED, "data": SHARED}}, ("log",), False),
        ({"storage": {"log": SHARED, "data": {"enabled": False}}}, ("log",), False),
        # A claim of one node would take the ps there.
        ({"storage": {"log": SHARED}}, (), False),
        ({"storage": {"log": SHARED, "data": SHARED}, "ps": {"logVolume": False}}, (), False),
        ({"ps": {"logVolume": True}}, ("log",), True),
        ({"ps": {"logVolume": True}, "storage": {"log": SHARED, "data": SHARED}}, ("log",), False),
        ({"storage": {"log": SHARED, "data": SHARED}, **SCRIPT}, (), False),
        ({"storage": {"log": SHARED, "data": SHARED}, "interactive": {"enabled": True}}, (), False),
        (merged(SCRIPT, {"program": {"ps": "script"}}), ("data", "log"), True),
    ],
)
def test_a_ps_mounts_log_where_that_ties_it_to_no_node_or_where_it_is_told(
    changes: Values, mounted: tuple[str, ...], is_colocated: bool
) -> None:
    interactive = {"program": {"module": ""}, "evaluator": {"enabled": False}}
    rendered = render(merged(interactive if "interactive" in changes else {}, changes))
    pod = pod_of(rendered, "ps")["spec"]
    claims = {one["name"] for one in pod["volumes"] if "persistentVolumeClaim" in one}
    assert claims == set(mounted)
    mounts = {one["name"]: one for one in container_of(rendered, "ps")["volumeMounts"]}
    for name in mounted:
        assert mounts[name]["mountPath"] == f"/{name}" and "readOnly" not in mounts[name]
    assert ("affinity" in pod) == is_colocated
    if is_colocated:
        affinity = pod["affinity"]["podAffinity"]
        (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
        (roles,) = term["labelSelector"]["matchExpressions"]
        assert {"ps", "chief"} <= set(roles["values"])
    training = json.loads(rendered.one("ConfigMap", "config")["data"]["training.json"])
    asked = changes.get("ps", {}).get("logVolume")
    assert training.get("ps") == (None if asked is None else {"logVolume": asked})


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
