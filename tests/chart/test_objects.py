"""Which objects there are, and what all of them have in common."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, Rendered, render, template

TEST = {("Pod", "digits-test")}
ALWAYS = TEST | {
    ("ConfigMap", "digits-config-h"),
    ("Service", "digits-h"),
    ("Service", "digits-chief-h"),
    ("Deployment", "digits-ps-0-h"),
    ("Job", "digits-worker-h"),
    ("Job", "digits-chief-h"),
}
CLEANUP = {
    ("Job", "digits-cleanup-h-s"),
    ("ServiceAccount", "digits-cleanup-h"),
    ("Role", "digits-cleanup-h"),
    ("RoleBinding", "digits-cleanup-h"),
}
EVALUATOR = {("Job", "digits-eval-h-s")}
CLAIMS = {
    ("PersistentVolumeClaim", "digits-data"),
    ("PersistentVolumeClaim", "digits-log"),
}
TENSORBOARD = {(kind, "digits-tensorboard") for kind in ("Deployment", "Service", "NetworkPolicy")}
NOTEBOOK = {(kind, "digits-notebook") for kind in ("Deployment", "Service", "NetworkPolicy")}
TASKS_POLICY = {("NetworkPolicy", "digits-tasks")}
CLEANUP_POLICY = {("NetworkPolicy", "digits-cleanup")}
POLICIES = TASKS_POLICY | CLEANUP_POLICY
LEAST = ALWAYS | CLEANUP | CLAIMS | POLICIES
WITH_CHIEF = {("Job", "digits-chief-h"), ("Service", "digits-chief-h")}
WITHOUT_CHIEF = {("Service", "digits-worker-h-0")}
PS = {("Deployment", "digits-ps-0-h")}
BETWEEN_GRAPH = (LEAST - WITH_CHIEF) | WITHOUT_CHIEF

POD_GROUP = {("PodGroup", "digits-h")}
EXACTLY = {
    "least": LEAST,
    "medium": LEAST,
    "large": LEAST | {("Deployment", "digits-ps-1-h")},
    "between-graph": BETWEEN_GRAPH,
    "between-graph-sync": BETWEEN_GRAPH | {("Deployment", "digits-ps-1-h")},
    "first-worker-ends": BETWEEN_GRAPH,
    "all-reduce": BETWEEN_GRAPH - PS - CLEANUP - CLEANUP_POLICY,
    "evaluator": LEAST | EVALUATOR,
    "json-logs": LEAST | EVALUATOR,
    "evaluator-all-reduce": (BETWEEN_GRAPH - PS) | EVALUATOR,
    "script": LEAST,
    "script-on-ps": BETWEEN_GRAPH,
    "source-files": LEAST,
    "source-git": LEAST,
    "source-private": LEAST,
    "pod-defaults": LEAST | EVALUATOR,
    "devices": LEAST,
    "globals": LEAST,
    "no-cleanup": ALWAYS | CLAIMS | TASKS_POLICY,
    "keep-ps-after-failure": LEAST,
    "existing-claims": LEAST - CLAIMS,
    "static-volumes": LEAST,
    "team-claim": LEAST - CLAIMS,
    "no-data-claim": LEAST - {("PersistentVolumeClaim", "digits-data")},
    "tensorboard": LEAST | TENSORBOARD,
    "tensorboard-http-route": LEAST | TENSORBOARD | {("HTTPRoute", "digits-tensorboard")},
    "notebook-http-route": LEAST | NOTEBOOK | {("HTTPRoute", "digits-notebook")},
    "interactive": BETWEEN_GRAPH | NOTEBOOK | {("NetworkPolicy", "digits-client")},
    "no-network-policy": LEAST - POLICIES,
    "monitored": LEAST,
    "scrape-annotations": LEAST - POLICIES,
    "gang": LEAST | EVALUATOR | POD_GROUP,
    "spread": (LEAST - POLICIES) | {("Deployment", "digits-ps-1-h")} | POD_GROUP,
    "dashboard-and-alerts": LEAST
    | {
        ("PodMonitor", "digits"),
        ("PrometheusRule", "digits"),
        ("ConfigMap", "digits-dashboard"),
    },
    "everything": {
        (kind, name.replace("digits", "digits-vision"))
        for kind, name in LEAST
        | EVALUATOR
        | TENSORBOARD
        | NOTEBOOK
        | {("ServiceAccount", "digits")}
        | {("Ingress", "digits-tensorboard"), ("Ingress", "digits-notebook")}
    }
    | {("ConfigMap", "words")},
}


def without_hashes(rendered: Rendered) -> set[tuple[str, str]]:
    attempt = rendered.attempt
    return {
        (kind, re.sub(r"-h-[0-9a-f]{4}$", "-h-s", name.replace(f"-{attempt}", "-h")))
        for kind, name in rendered.names
    }


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_makes_exactly_these_objects(feature: str) -> None:
    assert without_hashes(render(FEATURES[feature])) == EXACTLY[feature]


@pytest.mark.parametrize("feature", FEATURES)
def test_every_object_says_whose_it_is(feature: str) -> None:
    values = FEATURES[feature]
    for obj in render(values).objects:
        labels = obj["metadata"]["labels"]
        assert labels["app.kubernetes.io/name"] == values.get("nameOverride", "tf-cluster")
        assert labels["app.kubernetes.io/instance"] == "digits"
        assert labels["app.kubernetes.io/component"]
        assert labels["app.kubernetes.io/version"] == "0.1.0"
        assert labels["app.kubernetes.io/managed-by"] == "Helm"
        assert labels["helm.sh/chart"] == "tf-cluster-0.1.0"
        assert values.get("commonLabels", {}).items() <= labels.items()
        annotations = obj["metadata"].get("annotations", {})
        assert values.get("commonAnnotations", {}).items() <= annotations.items()


def test_an_object_of_an_attempt_carries_it_as_a_label() -> None:
    rendered = render()
    for obj in rendered.objects:
        has = obj["metadata"]["labels"].get("tf-cluster.io/attempt")
        in_name = rendered.attempt in obj["metadata"]["name"]
        assert (has == rendered.attempt) == in_name, obj["metadata"]


def _strings(node: Any) -> list[str]:
    if isinstance(node, dict):
        return [s for key, child in node.items() for s in (key, *_strings(child))]
    if isinstance(node, list):
        return [s for child in node for s in _strings(child)]
    return [node] if isinstance(node, str) else []


@pytest.mark.parametrize("feature", FEATURES)
def test_labels_that_move_with_the_chart_stand_in_no_spec(feature: str) -> None:
    moving = {"helm.sh/chart", "app.kubernetes.io/version", "app.kubernetes.io/managed-by"}
    for obj in render(FEATURES[feature]).objects:
        assert moving.isdisjoint(_strings(obj.get("spec", {}))), obj["metadata"]["name"]


@pytest.mark.parametrize("feature", FEATURES)
def test_nothing_is_rendered_that_somebody_else_owns(feature: str) -> None:
    for obj in render(FEATURES[feature]).objects:
        spec = obj.get("spec", {})
        if obj["kind"] == "Job":
            assert not {"suspend", "ttlSecondsAfterFinished"} & set(spec)
            # Cleanup ends the other Jobs by theirs.
            asked = FEATURES[feature].get("run", {}).get("deadlineSeconds")
            limited = asked and obj["metadata"]["labels"]["app.kubernetes.io/component"] == (
                "worker" if "replication" in FEATURES[feature] else "chief"
            )
            assert spec.get("activeDeadlineSeconds") == (asked if limited else None)
        if obj["kind"] == "Deployment":
            assert "replicas" not in spec
        annotations = obj["metadata"].get("annotations", {})
        hook = {key: word for key, word in annotations.items() if key.startswith("helm.sh/hook")}
        # Argo CD knows hooks of this kind, and runs none of them.
        assert hook.get("helm.sh/hook") == ("test" if obj["kind"] == "Pod" else None)


def test_the_same_values_render_to_the_same_bytes() -> None:
    first = render(FEATURES["everything"]).text
    template.cache_clear()
    assert render(FEATURES["everything"]).text == first


def test_names_fit_where_the_name_is_as_long_as_it_may_be() -> None:
    rendered = render(
        {
            "fullnameOverride": "a" * 40,
            "worker": {"replicas": 1000},
            "ps": {"replicas": 101},
            "evaluator": {"enabled": True},
        }
    )
    for kind, name in rendered.names:
        assert len(name) <= 63, (kind, name)
    for address in rendered.cluster.cluster["worker"]:
        host, service = address.removesuffix(":2222").split(".")
        assert len(host) <= 63
        assert len(service) <= 63


@pytest.mark.parametrize("name", ["on", "123", "1e3", "0777", "null", "0x1f"])
def test_names_stay_text_whatever_they_look_like(name: str) -> None:
    roles = ("chief", "worker", "ps", "cleanup", "tensorboard")
    page = {"enabled": True, "ingress": {"enabled": True, "className": name, "host": name}}
    rendered = render(
        {
            "image": {"pullSecrets": [name]},
            "storage": {
                "data": {"existingClaim": name},
                "log": {"volumeName": name, "storageClassName": name},
            },
            **{
                role: {"priorityClassName": name, "nodeSelector": {name: name}}
                | (page if role == "tensorboard" else {})
                for role in roles
            },
        },
        namespace=name,
    )
    for pod in rendered.pods.values():
        spec = pod["spec"]
        assert spec["priorityClassName"] == name
        assert spec["imagePullSecrets"] == [{"name": name}]
        assert spec["nodeSelector"] == {name: name}
    (chief,) = rendered.all("Job", "chief")
    assert {"persistentVolumeClaim": {"claimName": name}, "name": "data"} in (
        chief["spec"]["template"]["spec"]["volumes"]
    )
    (ingress,) = rendered.all("Ingress")
    assert ingress["spec"]["ingressClassName"] == ingress["spec"]["rules"][0]["host"] == name
    (claim,) = rendered.all("PersistentVolumeClaim")
    assert [claim["spec"][key] for key in ("volumeName", "storageClassName")] == [name, name]
    (binding,) = rendered.all("RoleBinding")
    assert binding["subjects"][0]["namespace"] == name


PRINTED = r"^\s*(?:- )?(?!restartPolicy)[\w.-]+: \{\{ (.*?) \}\}"
# What is printed without quotes: words of the chart's own, and names that start with the fullname.
OURS = (
    r"^if\b|quote|toYaml|toJson|nindent|int64|\.(role|component|pullPolicy|graceSeconds)\b|\$name$"
    r'|"tf-cluster\.fullname"|\$(labels|port)$|names\.\w+$|^index \. [012]$'
)


def test_no_template_prints_a_users_name_without_quotes() -> None:
    safe = re.compile(OURS)
    for path in sorted((CHART / "templates").rglob("*.*")):
        if path.name.startswith(("_guards", "_notes", "NOTES", "_config")):
            continue
        for line in path.read_text().splitlines():
            for printed in re.findall(PRINTED, line):
                assert safe.search(printed), f"{path.name}: {line}"
            for named in re.findall(r'"tf-cluster\.object" \(list "\S+" "\w+" (.*)', line):
                assert re.search(r"[$.]names?\b|fullname|quote", named), f"{path.name}: {line}"


def test_only_guards_look_at_the_clusters_version() -> None:
    """Whatever else depended on it would start the training again after a cluster's upgrade."""
    templates = [
        path
        for chart in ("tf-cluster", "tf-serving", "tf-storage", "tf-tenant")
        for path in (CHART.parent / chart / "templates").rglob("*.*")
    ]

    looking = [path.name for path in templates if ".Capabilities" in path.read_text()]

    assert looking
    assert [name for name in looking if not name.startswith("_guards")] == []


@pytest.mark.parametrize("name", ["on", "y", "null"])
def test_a_release_may_have_a_name_that_yaml_takes_for_something_else(name: str) -> None:
    reader = {"networkPolicy": {"statusFrom": [{"podSelector": {}}]}}
    watched = {"podMonitor": {"enabled": True}, "rules": {"enabled": True}}
    values = {"security": reader, "monitoring": watched, "serviceAccount": {"create": True}}
    for obj in render({"fullnameOverride": name, **values}).objects:
        assert isinstance(obj["metadata"]["name"], str), obj["kind"]
