"""charts/tf-serving and a real API server: what it takes, and what an upgrade touches."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from tests.chart.helm import HELMS, Object, merged
from tests.chart.tf_serving.features import FEATURES, LEAST
from tests.chart.tf_serving.helm import SERVING, render
from tests.cluster.kubernetes import Namespace
from tests.cluster.machine_tools import tool_path

pytestmark = pytest.mark.cluster

# The cluster need not have the operator.
ABSENT = {"PodMonitor"}
RELEASE = "digits"
KINDS = "deployment,service,configmap,hpa,pdb,networkpolicy"
# No pod is started: this is about objects.
STILL = merged(LEAST, {"replicas": 0})


@pytest.mark.parametrize("feature", FEATURES)
def test_it_takes_every_object_without_a_warning(feature: str, namespace: Namespace) -> None:
    objects = [_free(obj) for obj in render(FEATURES[feature]).objects if obj["kind"] not in ABSENT]
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    for way in ((), ("--server-side", "--force-conflicts")):
        namespace.kubectl(
            *("apply", "--dry-run=server", "--warnings-as-errors", "--validate=strict", *way),
            "--filename=-",
            stdin=manifest,
        )


def _free(obj: Object) -> Object:
    """Without numbers of ports that an object of another namespace may have."""
    free: Object = json.loads(json.dumps(obj))
    for port in free["spec"].get("ports", []) if free["kind"] == "Service" else []:
        port.pop("nodePort", None)
    return free


@pytest.fixture(params=HELMS)
def releases(request: pytest.FixtureRequest, namespace: Namespace) -> Iterator[Namespace]:
    installer = replace(namespace, helm_path=tool_path(request.param))
    yield installer
    installer.helm("uninstall", RELEASE, "--ignore-not-found")


def settings(values: dict[str, Any]) -> tuple[str, ...]:
    return tuple(f"--set-json={key}={json.dumps(value)}" for key, value in values.items())


def test_a_release_through_its_life(releases: Namespace) -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "digits-log"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Mi"}},
        },
    }
    releases.kubectl("apply", "--filename=-", stdin=json.dumps(claim))
    chart = (RELEASE, str(SERVING))
    releases.helm("install", *chart, *settings(STILL))
    first = _objects(releases)
    made = {obj["kind"] for obj in render(STILL).objects}
    assert {kind for kind, _ in first} >= made

    releases.helm("upgrade", *chart, *settings(STILL))
    assert _objects(releases) == first, "the same values touch nothing"

    second = {"source": {"run": {"release": "digits", "id": "2"}}, "labels": {"stable": 3}}
    more = merged(STILL, {"models": {"second": second}})
    said = releases.helm("upgrade", *chart, *settings(more))
    assert "A label of second that moves has to find its version loaded" in said
    changed = _objects(releases)
    deployment = ("Deployment", RELEASE)
    assert _template(changed[deployment]) == _template(first[deployment])
    assert changed["ConfigMap", f"{RELEASE}-config"] != first["ConfigMap", f"{RELEASE}-config"]

    batching = merged(more, {"batching": {"enabled": True}})
    releases.helm("upgrade", *chart, *settings(batching))
    assert _template(_objects(releases)[deployment]) != _template(first[deployment])

    releases.helm("uninstall", RELEASE)
    assert not [key for key in _objects(releases) if key in first]
    assert "digits-log" in releases.kubectl("get", "pvc", "--output=name")


def test_the_autoscaler_and_not_helm_has_the_number_of_pods(releases: Namespace) -> None:
    chart = (RELEASE, str(SERVING))
    unschedulable = {"pod": {"nodeSelector": {"none": "such"}}}
    scaled = merged(LEAST, {"autoscaling": {"enabled": True}, **unschedulable})
    releases.helm("install", *chart, *settings(scaled))
    releases.kubectl("scale", "deployment", RELEASE, "--replicas=3")
    moved = merged(scaled, {"batching": {"enabled": True}})
    releases.helm("upgrade", *chart, *settings(moved))
    deployment = _objects(releases)["Deployment", RELEASE]
    assert deployment["spec"]["replicas"] == 3


def _template(deployment: Object) -> Any:
    return deployment["spec"]["template"]


def _objects(namespace: Namespace) -> dict[tuple[str, str], Object]:
    """UID, spec and data of what the release has made, by kind and name."""
    label = {"app.kubernetes.io/instance": RELEASE, "app.kubernetes.io/component": "serving"}
    return {
        (obj["kind"], obj["metadata"]["name"]): {
            "uid": obj["metadata"]["uid"],
            "spec": obj.get("spec"),
            "data": obj.get("data"),
        }
        for obj in namespace.objects(KINDS, **label)
    }
