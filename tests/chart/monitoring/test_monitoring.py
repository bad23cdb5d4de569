"""PodMonitor, alerts and dashboard: what is rendered, refused and asked of Prometheus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml
from tf_cluster_trainer.protocol import Saved
from tf_cluster_trainer.supervisor.status import metrics
from tf_cluster_trainer.supervisor.status.counts import NOTHING_COUNTED
from tf_cluster_trainer.supervisor.status.document import Document

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, LEAST, Rendered, command, merged, refusal, render

ALL = FEATURES["dashboard-and-alerts"]


@pytest.fixture(scope="module")
def rendered() -> Rendered:
    return render(ALL)


def test_nothing_is_made_that_was_not_asked_for() -> None:
    assert not [obj for obj in render().objects if obj["kind"] in ("PodMonitor", "PrometheusRule")]
    assert ("ConfigMap", "digits-dashboard") not in render().names


def test_the_monitor_finds_the_status_port_of_every_task(rendered: Rendered) -> None:
    spec = rendered.one("PodMonitor", "monitoring")["spec"]
    (endpoint,) = spec["podMetricsEndpoints"]
    (expression,) = spec["selector"]["matchExpressions"]
    for pod in render(merged(ALL, FEATURES["evaluator"])).pods.values():
        labels = pod["metadata"]["labels"]
        role = labels["app.kubernetes.io/component"]
        chosen = role in expression["values"] and not (
            spec["selector"]["matchLabels"].items() - labels.items()
        )
        ports = [port["name"] for port in pod["spec"]["containers"][0].get("ports", [])]
        assert chosen == (endpoint["port"] in ports), role
        if chosen:
            assert set(spec["podTargetLabels"]) <= set(labels)


def test_the_values_of_the_monitor_and_the_rules_arrive(rendered: Rendered) -> None:
    monitor = rendered.one("PodMonitor", "monitoring")
    assert monitor["spec"]["podMetricsEndpoints"][0]["interval"] == "30s"
    rule = rendered.one("PrometheusRule", "monitoring")
    for obj in (monitor, rule):
        assert obj["metadata"]["labels"]["release"] == "prometheus"
    (group,) = rule["spec"]["groups"]
    assert [alert["labels"] for alert in group["rules"]] == [
        {"severity": "page", "team": "research"}
    ] * 3
    stalled, losses, checkpoint = (alert["expr"] for alert in group["rules"])
    assert stalled.count("offset 600s") == 1
    assert checkpoint.count("offset 1200s") == 2
    assert losses.endswith(">= 5")


def test_every_query_is_of_one_training() -> None:
    values = merged(ALL, {"nameOverride": "vision"})
    (group,) = render(values).one("PrometheusRule", "monitoring")["spec"]["groups"]
    panels = json.loads((CHART / "files" / "dashboard.json").read_text())["panels"]
    asked = {
        ("training", "digits", "vision"): [alert["expr"] for alert in group["rules"]],
        ("$namespace", "$release", "$name"): [
            target["expr"] for panel in panels for target in panel["targets"]
        ],
    }
    keys = ("namespace", "app_kubernetes_io_instance", "app_kubernetes_io_name")
    for words, expressions in asked.items():
        of = ",".join(f'{key}="{word}"' for key, word in zip(keys, words, strict=True))
        for expression in expressions:
            assert set(re.findall(r"tf_cluster_\w+({.*?}|)", expression)) == {f"{{{of}}}"}


def test_the_labels_that_are_asked_for_are_taken_from_the_pods(rendered: Rendered) -> None:
    labels = rendered.one("PodMonitor", "monitoring")["spec"]["podTargetLabels"]
    taken = {"namespace", "pod", *(re.sub(r"[./-]", "_", label) for label in labels)}
    (group,) = rendered.one("PrometheusRule", "monitoring")["spec"]["groups"]
    text = (CHART / "files" / "dashboard.json").read_text() + json.dumps(group)
    asked = set(re.findall(r"app_kubernetes_io_\w+", text))
    assert asked == {f"app_kubernetes_io_{word}" for word in ("name", "instance", "component")}
    assert asked <= taken


def test_the_dashboard_is_found_by_the_sidecar_of_grafana(rendered: Rendered) -> None:
    config = rendered.one("ConfigMap", "monitoring")
    assert config["metadata"]["labels"]["grafana_dashboard"] == "yes"
    assert json.loads(config["data"]["tf-cluster.json"])["title"] == "TensorFlow trainings"


def test_monitoring_restarts_no_training(rendered: Rendered) -> None:
    assert rendered.attempt == render().attempt


def test_annotations_lead_a_prometheus_to_every_task_and_to_no_other_pod() -> None:
    pages = {"notebook": {"enabled": True}, "tensorboard": {"enabled": True}}
    values = merged(merged(FEATURES["scrape-annotations"], FEATURES["evaluator"]), pages)
    for pod in render(values).pods.values():
        ports = {port["name"]: port for port in pod["spec"]["containers"][0].get("ports", [])}
        found = pod["metadata"].get("annotations", {})
        role = pod["metadata"]["labels"]["app.kubernetes.io/component"]
        if "status" not in ports:
            assert not found, role
            continue
        assert found["prometheus.io/scrape"] == "true"
        assert found["prometheus.io/port"] == str(ports["status"]["containerPort"])
        path = "/elsewhere" if role == "chief" else "/metrics"
        assert found["prometheus.io/path"] == path, "the role's own annotation wins"


@pytest.mark.parametrize(
    ("key", "kind"), [("podMonitor", "PodMonitor"), ("rules", "PrometheusRule")]
)
def test_an_api_that_is_not_there_is_named(key: str, kind: str, tmp_path: Path) -> None:
    values = tmp_path / "values.yaml"
    values.write_text(yaml.safe_dump(merged(LEAST, {"monitoring": {key: {"enabled": True}}})))
    done = command("template", "digits", str(CHART), f"--values={values}")
    assert done.returncode != 0
    assert f"monitoring.{key}.enabled is true, but this cluster has no {kind}." in done.stderr
    assert f"give it --api-versions monitoring.coreos.com/v1/{kind}" in done.stderr


def test_a_monitor_behind_a_closed_door_is_refused() -> None:
    assert refusal({"monitoring": {"podMonitor": {"enabled": True}}}) == (
        "monitoring.podMonitor.enabled is true, but security.networkPolicy.statusFrom lets nobody "
        "read the metrics: name Prometheus\nthere, as in [{namespaceSelector: {matchLabels: "
        "{kubernetes.io/metadata.name: monitoring}}}]."
    )


def test_without_a_policy_nobody_has_to_be_let_in() -> None:
    render(
        {
            "monitoring": {"podMonitor": {"enabled": True}},
            "security": {"networkPolicy": {"enabled": False}},
        }
    )


def test_every_metric_that_is_asked_for_is_one_that_tasks_serve(rendered: Rendered) -> None:
    dashboard = (CHART / "files" / "dashboard.json").read_text()
    rule = json.dumps(rendered.one("PrometheusRule", "monitoring")["spec"])
    asked = set(re.findall(r"tf_cluster_\w+", dashboard + rule))
    assert asked <= served(), asked - served()
    assert len(asked) >= 12


def served() -> set[str]:
    """The names of all series of /metrics, from a document in which every number is known."""
    document = Document(
        attempt="3f2a9c1b",
        start=0.0,
        total=2000,
        examples_per_step=32,
        step=1200,
        examples=38400,
        steps_per_second=412.0,
        eta_seconds=1.9,
        loss=0.31,
        checkpoint_step=1000,
        workers={"0": 610},
    )
    counts = NOTHING_COUNTED.saved(Saved(1000, 0.5)).lost(["worker-0"])
    lines = metrics.text(document, serving=True, counts=counts).decode().splitlines()
    return {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
