"""What a real API server says to what the chart renders. No pod here is ever scheduled."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, LEAST, Object, merged, render
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import CommandError, Namespace, Release
from tests.cluster.machine_tools import tool_path

pytestmark = pytest.mark.cluster

NOWHERE = {"nodeSelector": {"tf-cluster.io/test": "nowhere"}}
UNSCHEDULED = dict.fromkeys(("chief", "worker", "ps", "evaluator", "cleanup"), NOWHERE)


@pytest.mark.parametrize("feature", sorted(FEATURES))
def test_it_takes_every_object_without_a_warning(feature: str, namespace: Namespace) -> None:
    rendered, absent = render(FEATURES[feature], namespace=namespace.name), absent_kinds(namespace)
    manifest = rendered.for_a_dry_run(absent)
    for way in ((), ("--server-side",)):
        namespace.kubectl(
            "apply",
            "--dry-run=server",
            "--warnings-as-errors",
            *way,
            "--filename=-",
            stdin=manifest,
        )
    if lacking := absent & {obj["kind"] for obj in rendered.objects}:
        pytest.skip(f"it took all others, but this cluster has no {', '.join(sorted(lacking))}")


@pytest.mark.parametrize("feature", ["least", "existing-claims", "evaluator", "tensorboard"])
def test_pod_security_restricted_lets_every_pod_in(feature: str, namespace: Namespace) -> None:
    for name, template in render(FEATURES[feature], namespace=namespace.name).pods.items():
        # The account is created with the release; Pod Security does not look at it.
        spec = {k: v for k, v in template["spec"].items() if k != "serviceAccountName"}
        metadata = {**template["metadata"], "name": name}
        _create_pod({"metadata": metadata, "spec": spec}, namespace)


def test_pod_security_restricted_would_refuse_a_pod_that_may_be_root(namespace: Namespace) -> None:
    values = {"security": {"podSecurityContext": {"runAsNonRoot": False, "runAsUser": 0}}}
    template = render(values, namespace=namespace.name).one("Job", "chief")["spec"]["template"]
    with pytest.raises(CommandError, match=r"violates PodSecurity \"restricted"):
        _create_pod({"metadata": {"name": "root"}, "spec": template["spec"]}, namespace)


def _create_pod(pod: Object, namespace: Namespace) -> None:
    manifest = json.dumps({"apiVersion": "v1", "kind": "Pod", **pod})
    namespace.kubectl("create", "--dry-run=server", "--filename=-", stdin=manifest)


def test_a_release_through_its_life(namespace: Namespace, tmp_path: Path) -> None:
    release = Release(namespace, "life", CHART)

    def values(**changes: Any) -> Path:
        path = tmp_path / "values.json"
        path.write_text(json.dumps(merged(merged(LEAST, UNSCHEDULED), changes)))
        return path

    release.install(values())
    first = _objects(release)

    release.upgrade(values())
    assert _objects(release) == first, "the same values touch nothing"

    release.upgrade(values(cleanup={**NOWHERE, "delaySeconds": {"success": 5}}))
    changed = _objects(release).keys() ^ first.keys()
    assert {name.split("-")[1] for name in changed} == {"cleanup"}, "cleanup alone is replaced"

    release.upgrade(values(run={"attempt": 2}))
    second = _objects(release)
    kept = {"persistentvolumeclaim/life-data", "persistentvolumeclaim/life-log"}
    policies = {"networkpolicy/life-tasks", "networkpolicy/life-cleanup"}
    shared = first.keys() & second.keys()
    assert shared == kept | policies, "a new attempt has new names, claims and policies stay"
    assert {name: second[name] for name in shared} == {name: first[name] for name in shared}

    release.uninstall()
    assert _objects(release).keys() == kept

    release.install(values())
    again = _objects(release)
    assert again.keys() == first.keys(), "the same values again: the same names, on the kept claims"
    assert {name: again[name] for name in kept} == {name: first[name] for name in kept}
    release.uninstall()


def test_a_release_of_helm_3_is_upgraded_by_helm_4_and_nothing_is_touched(
    namespace: Namespace, tmp_path: Path
) -> None:
    path = tmp_path / "values.json"
    path.write_text(json.dumps(merged(LEAST, UNSCHEDULED)))
    by_helm_3 = Release(replace(namespace, helm_path=tool_path("helm3")), "moving", CHART)
    by_helm_3.install(path)
    first = _objects(by_helm_3)
    by_helm_3.upgrade(path)
    assert _objects(by_helm_3) == first, "the same values touch nothing"

    by_helm_4 = Release(namespace, "moving", CHART)
    by_helm_4.upgrade(path)
    assert _objects(by_helm_4) == first, "nor does the other Helm"
    by_helm_4.uninstall()


def test_reusing_values_of_an_older_chart_says_how_to_upgrade(
    namespace: Namespace, tmp_path: Path
) -> None:
    old = tmp_path / "tf-cluster"
    shutil.copytree(CHART, old)
    for name, part in (("values.yaml", "  # -- Seconds a parameter server serves on"),):
        lines = (old / name).read_text().splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith(part))
        (old / name).write_text("\n".join(lines[:at] + lines[at + 2 :]))
    _edit(old / "templates" / "_guards.tpl", '"ps.preStopSeconds" ', "")
    path = tmp_path / "values.json"
    path.write_text(json.dumps(merged(LEAST, UNSCHEDULED)))
    release = Release(namespace, "reused", old)
    release.install(path)

    command = ("upgrade", "reused", str(CHART))
    with pytest.raises(
        CommandError, match=r"(?s)preStopSeconds is null.*--reset-then-reuse-values"
    ):
        namespace.helm(*command, "--reuse-values")
    namespace.helm(*command, "--reset-then-reuse-values")
    release.uninstall()


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


KINDS = (
    "job,deployment,service,configmap,persistentvolumeclaim,networkpolicy,"
    "serviceaccount,role,rolebinding"
)


def _objects(release: Release) -> dict[str, tuple[str, int]]:
    """UID and generation of what the release has, by kind/name; what is being deleted is gone."""
    return {
        f"{obj['kind'].lower()}/{obj['metadata']['name']}": (
            obj["metadata"]["uid"],
            obj["metadata"].get("generation", 0),
        )
        for obj in release.objects(KINDS)
        if "deletionTimestamp" not in obj["metadata"]
    }
