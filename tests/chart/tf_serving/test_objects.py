"""What charts/tf-serving makes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from tests.chart.golden_files import SERVING_FOLDER, golden_text, serving_golden_path
from tests.chart.helm import CHART, HELMS, ROOT, RefusedError, merged
from tests.chart.helm import render as render_chart
from tests.chart.security.test_pod_security import violations
from tests.chart.test_template_lines import MOST_CHARACTERS, lines
from tests.chart.test_values import hold_closed, schema_keys
from tests.chart.tf_serving.features import EVERYTHING, FEATURES, LEAST, SOURCES
from tests.chart.tf_serving.helm import (
    SERVING,
    flags,
    notes,
    one,
    pod,
    render,
    server,
    with_least,
)
from tools.chart.value_lint import findings, templates_of
from tools.chart.values_docs import read_values

VALUES = (SERVING / "values.yaml").read_text()
SCHEMA = json.loads((SERVING / "values.schema.json").read_text())
RESTARTS = "tf-cluster.io/settings"

# Arena's chart for serving has 380 such lines, without autoscaling. Guards and notes are not
# counted, as with tf-cluster.
MOST_LINES = 350

# CoreDNS' `cache 30`, which many clusters have.
CACHED_MILLISECONDS = 30_000


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_renders_as_its_golden_file_says(feature: str) -> None:
    text = golden_text(render(FEATURES[feature]).text)
    assert text == serving_golden_path(feature).read_text(), "python -m tests.chart.golden_files"


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("helm", HELMS)
def test_both_helms_render_the_same(helm: str, feature: str) -> None:
    assert render(FEATURES[feature], helm=helm).objects == render(FEATURES[feature]).objects


def test_every_golden_file_belongs_to_a_feature() -> None:
    assert {path.stem for path in SERVING_FOLDER.glob("*.yaml")} == set(FEATURES)


def test_the_templates_stay_short() -> None:
    templates = SERVING / "templates"
    assert len(list(lines(templates, texts=False))) <= MOST_LINES
    long = [
        f"{path}:{number}"
        for path, number, line in lines(templates, texts=True)
        if len(line) > MOST_CHARACTERS
    ]
    assert long == []


def test_every_value_is_used_and_every_used_value_is_declared() -> None:
    templates = templates_of(SERVING)
    assert findings(templates, VALUES) == []
    unused = VALUES.replace("  # -- Batch requests.", "  # -- Forgotten.\n  forgotten: 1\n  #")
    assert findings(templates, unused) == [
        "batching.forgotten is declared in values.yaml and used by no template",
        "batching.enabled is used by a template and not declared in values.yaml",
    ]


def test_the_schema_is_closed_and_describes_what_is_declared() -> None:
    hold_closed(SCHEMA)
    assert set(schema_keys(SCHEMA)) == {value.path for value in read_values(VALUES)}
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(yaml.safe_load(VALUES))


def test_what_both_charts_pass_to_kubernetes_has_the_same_schema() -> None:
    theirs = json.loads((CHART / "values.schema.json").read_text())["definitions"]
    ours = SCHEMA["definitions"]
    both = ours.keys() & theirs.keys()
    assert {"affinity", "env", "podSecurityContext", "resources", "volumes"} <= both
    for name in both:
        assert ours[name] == theirs[name], name


def test_the_server_is_that_of_the_trainers_tensorflow() -> None:
    chart = yaml.safe_load((SERVING / "Chart.yaml").read_text())
    pinned = (ROOT / "requirements" / "trainer.in").read_text()
    assert f"tensorflow-cpu=={chart['appVersion']}\n" in pinned


MIRROR = {"global": {"imageRegistry": "mirror.example"}}
OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "global.imageRegistry": (LEAST, with_least(MIRROR)),
    "nameOverride": (LEAST, with_least({"nameOverride": "b"})),
    "models": (LEAST, SOURCES),
    "image.repository": (LEAST, with_least({"image": {"repository": "b"}})),
    "image.tag": (LEAST, with_least({"image": {"tag": "2.20.0"}})),
    "tools.image.repository": (SOURCES, merged(SOURCES, {"tools": {"image": {"repository": "b"}}})),
    "tools.image.tag": (SOURCES, merged(SOURCES, {"tools": {"image": {"tag": "b"}}})),
    "replicas": (LEAST, with_least({"replicas": 2})),
    "podDisruptionBudget.enabled": (LEAST, FEATURES["bare"]),
    "podDisruptionBudget.maxUnavailable": (
        LEAST,
        with_least({"podDisruptionBudget": {"maxUnavailable": 2}}),
    ),
    "storage.colocate": (LEAST, with_least({"storage": {"accessModes": ["ReadWriteMany"]}})),
    "storage.accessModes": (LEAST, with_least({"storage": {"accessModes": ["ReadWriteMany"]}})),
    "security.networkPolicy.enabled": (LEAST, FEATURES["bare"]),
    "monitoring.enabled": (LEAST, with_least({"monitoring": {"enabled": False}})),
}
"""Two sets of values that differ in this value."""
ELSEWHERE = {
    "enabled",  # tests/chart/test_umbrella.py
    "clusterDomain",  # test_the_notes_name_…, below
}


@pytest.mark.parametrize(
    "path",
    [
        value.path
        for value in read_values(VALUES)
        if not value.is_section and ".".join(value.path) not in ELSEWHERE
    ],
    ids=".".join,
)
def test_every_value_makes_a_difference(path: tuple[str, ...]) -> None:
    """What the feature `everything` sets is rendered otherwise, or refused, without it."""
    if ".".join(path) in OTHERS:
        before, after = OTHERS[".".join(path)]
        assert render(before).text != render(after).text
        return
    without = json.loads(json.dumps(EVERYTHING))
    inside = without
    for key in path[:-1]:
        inside = inside[key]
    del inside[path[-1]]
    try:
        assert render(without).text != render(EVERYTHING).text
    except RefusedError as error:
        assert path[0] in str(error)


def test_the_least_makes_these_objects() -> None:
    assert render(LEAST).names == {
        ("ConfigMap", "digits-config"),
        ("Deployment", "digits"),
        ("NetworkPolicy", "digits"),
        ("PodDisruptionBudget", "digits"),
        ("Service", "digits"),
        ("Service", "digits-pods"),
    }


@pytest.mark.parametrize("feature", FEATURES)
def test_every_object_has_the_labels_that_the_tool_looks_for(feature: str) -> None:
    name = FEATURES[feature].get("nameOverride", "tf-serving")
    for obj in render(FEATURES[feature]).objects:
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == name
        assert labels["app.kubernetes.io/instance"] == "digits"
        assert labels["app.kubernetes.io/component"] == "serving"
        assert labels["app.kubernetes.io/part-of"] == "tf-cluster"


@pytest.mark.parametrize("feature", FEATURES)
def test_every_selector_selects_the_pods(feature: str) -> None:
    rendered = render(FEATURES[feature])
    (deployment,) = rendered.all("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"].items()
    found = 0
    for obj in rendered.objects:
        spec = obj.get("spec", {})
        for selector in (spec.get("selector"), spec.get("podSelector")):
            if selector is not None:
                found += 1
                assert selector.get("matchLabels", selector).items() <= labels, obj["kind"]
    assert found >= 3


def test_two_servers_of_one_release_are_strangers() -> None:
    first, second = (render(with_least({"fullnameOverride": name})) for name in ("a", "b"))
    labels = one(first, "Deployment", "a")["spec"]["template"]["metadata"]["labels"]
    selector = one(second, "Service", "b")["spec"]["selector"]
    assert not selector.items() <= labels.items()


def test_the_annotation_tells_the_tool_what_is_served() -> None:
    deployment = one(render(SOURCES), "Deployment")
    assert json.loads(deployment["metadata"]["annotations"]["tf-cluster.io/models"]) == {
        "trained": {
            "source": {"kind": "run", "claim": "digits-log", "path": "digits/1/export"},
            "policy": {"latest": 1},
            "labels": {},
        },
        "better": {
            "source": {"kind": "run", "claim": "team-log", "path": "old/b/best"},
            "policy": {"latest": 1},
            "labels": {},
        },
        "published": {
            "source": {"kind": "claim", "claim": "models", "path": "teams/vision"},
            "policy": {"specific": [3, 1000000]},
            "labels": {"stable": 3, "canary": 1000000},
        },
        "root": {
            "source": {"kind": "claim", "claim": "models", "path": ""},
            "policy": {"all": True},
            "labels": {},
        },
        "packed": {
            "source": {"kind": "image", "claim": "", "path": "/model/"},
            "policy": {"latest": 2},
            "labels": {},
        },
        "fetched.1": {
            "source": {"kind": "url", "claim": "", "path": ""},
            "policy": {"latest": 1},
            "labels": {},
        },
    }


@pytest.mark.parametrize("feature", FEATURES)
def test_the_pod_is_restricted_and_its_root_read_only(feature: str) -> None:
    (deployment,) = render(FEATURES[feature]).all("Deployment")
    template = deployment["spec"]["template"]
    assert violations(template) == []
    spec = template["spec"]
    assert spec["automountServiceAccountToken"] is False
    for container in (*spec["initContainers"], *spec["containers"]):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        named = {mount["name"] for mount in container["volumeMounts"]}
        assert named <= {volume["name"] for volume in spec["volumes"]}


def test_a_key_of_the_security_context_can_be_left_out_for_openshift() -> None:
    context = {"runAsUser": None, "runAsGroup": None, "fsGroup": None}
    rendered = render(with_least({"security": {"podSecurityContext": context}}))
    assert set(pod(rendered)["spec"]["securityContext"]) == {
        "runAsNonRoot",
        "fsGroupChangePolicy",
        "seccompProfile",
    }


def test_the_servers_program_runs_without_the_images_shell() -> None:
    assert server(render(LEAST))["command"] == ["/usr/bin/tensorflow_model_server"]


@pytest.mark.parametrize(
    ("resources", "threads"),
    [
        ({"requests": {"cpu": "500m"}}, "1"),
        ({"requests": {"cpu": "1500m"}}, "2"),
        ({"requests": {"cpu": 3}}, "3"),
        ({"requests": {"cpu": "2.5"}}, "3"),
        ({"requests": {"cpu": None}, "limits": {"cpu": "4"}}, "4"),
        ({"requests": None, "limits": None}, None),
    ],
)
def test_threads_follow_the_cpu_request(resources: dict[str, Any], threads: str | None) -> None:
    found = flags(render(with_least({"resources": resources})))
    assert found.get("tensorflow_intra_op_parallelism") == threads
    assert found.get("tensorflow_inter_op_parallelism") == threads


def test_the_image_is_the_cpus_or_the_gpus_and_a_digest_wins() -> None:
    gpu = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
    tagged = {"image": {"tag": "2.20.0"}}
    digest = "sha256:" + "ab" * 32
    for values, image in (
        ({}, "tensorflow/serving:2.21.0"),
        (gpu, "tensorflow/serving:2.21.0-gpu"),
        ({"resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}}, "tensorflow/serving:2.21.0-gpu"),
        ({"resources": {"limits": {"amd.com/gpu": 1}}}, "tensorflow/serving:2.21.0"),
        (merged(gpu, tagged), "tensorflow/serving:2.20.0"),
        (merged(tagged, {"image": {"digest": digest}}), f"tensorflow/serving@{digest}"),
    ):
        assert server(render(with_least(values)))["image"] == image


def test_the_registry_and_pull_secrets_that_charts_share_are_taken() -> None:
    shared = {"imageRegistry": "mirror.example:5000", "imagePullSecrets": ["a", {"name": "b"}]}
    rendered = render(merged(SOURCES, {"global": shared, "image": {"pullSecrets": ["b"]}}))
    spec = pod(rendered)["spec"]
    assert spec["imagePullSecrets"] == [{"name": "b"}, {"name": "a"}]
    images = {container["name"]: container["image"] for container in spec["initContainers"]}
    assert images.pop("check") == "mirror.example:5000/tensorflow/serving:2.21.0"
    # These name a registry.
    assert set(images.values()) == {
        "registry.example/tf-cluster-trainer:0.1.0",
        "registry.example/models:3",
    }


def test_what_another_chart_shares_is_left_alone() -> None:
    assert render(with_least({"global": {"storageClass": "a"}})).text == render(LEAST).text


def template_of(values: dict[str, Any]) -> dict[str, Any]:
    return pod(render(values))


def test_a_new_model_of_a_claim_a_moved_label_and_another_policy_restart_no_pod() -> None:
    before = {
        "models": {
            "digits": {
                "source": {"claim": {"name": "models", "path": "digits"}},
                "policy": {"specific": [3, 4]},
                "labels": {"stable": 3},
            }
        }
    }
    for changes in (
        {"digits": {"labels": {"stable": 4}}},
        {"digits": {"policy": {"specific": [4]}, "labels": {"stable": 4}}},
        {"mnist": {"source": {"claim": {"name": "models", "path": "mnist"}}}},
    ):
        after = merged(before, {"models": changes})
        assert template_of(after) == template_of(before)
        config = one(render(after), "ConfigMap", "digits-config")
        assert config != one(render(before), "ConfigMap", "digits-config")


def test_a_model_that_sorts_first_restarts_no_pod_where_the_model_of_readiness_is_named() -> None:
    before = merged(LEAST, {"server": {"readinessModel": "digits"}})
    cats = {"source": {"run": {"release": "digits", "id": "2"}}}
    assert template_of(merged(before, {"models": {"cats": cats}})) == template_of(before)
    assert template_of(merged(LEAST, {"models": {"cats": cats}})) != template_of(LEAST)


@pytest.mark.parametrize(
    "changes",
    [
        {"batching": {"enabled": True}},
        {"monitoring": {"path": "/metrics"}},
        {"server": {"versionPollSeconds": 60}},
    ],
)
def test_what_the_server_reads_at_its_start_alone_restarts_the_pods(
    changes: dict[str, Any],
) -> None:
    assert template_of(with_least(changes)) != template_of(LEAST)
    batching = with_least({"batching": {"enabled": True}})
    waits = merged(batching, {"batching": {"timeoutMicros": 7}})
    first, second = (template_of(values)["metadata"]["annotations"] for values in (batching, waits))
    assert first[RESTARTS] != second[RESTARTS]


def test_the_files_are_mounted_as_a_directory_and_the_server_looks_again() -> None:
    rendered = render(LEAST)
    (mount,) = (m for m in server(rendered)["volumeMounts"] if m["name"] == "config")
    assert mount == {"name": "config", "mountPath": "/etc/tf-serving", "readOnly": True}
    found = flags(rendered)
    files = one(rendered, "ConfigMap", "digits-config")["data"]
    for flag in ("model_config_file", "monitoring_config_file"):
        assert found[flag].removeprefix("/etc/tf-serving/") in files
    assert int(found["model_config_file_poll_wait_seconds"]) > 0
    assert found["allow_version_labels_for_unavailable_models"] == "true"


def test_claims_are_mounted_once_each_and_only_read() -> None:
    rendered = render(SOURCES)
    volumes = {
        volume["name"]: volume["persistentVolumeClaim"]["claimName"]
        for volume in pod(rendered)["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    }
    assert sorted(volumes.values()) == ["digits-log", "models", "team-log"]
    for mount in server(rendered)["volumeMounts"]:
        if mount["name"] in volumes:
            assert mount["mountPath"] == f"/claims/{volumes[mount['name']]}"
            assert mount["readOnly"] is True


def test_a_model_of_an_image_or_an_address_is_brought_before_the_check() -> None:
    copy, fetch, check = pod(render({**SOURCES, "models": _brought()}))["spec"]["initContainers"]
    assert check["name"] == "check"
    assert copy["image"] == "registry.example/models:3"
    assert copy["command"] == ["cp", "-R", "/model/.", "/models/a"]
    assert fetch["image"] == "registry.example/tf-cluster-trainer:0.1.0"
    assert fetch["command"] == [
        *("python", "-m", "tf_cluster_trainer.sources.model", "https://files.example/a.tar.gz"),
        *("ab" * 32, "/models/b.1", "models.b.1.source.url"),
    ]
    untagged = merged(SOURCES, {"tools": {"image": {"tag": ""}}, "models": _brought()})
    images = {one["image"] for one in pod(render(untagged))["spec"]["initContainers"]}
    version = yaml.safe_load((SERVING / "Chart.yaml").read_text())["version"]
    assert f"registry.example/tf-cluster-trainer:{version}" in images
    for container, name in ((copy, "a"), (fetch, "b.1")):
        mount = {"name": "models", "mountPath": f"/models/{name}", "subPath": name}
        assert mount in container["volumeMounts"]


def _brought() -> dict[str, Any]:
    models = SOURCES["models"]
    return {"a": models["packed"], "b.1": models["fetched.1"]}


def test_pods_stay_beside_who_mounts_a_claim_that_one_node_can_mount() -> None:
    (term,) = pod(render(SOURCES))["spec"]["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    releases, roles = term["labelSelector"]["matchExpressions"]
    assert releases["values"] == ["digits", "old"]
    rendered = render_chart({"storage": {"log": {"accessModes": ["ReadWriteOnce"]}}})
    mounting = {
        template["metadata"]["labels"]["app.kubernetes.io/component"]
        for template in rendered.pods.values()
        if any("persistentVolumeClaim" in volume for volume in template["spec"]["volumes"])
    }
    assert mounting <= set(roles["values"])
    labels = pod(render(SOURCES))["metadata"]["labels"]
    for rule in (releases, roles):
        assert labels[rule["key"]] in rule["values"], "the first pod matches its own rule"


@pytest.mark.parametrize("mode", ["ReadWriteMany", "ReadOnlyMany"])
def test_where_several_nodes_can_mount_the_claims_pods_go_anywhere(mode: str) -> None:
    values = with_least({"storage": {"accessModes": [mode]}})
    assert pod(render(values))["spec"]["affinity"] == {}


def test_without_claims_pods_go_anywhere() -> None:
    values = {**SOURCES, "models": _brought()}
    assert pod(render(values))["spec"]["affinity"] == {}


def test_probes_wait_for_a_load_ask_for_the_model_and_kill_only_for_the_port() -> None:
    container = server(render(LEAST))
    start = container["startupProbe"]
    assert start["tcpSocket"] == {"port": "grpc"}
    assert start["failureThreshold"] * start["periodSeconds"] == 900
    assert container["readinessProbe"]["httpGet"] == {"path": "/v1/models/digits", "port": "http"}
    assert container["livenessProbe"]["tcpSocket"] == {"port": "grpc"}
    deployment = one(render(LEAST), "Deployment")["spec"]
    assert deployment["progressDeadlineSeconds"] > 900


def test_a_pod_that_ends_outlives_every_connection_to_it() -> None:
    rendered = render(LEAST)
    _, _, age = flags(rendered)["grpc_channel_arguments"].partition("=")
    (word, seconds) = server(rendered)["lifecycle"]["preStop"]["exec"]["command"]
    assert word == "sleep"
    # Until then DNS may name the pod; and gRPC takes a tenth more or less.
    assert int(seconds) * 1000 > CACHED_MILLISECONDS + int(age) * 1.1
    assert pod(rendered)["spec"]["terminationGracePeriodSeconds"] > int(seconds)
    strategy = one(rendered, "Deployment")["spec"]["strategy"]["rollingUpdate"]
    assert strategy == {"maxSurge": 1, "maxUnavailable": 0}


def test_the_services_lead_to_the_pods_ports() -> None:
    rendered = render(LEAST)
    ports = {port["name"]: port["containerPort"] for port in server(rendered)["ports"]}
    assert ports == {"grpc": 8500, "http": 8501}
    assert [flags(rendered)[name] for name in ("port", "rest_api_port")] == ["8500", "8501"]
    for name, address in (("digits", None), ("digits-pods", "None")):
        spec = one(rendered, "Service", name)["spec"]
        assert spec.get("clusterIP") == address
        assert {port["name"]: port["appProtocol"] for port in spec["ports"]} == {
            "grpc": "kubernetes.io/h2c",
            "http": "http",
        }
        assert all(port["targetPort"] == port["name"] for port in spec["ports"])


def test_the_autoscaler_has_the_number_of_pods() -> None:
    rendered = render(FEATURES["shared-and-scaled"])
    assert "replicas" not in one(rendered, "Deployment")["spec"]
    spec = one(rendered, "HorizontalPodAutoscaler")["spec"]
    assert spec["scaleTargetRef"]["name"] == "digits"
    (metric,) = spec["metrics"]
    assert metric["containerResource"]["container"] == server(rendered)["name"]
    assert metric["containerResource"]["name"] == "cpu"


def test_other_metrics_are_passed_on() -> None:
    rendered = render(EVERYTHING)
    spec = one(rendered, "HorizontalPodAutoscaler", "vision")["spec"]
    assert spec["metrics"][1:] == EVERYTHING["autoscaling"]["metrics"]
    assert spec["behavior"]["scaleUp"] == {"stabilizationWindowSeconds": 30}
    alone = merged(EVERYTHING, {"autoscaling": {"targetCPUUtilizationPercentage": None}})
    spec = one(render(alone), "HorizontalPodAutoscaler", "vision")["spec"]
    assert spec["metrics"] == EVERYTHING["autoscaling"]["metrics"]


def test_a_budget_says_one_of_the_two_also_where_it_is_0() -> None:
    for key, other in (("maxUnavailable", "minAvailable"), ("minAvailable", "maxUnavailable")):
        values = with_least({"podDisruptionBudget": {key: 0, other: None}})
        spec = one(render(values), "PodDisruptionBudget")["spec"]
        assert (spec[key], other in spec) == (0, False)


def peers(values: dict[str, Any]) -> list[tuple[Any, set[int]]]:
    """Whom the policy lets in, and to which ports; None is everybody."""
    spec = one(render(values), "NetworkPolicy")["spec"]
    return [
        (rule.get("from"), {port["port"] for port in rule["ports"]}) for rule in spec["ingress"]
    ]


LABELLED = {"podSelector": {"matchLabels": {"tf-cluster.io/serving-client": "digits"}}}


def test_only_who_has_the_label_reaches_the_server() -> None:
    assert peers(LEAST) == [([LABELLED], {8500, 8501})]


def test_peers_of_the_values_reach_it_too_and_prometheus_the_rest_port() -> None:
    peer = {"podSelector": {"matchLabels": {"app": "shop"}}}
    policy = {"allowFrom": [peer], "statusFrom": [peer]}
    found = peers(with_least({"security": {"networkPolicy": policy}}))
    assert found == [([LABELLED, peer], {8500, 8501}), ([peer], {8501})]


@pytest.mark.parametrize("kind", ["NodePort", "LoadBalancer"])
def test_everybody_reaches_a_service_that_is_open_to_the_outside(kind: str) -> None:
    values = with_least({"service": {"type": kind}})
    assert peers(values) == [(None, {8500, 8501})]
    closed = merged(values, {"security": {"networkPolicy": {"allowFrom": []}}})
    assert peers(closed) == [([LABELLED], {8500, 8501})]


def test_the_notes_name_addresses_and_what_is_left_to_do() -> None:
    said = notes(merged(LEAST, {"clusterDomain": "cluster.example"}))
    assert "digits serves digits." in said
    assert "http://digits.training.svc.cluster.example:8501/v1/models/digits:predict" in said
    assert "dns:///digits-pods.training.svc.cluster.example:8500 with round_robin" in said
    assert "need the label tf-cluster.io/serving-client: digits" in said
    assert "All pods share one node, since storage.accessModes is [ReadWriteOnce]." in said
    assert "metrics-server" not in said
    scaled = notes(FEATURES["shared-and-scaled"])
    assert "The autoscaler needs metrics-server." in scaled
    assert "share one node" not in scaled


def test_the_notes_name_the_trap_of_the_newest_version() -> None:
    trap = "keeps every new\npod from starting"
    assert trap in notes(LEAST)
    best = {"source": {"run": {"release": "digits", "id": "1", "directory": "best"}}}
    fixed = {"source": {"claim": {"name": "models"}}, "policy": {"specific": [3]}}
    for model in (best, fixed):
        assert trap not in notes({"models": {"digits": model}})
    labelled = {**best, "labels": {"stable": 3}}
    assert "has labels for 3, which its policy unloads" in notes({"models": {"digits": labelled}})


@pytest.mark.parametrize("helm", HELMS)
def test_the_umbrella_leaves_it_out_unless_told(helm: str) -> None:
    off = {"tf-cluster": {"enabled": False}}
    assert render_chart(off, chart=ROOT, helm=helm).objects == []
    on = {**off, "tf-serving": {"enabled": True, **LEAST}}
    made = render_chart(on, chart=ROOT, helm=helm).objects
    assert made == render(LEAST, helm=helm).objects
