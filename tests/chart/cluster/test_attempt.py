"""The attempt's hash changes when pods have to, and only then."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chart.helm import CHART, Rendered, command, render

ChangeChart = Callable[..., Path]

SHARED = {"accessModes": ["ReadWriteMany"]}
CHANGES_OF_SPECS: dict[str, dict[str, Any]] = {
    "another image": {"image": {"tag": "2"}},
    "more steps": {"train": {"steps": 5000}},
    "a flag": {"flags": {"units": 64}},
    "another run": {"run": {"id": "2"}},
    "another attempt": {"run": {"attempt": 2}},
    "a worker more": {"worker": {"replicas": 3}},
    "a ps more": {"ps": {"replicas": 2}},
    "resources of a ps": {"ps": {"resources": {"limits": {"memory": "8Gi"}}}},
    "the workers' success": {
        "replication": "between-graph",
        "worker": {"successPolicy": "first"},
    },
    "backoff of the chief": {"chief": {"backoffLimit": 1}},
    "environment": {"worker": {"extraEnv": [{"name": "A", "value": "1"}]}},
    "another claim": {"storage": {"data": {"existingClaim": "other"}}},
    "no colocation": {"storage": {"data": SHARED, "log": SHARED}},
    "a pod's label": {"chief": {"podLabels": {"team": "a"}}},
    "a security context": {"security": {"podSecurityContext": {"runAsUser": 2000}}},
}
OTHER_CHANGES: dict[str, dict[str, Any]] = {
    "labels of objects": {"commonLabels": {"team": "a"}},
    "annotations of objects": {"commonAnnotations": {"team": "a"}},
    "cleanup's delay": {"cleanup": {"delaySeconds": {"success": 1}}},
    "no cleanup": {"cleanup": {"enabled": False}},
    "an evaluator": {"evaluator": {"enabled": True, "exportBest": {"metric": "accuracy"}}},
    "TensorBoard": {"tensorboard": {"enabled": True, "logdir": "/log"}},
    "no policies": {"security": {"networkPolicy": {"enabled": False}}},
    "the size of a claim": {"storage": {"log": {"size": "50Gi"}}},
    "the class of a claim": {"storage": {"log": {"storageClassName": "fast"}}},
    "the domain": {"clusterDomain": "example"},
    "the same written out": {"train": {"steps": 1000}, "worker": {"replicas": 2}},
}


def training(rendered: Rendered) -> list[dict[str, Any]]:
    return [
        *rendered.all("ConfigMap"),
        *rendered.all("Deployment", "ps"),
        *rendered.all("Job", "chief"),
        *rendered.all("Job", "worker"),
        *(obj for obj in rendered.all("Service") if rendered.attempt in obj["metadata"]["name"]),
    ]


@pytest.mark.parametrize("change", CHANGES_OF_SPECS)
def test_a_changed_spec_is_a_new_attempt(change: str) -> None:
    assert render(CHANGES_OF_SPECS[change]).attempt != render().attempt


@pytest.mark.parametrize("change", OTHER_CHANGES)
def test_any_other_change_leaves_the_training_as_it_is(change: str) -> None:
    before, after = training(render()), training(render(OTHER_CHANGES[change]))
    for old, new in zip(before, after, strict=True):
        assert old["metadata"]["name"] == new["metadata"]["name"]
        assert old.get("spec") == new.get("spec")
        assert old.get("data") == new.get("data")


@pytest.mark.parametrize(
    ("values", "client"), [({}, "chief"), ({"replication": "between-graph"}, "worker")]
)
def test_a_deadline_is_the_clients_alone_and_changes_in_place(
    values: dict[str, Any], client: str
) -> None:
    values = values | {"evaluator": {"enabled": True}}
    before, after = (render(values | {"run": run}) for run in ({}, {"deadlineSeconds": 1e6}))
    assert before.names == after.names
    for old, new in zip(before.objects, after.objects, strict=True):
        if (new["kind"], new["metadata"]["labels"]["app.kubernetes.io/component"]) == (
            "Job",
            client,
        ):
            assert new["spec"].pop("activeDeadlineSeconds") == 1_000_000
        assert old == new


def test_without_a_chief_the_first_worker_can_end_the_job() -> None:
    values: dict[str, Any] = {"replication": "between-graph"}
    first = {"worker": {"successPolicy": "first"}}
    assert "successPolicy" not in render(values).one("Job", "worker")["spec"]
    spec = render(values | first).one("Job", "worker")["spec"]
    assert spec["successPolicy"] == {"rules": [{"succeededIndexes": "0"}]}


@pytest.mark.parametrize("version", ["v1.32.9", "v1.32.3-eks-1"])
def test_a_success_policy_needs_a_cluster_that_has_it(version: str) -> None:
    first = ("--set=replication=between-graph", "--set=worker.successPolicy=first")
    asked = ("template", "digits", str(CHART), *first, f"--kube-version={version}")
    least = ("--set=image.repository=a/b", "--set=program.module=a:B")
    refused = command(*asked, *least)
    assert f"which Kubernetes has from 1.33 on; this is {version}" in refused.stderr
    assert command(*asked[:-1], "--kube-version=v1.33.0-gke.1", *least).returncode == 0


def test_another_chart_version_leaves_the_training_as_it_is(
    changed_chart: ChangeChart,
) -> None:
    chart = changed_chart("version: 0.1.0", "version: 0.2.0")
    newer = render(chart=chart)
    assert 'helm.sh/chart: "tf-cluster-0.2.0"' in newer.text
    assert newer.names == render().names


def test_another_app_version_is_another_image_and_a_new_attempt(
    changed_chart: ChangeChart,
) -> None:
    chart = changed_chart('appVersion: "0.1.0"', 'appVersion: "0.2.0"')
    assert render(chart=chart).attempt != render().attempt
    pinned = {"image": {"tag": "0.1.0"}}
    assert render(pinned, chart=chart).attempt == render(pinned).attempt


@pytest.mark.parametrize(
    ("template", "old", "new"),
    [
        (
            "_pod.tpl",
            'include "tf-cluster.image" $context | quote',
            'include "tf-cluster.image" $context',
        ),
        ("_pod.tpl", "{{- dict $field . | toYaml | nindent 2 }}", "{{ $field }}: {{ toJson . }}"),
        ("config/_config.tpl", "| toPrettyJson", "| toJson"),
        (
            "chief/_spec.tpl",
            '.podFailurePolicy" . | nindent 2',
            '.podFailurePolicy" . | nindent 8',
        ),
    ],
    ids=["quotes", "another form of a field", "JSON in one line", "indentation"],
)
def test_a_template_that_prints_the_same_in_another_way_leaves_the_training_as_it_is(
    changed_chart: ChangeChart, template: str, old: str, new: str
) -> None:
    values = {"worker": {"priorityClassName": "high"}, "evaluator": {"enabled": True}}
    chart = changed_chart(old, new, f"templates/{template}")
    changed = render(values, chart=chart)
    assert changed.text != render(values).text
    assert changed.names == render(values).names


def test_cleanup_has_a_hash_of_its_own_behind_the_attempts() -> None:
    before, after = render(), render({"cleanup": {"delaySeconds": {"success": 1}}})
    old, new = (r.one("Job", "cleanup")["metadata"]["name"] for r in (before, after))
    assert old != new
    assert old[:-4] == new[:-4] == f"digits-cleanup-{before.attempt}-"
    others = {"ServiceAccount", "Role", "RoleBinding"}
    assert {n for n in before.names if n[0] in others} == {n for n in after.names if n[0] in others}


@pytest.mark.parametrize(
    "change", [{"exportBest": {"metric": "loss"}}, {"resources": {"limits": {"memory": "8Gi"}}}]
)
def test_a_changed_evaluator_is_another_job_of_the_same_attempt(change: dict[str, Any]) -> None:
    before = render({"evaluator": {"enabled": True}})
    after = render({"evaluator": {"enabled": True, **change}})
    old, new = (r.one("Job", "evaluator")["metadata"]["name"] for r in (before, after))
    assert old != new
    assert old[:-4] == new[:-4] == f"digits-eval-{before.attempt}-"
    # Cleanup has to know the new one.
    assert new in str(after.one("Job", "cleanup"))
    assert new in str(after.one("Role", "cleanup"))


def test_two_releases_never_share_an_attempt() -> None:
    assert render(release="one").attempt != render(release="two").attempt


def test_only_the_name_tells_attempts_apart_when_run_attempt_is_bumped() -> None:
    first, second = render(), render({"run": {"attempt": 2}})
    assert first.text.replace(first.attempt, second.attempt).splitlines() == [
        line if "cleanup-" not in line else line.replace(*_cleanup_names(second, first))
        for line in second.text.splitlines()
    ]


def _cleanup_names(a: Rendered, b: Rendered) -> tuple[str, str]:
    suffixes = (r.one("Job", "cleanup")["metadata"]["name"][-4:] for r in (a, b))
    old, new = (f"-{a.attempt}-{suffix}" for suffix in suffixes)
    return old, new


@pytest.fixture
def changed_chart(tmp_path: Path) -> ChangeChart:
    def change(old: str, new: str, file: str = "Chart.yaml") -> Path:
        chart = tmp_path / "tf-cluster"
        shutil.copytree(CHART, chart)
        text = (chart / file).read_text()
        assert old in text
        (chart / file).write_text(text.replace(old, new))
        return chart

    return change
