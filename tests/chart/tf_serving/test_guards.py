"""Every message of charts/tf-serving, and what the schema refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import ROOT, RefusedError, command, merged, template
from tests.chart.helm import refusal as refusal_of_chart
from tests.chart.tf_serving.features import EVERYTHING, LEAST, PROMETHEUS, RUN, SOURCES
from tests.chart.tf_serving.helm import SERVING, refusal, render, with_least
from tools.chart.values_docs import read_values

VALUES = (SERVING / "values.yaml").read_text()
CLAIM = {"claim": {"name": "models"}}
RWX = {"storage": {"accessModes": ["ReadWriteMany"]}}


def model(**changes: Any) -> dict[str, Any]:
    return {"models": {"digits": {"source": RUN, **changes}}}


def url(address: str) -> dict[str, Any]:
    return model(source={"url": {"address": address, "sha256": "ab" * 32}})


def required(kind: str, term: dict[str, Any]) -> dict[str, Any]:
    return {"pod": {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}}


TERM = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"a": "b"}}}
SPREAD = {
    "maxSkew": 1,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "DoNotSchedule",
    "labelSelector": {},
}
NO_S3 = (
    "tensorflow/serving reads no S3 since 2.7 (tensorflow/serving#1963). Copy the model to a "
    "claim\n(source.claim), pack it into an image (source.image), or give an HTTP(S) address and "
    "the file's hash (source.url)."
)
SEVERAL_NODES = (
    "pod.topologySpreadConstraints or pod.affinity.podAntiAffinity want several nodes, but all "
    "pods have to share one, since\nstorage.accessModes is [ReadWriteOnce]: take claims that are "
    "ReadWriteMany, or leave that out."
)

BY_METRICS = {"enabled": True, "targetCPUUtilizationPercentage": None}


def of_cpu(target: dict[str, Any] | None = None, **container: str) -> dict[str, Any]:
    """A metric of the pods' CPU, or of a container's."""
    kind = "ContainerResource" if container else "Resource"
    target = target or {"type": "Utilization", "averageUtilization": 70}
    key = f"{kind[0].lower()}{kind[1:]}"
    return {"type": kind, key: {"name": "cpu", "target": target, **container}}


MESSAGES: list[tuple[dict[str, Any], str]] = [
    (
        {"models": None},
        "models is empty: say what is served, as in models: {digits: {source: {run: {release: "
        'digits, id: "1"}}}}.',
    ),
    (
        model(source={"run": None}),
        "models.digits.source has nothing: give it one of run, claim, image and url.",
    ),
    (
        model(source={**CLAIM, **RUN}),
        "models.digits.source has claim and run: give it one of run, claim, image and url.",
    ),
    (
        model(source="/models/digits"),
        'models.digits.source is a text, "/models/digits": it has one of run, claim, image and url '
        "below it.",
    ),
    (
        model(source=""),
        'models.digits.source is a text, "": it has one of run, claim, image and url below it.',
    ),
    (model(source="s3://bucket/digits"), f"models.digits.source has s3://bucket/digits: {NO_S3}"),
    (url("s3://bucket/a.tgz"), f"models.digits.source has s3://bucket/a.tgz: {NO_S3}"),
    (
        url("gs://bucket/a.tgz"),
        "models.digits.source.url.address is gs://bucket/a.tgz: only http:// and https:// are "
        "fetched.",
    ),
    (
        url("https://a.example/a.tgz"),
        "tools.image.repository is empty, and the trainer image fetches models.digits.source.url: "
        "name the image that your trainings run.",
    ),
    (
        model(policy={"latest": 1, "specific": [3]}),
        "models.digits.policy has latest and specific: it takes one. A key of another values file "
        "goes when it is null here.",
    ),
    (
        model(policy={"specific": [3, 4]}, labels={"stable": 3, "canary": 5}),
        "models.digits.labels.canary is 5, but models.digits.policy.specific loads [3,4]:\n"
        "add it there, or move the label.",
    ),
    (
        model(labels={"stable": 3, "canary": 4}),
        "models.digits.labels name 2 versions, but models.digits.policy loads the latest 1:\n"
        "take policy specific, with these.",
    ),
    (
        {"image": {"repository": "serving:2"}},
        "image.repository is serving:2: the tag stands in image.tag, the digest in image.digest.",
    ),
    (
        {"server": {"preStopSeconds": 5}},
        "server.preStopSeconds is 5, but a client may stay with a pod for 11 s "
        "(server.maxConnectionAgeSeconds\nand a tenth): a pod that ends would lose its requests. "
        "Raise the one, or lower the other.",
    ),
    (
        {"server": {"preStopSeconds": 60}},
        "server.terminationGracePeriodSeconds is 60, and server.preStopSeconds takes 60\nof it: "
        "leave some seconds, in which requests are answered.",
    ),
    (
        {"server": {"readinessModel": "digit"}},
        "server.readinessModel is digit, which is not in models (digits).",
    ),
    (
        {"autoscaling": {"enabled": True}, "resources": {"requests": {"cpu": None}}},
        "autoscaling.targetCPUUtilizationPercentage is 70 percent of the CPU request, and there\n"
        "is none: set resources.requests.cpu.",
    ),
    *(
        (
            {
                "autoscaling": {**BY_METRICS, "metrics": [metric]},
                "resources": {"requests": {"cpu": None}},
            },
            "autoscaling.metrics[0] is a percentage of the CPU request, and there is none: set "
            "resources.requests.cpu.",
        )
        for metric in (of_cpu(), of_cpu(container="serving"))
    ),
    (
        {"autoscaling": {"enabled": True, "targetCPUUtilizationPercentage": None}},
        "autoscaling.metrics is empty, and autoscaling.targetCPUUtilizationPercentage is null: by "
        "what should it scale?",
    ),
    (
        {"autoscaling": {"enabled": True, "minReplicas": 4}},
        "autoscaling.minReplicas is 4, above autoscaling.maxReplicas, 3.",
    ),
    (
        {"autoscaling": {"enabled": True}, "replicas": 2},
        "replicas is 2, which would do nothing: autoscaling.enabled is true. Take "
        "autoscaling.minReplicas.",
    ),
    (
        {"rollout": {"maxSurge": "0%"}},
        "rollout.maxSurge and rollout.maxUnavailable are 0, so no pod could ever be replaced: "
        "raise one.",
    ),
    (
        {"podDisruptionBudget": {"minAvailable": 0}},
        "podDisruptionBudget.maxUnavailable and podDisruptionBudget.minAvailable: set one of the "
        "two, and the other to null.",
    ),
    (
        {"podDisruptionBudget": {"maxUnavailable": None}},
        "podDisruptionBudget.maxUnavailable and podDisruptionBudget.minAvailable: set one of the "
        "two, and the other to null.",
    ),
    (
        {"batching": {"allowedBatchSizes": [8, 1, 32]}},
        "batching.allowedBatchSizes is [8,1,32]: they have to rise, and the last has to be "
        "batching.maxBatchSize,\n32.",
    ),
    (
        {"batching": {"allowedBatchSizes": [1, 8]}},
        "batching.allowedBatchSizes is [1,8]: they have to rise, and the last has to be "
        "batching.maxBatchSize,\n32.",
    ),
    (
        {"service": {"nodePorts": {"http": 30000}}},
        "service.nodePorts would do nothing: service.type is ClusterIP, and it is for NodePort "
        "and LoadBalancer.",
    ),
    (
        {"service": {"type": "NodePort", "loadBalancerSourceRanges": ["10.0.0.0/8"]}},
        "service.loadBalancerSourceRanges would do nothing: service.type is NodePort, and it is "
        "for LoadBalancer.",
    ),
    (
        {"service": {"externalTrafficPolicy": "Local"}},
        "service.externalTrafficPolicy would do nothing: service.type is ClusterIP, and it is for "
        "NodePort and LoadBalancer.",
    ),
    (
        {"service": {"ports": {"grpc": 8501}}},
        "service.ports.grpc and service.ports.http are both 8501: a port of a Service is one's "
        "alone.",
    ),
    (
        {"storage": {"colocate": False}},
        "storage.colocate is false, but storage.accessModes is [ReadWriteOnce], which one node "
        "can mount. Set it to\n[ReadWriteMany] if the volumes can be mounted on several, or leave "
        "storage.colocate out.",
    ),
    ({"pod": {"topologySpreadConstraints": [SPREAD]}}, SEVERAL_NODES),
    (required("podAntiAffinity", TERM), SEVERAL_NODES),
    (
        required("podAffinity", TERM),
        "pod.affinity.podAffinity says beside whom the pods have to be, and so does "
        "storage.colocate, which is true where the claims are\nReadWriteOnce: leave one of the two "
        "out. storage.besideReleases names more releases.",
    ),
    (
        {"pod": {"podLabels": {"app.kubernetes.io/component": "a"}}},
        "pod.podLabels has app.kubernetes.io/component, by which the chart finds its pods: leave "
        "it out.",
    ),
    (
        {"pod": {"extraVolumeMounts": [{"name": "a", "mountPath": "/models/a"}]}},
        "pod.extraVolumeMounts has /models/a, where the chart mounts its own: take another path.",
    ),
    (
        {"pod": {"extraVolumes": [{"name": "claim-0", "emptyDir": {}}]}},
        "pod.extraVolumes has the name claim-0, which the chart's own volume has: take another.",
    ),
    (
        {"security": {"networkPolicy": {"enabled": False, "statusFrom": [PROMETHEUS]}}},
        "security.networkPolicy.allowFrom and statusFrom would do nothing, since "
        "security.networkPolicy.enabled is false: remove them.",
    ),
    (
        {"monitoring": {"podMonitor": {"enabled": True}}},
        "monitoring.podMonitor.enabled is true, but security.networkPolicy.statusFrom lets nobody "
        "read the metrics: name Prometheus\nthere, as in [{namespaceSelector: {matchLabels: "
        "{kubernetes.io/metadata.name: monitoring}}}].",
    ),
    (
        {
            "monitoring": {"enabled": False, "podMonitor": {"enabled": True}},
            "security": {"networkPolicy": {"statusFrom": [PROMETHEUS]}},
        },
        "monitoring.podMonitor.enabled is true, but monitoring.enabled is false, so there is "
        "nothing to read: remove one of the two.",
    ),
    (
        {"resources": {"limits": {"memory": 4}}},
        "resources.limits.memory is 4, which is less than 1M: write the unit, as in 4Gi.",
    ),
    ({"enabled": False}, "enabled is false: only an umbrella chart can leave this chart out."),
]


@pytest.mark.parametrize(("changes", "message"), MESSAGES)
def test_message(changes: dict[str, Any], message: str) -> None:
    values = {**LEAST, **changes} if "models" in changes else with_least(changes)
    if values["models"] is None:
        values = {key: value for key, value in values.items() if key != "models"}
    assert refusal(values) == message


@pytest.mark.parametrize(
    ("metric", "cpu"),
    [
        (of_cpu(), "1"),
        (of_cpu({"type": "AverageValue", "averageValue": "1"}), None),
        (of_cpu(container="beside"), None),
    ],
    ids=["with a request", "an amount", "a container that is injected"],
)
def test_what_needs_no_cpu_request_of_the_server_is_let_through(
    metric: dict[str, Any], cpu: str | None
) -> None:
    scaling = {**BY_METRICS, "metrics": [metric]}
    render(with_least({"autoscaling": scaling, "resources": {"requests": {"cpu": cpu}}}))


@pytest.mark.parametrize("flag", ["--port=1", "--model_config_file=/a", "--enable_profile=true"])
def test_a_flag_that_the_chart_sets_or_the_server_does_not_have_is_refused(flag: str) -> None:
    name = flag.partition("=")[0]
    told = refusal(with_least({"server": {"extraArgs": [flag]}}))
    assert f"server.extraArgs has {name}, which the chart sets by another value, or which" in told
    assert "Those it takes here: enable_grpc_healthcheck_service, enable_model_warmup" in told


def test_a_cluster_without_the_operator_is_told() -> None:
    values = with_least(
        {
            "monitoring": {"podMonitor": {"enabled": True}},
            "security": {"networkPolicy": {"statusFrom": [PROMETHEUS]}},
        }
    )
    render(values)  # as on a cluster that has it
    settings = (f"--set-json={key}={json.dumps(value)}" for key, value in values.items())
    said = command("template", "digits", str(SERVING), *settings).stderr
    assert "monitoring.podMonitor.enabled is true, but this cluster has no PodMonitor." in said


@pytest.mark.parametrize(
    ("changes", "path", "version"),
    [
        (
            {"pod": {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "b"}]}},
            "pod.resourceClaims",
            "1.31",
        ),
        (
            {"pod": {"containerSecurityContext": {"appArmorProfile": {"type": "RuntimeDefault"}}}},
            "pod.containerSecurityContext.appArmorProfile",
            "1.30",
        ),
    ],
)
def test_what_an_older_kubernetes_does_not_have_is_refused_there(
    changes: dict[str, Any], path: str, version: str
) -> None:
    values = with_least(changes)
    render(values, kubernetes=f"v{version}.0")
    with pytest.raises(RefusedError, match=f"{path} needs Kubernetes {version}; this is v1.28.0."):
        render(values, kubernetes="v1.28.0")


ROOT_USER = {"runAsUser": 0}
LET_IN = {"runAsUser": 0, "runAsNonRoot": False}


@pytest.mark.parametrize(
    ("of_pod", "of_containers", "told"),
    [
        (ROOT_USER, {}, "security.podSecurityContext.runAsUser is 0"),
        ({}, ROOT_USER, "pod.containerSecurityContext.runAsUser is 0"),
        (LET_IN, {"runAsNonRoot": True}, "security.podSecurityContext.runAsUser is 0"),
        (LET_IN, {}, ""),
        ({}, LET_IN, ""),
        (ROOT_USER, {"runAsUser": 7}, ""),
        (ROOT_USER, {"runAsNonRoot": False}, ""),
        ({"runAsUser": None}, {}, ""),
    ],
)
def test_user_0_needs_leave_to_be_root(
    of_pod: dict[str, Any], of_containers: dict[str, Any], told: str
) -> None:
    changes = {
        "security": {"podSecurityContext": of_pod},
        "pod": {"containerSecurityContext": of_containers},
    }
    values = with_least(changes)
    if told:
        assert f"{told}, which is root, and runAsNonRoot is true: no kubelet" in refusal(values)
    else:
        render(values)


@pytest.mark.parametrize("name", ["1digits", "a" * 59, "team.digits"])
def test_a_releases_name_has_to_be_a_services(name: str) -> None:
    if len(name) > 53:
        told = refusal(with_least({"nameOverride": "b" * 50}), release="digits-and-more")
    else:
        told = refusal(LEAST, release=name)
    assert "can't be a Service's: it needs a letter first" in told
    assert "or set fullnameOverride." in told


def test_all_complaints_come_at_once() -> None:
    told = refusal(
        with_least({"replicas": 2, "autoscaling": {"enabled": True}, "rollout": {"maxSurge": 0}})
    )
    assert "replicas is 2" in told
    assert "rollout.maxSurge" in told


def test_in_an_umbrella_the_users_keys_are_named(tmp_path: Path) -> None:
    part = {"enabled": True, **LEAST, "server": {"readinessModel": "b"}, "rollout": {"maxSurge": 0}}
    told = refusal_of_chart({"tf-serving": part, "tf-cluster": {"enabled": False}}, chart=ROOT)
    assert "tf-serving.server.readinessModel is b, which is not in models (digits)." in told
    assert "tf-serving.rollout.maxSurge and tf-serving.rollout.maxUnavailable are 0" in told


@pytest.mark.parametrize(
    "path", [value.path for value in read_values(VALUES)], ids=lambda path: ".".join(path)
)
def test_a_null_is_read_or_told(path: tuple[str, ...]) -> None:
    null: Any = None
    for key in reversed(path):
        null = {key: null}
    for values in (EVERYTHING, SOURCES, LEAST):
        try:
            text = json.dumps(merged(values, null))
            template(text, "digits", "training", str(SERVING))
        except RefusedError as error:
            assert "executing" not in str(error)  # a template's own error
            assert "nil pointer" not in str(error)


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"models": {"a/b": {"source": RUN}}}, "invalid propertyName 'a/b'"),
        ({"models": {"digits": {}}}, "missing property 'source'"),
        (model(source={"run": {"release": "digits"}}), "missing property 'id'"),
        (model(source={"run": {"release": "d", "id": 1}}), "source/run/id': got number"),
        (model(source={"run": {**RUN["run"], "directory": "log"}}), "source/run/directory"),
        (model(source={"claim": {"name": "models", "path": "../a"}}), "source/claim/path"),
        (model(source={"claim": {"name": "models", "path": "/a"}}), "source/claim/path"),
        (model(source={"claim": "models"}), "source/claim': got string"),
        (model(source={"image": {"reference": "a:1", "path": "model"}}), "source/image/path"),
        (model(source={"image": {"reference": "https://a/b", "path": "/a"}}), "image/reference"),
        (model(source={"url": {"address": "https://a.example/a.tgz"}}), "property 'sha256'"),
        (model(source={"s3": {"bucket": "a"}}), "'s3' not allowed"),
        (model(policy="latest"), "policy': got string"),
        (model(policy={"latest": 0}), "policy/latest': minimum"),
        (model(policy={"specific": []}), "policy/specific': minItems"),
        (model(policy={"all": False}), "policy/all'"),
        (model(labels={"stable": "3"}), "labels/stable': got string, want integer"),
        (model(labels={"a b": 3}), "invalid propertyName 'a b'"),
        (model(version=3), "'version' not allowed"),
    ],
)
def test_the_schema_names_the_place(changes: dict[str, Any], place: str) -> None:
    assert place in refusal({**LEAST, **changes})


@pytest.mark.parametrize(
    ("values", "setting"),
    [
        (
            model(policy={"specific": [3, 4]}, labels={"stable": 3}),
            "models.digits.labels.stable=4",
        ),
        (
            model(policy={"specific": [3]}, labels={"stable": 4}),
            "models.digits.policy.specific={3,4}",
        ),
        ({"batching": {"allowedBatchSizes": [8, 32]}}, "batching.maxBatchSize=32"),
        ({}, "batching.allowedBatchSizes={8,32}"),
    ],
    ids=["a label is moved", "a version is added", "the most", "the sizes"],
)
@pytest.mark.parametrize("helm", ["helm", "helm3"])
def test_a_number_of_a_file_and_one_of_set_are_the_same(
    values: dict[str, Any], setting: str, helm: str, tmp_path: Path
) -> None:
    """Helm gives templates a float of the one and an integer of the other."""
    file = tmp_path / "values.json"
    file.write_text(json.dumps(with_least(values)))
    done = command(
        "template", "digits", str(SERVING), f"--values={file}", f"--set={setting}", helm=helm
    )
    assert done.returncode == 0, done.stderr


def test_a_model_that_stands_twice_in_a_file_is_the_last_for_helm(tmp_path: Path) -> None:
    """No template sees it, so `tf-cluster serve` and its reader of YAML refuse it."""
    text = "models:\n  a: {source: {claim: {name: one}}}\n  a: {source: {claim: {name: two}}}\n"
    (tmp_path / "values.yaml").write_text(text)
    done = command("template", "digits", str(SERVING), f"--values={tmp_path / 'values.yaml'}")
    if done.returncode == 0:
        names = {obj["kind"]: obj for obj in yaml.safe_load_all(done.stdout) if obj}
        assert "/claims/two" in names["ConfigMap"]["data"]["models.config"]
    else:
        assert "already" in done.stderr
