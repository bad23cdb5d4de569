"""A cluster without others' APIs refuses what needs them and says what to do; then it takes it.

The cluster that is up has these APIs, and others use it. So an API server and an etcd of their own
run here, with the keys of our test cluster and without a node: what is installed is only kept.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chart.helm import LEAST, merged
from tests.cluster.conftest import CHART
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import CommandError, Namespace, Release
from tests.ports import free_port
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine import custom_resources, tools
from tools.machine.components import components
from tools.machine.health import is_well
from tools.machine.layout import Addresses, Layout, default_layout

pytestmark = pytest.mark.cluster

ASKING = {
    "security": {"networkPolicy": {"statusFrom": [{"podSelector": {}}]}},
    "monitoring": {"podMonitor": {"enabled": True}, "rules": {"enabled": True}},
    "tensorboard": {
        "enabled": True,
        "httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}]},
    },
}


@pytest.fixture
def bare(kube_config: str, tmp_path: Path) -> Iterator[Layout]:
    """An API server that has Kubernetes' own kinds alone; its kubeconfig is the layout's."""
    up = default_layout()
    if not up.kubeconfig.exists() or not up.kubeconfig.samefile(kube_config):
        pytest.skip("it starts an API server with the keys of our own test cluster")
    layout = replace(up, state=tmp_path)
    addresses = Addresses(api_port=free_port(), etcd_port=free_port(), etcd_peer_port=free_port())
    layout.pki.symlink_to(up.pki)
    layout.config.mkdir()
    text = up.kubeconfig.read_text()
    assert Addresses().api in text
    layout.kubeconfig.write_text(text.replace(Addresses().api, addresses.api))
    parts = components(layout, addresses, lambda name: tools.program(name, layout.cache))
    started: list[subprocess.Popen[bytes]] = []
    try:
        for part in parts:
            if part.name not in ("etcd", "kube-apiserver"):
                continue
            log = tmp_path / f"{part.name}.log"
            with log.open("wb") as file:
                process = subprocess.Popen(
                    tied_to_us(*part.command), stdout=file, stderr=subprocess.STDOUT
                )
            started.append(process)

            def well(process: subprocess.Popen[bytes] = process, health: str = part.health) -> bool:
                return process.poll() is not None or is_well(health)

            eventually(f"{part.name} to be well", well, 60)
            assert process.poll() is None, log.read_text()[-2000:]
        yield layout
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(60)


def test_a_release_that_needs_other_apis_names_them_and_is_taken_when_they_are_there(
    bare: Layout, kubectl_path: str, helm_path: str, tmp_path: Path
) -> None:
    namespace = Namespace("default", str(bare.kubeconfig), kubectl_path, helm_path)
    release = Release(namespace, "digits", CHART)
    values = tmp_path / "values.json"
    values.write_text(json.dumps(merged(LEAST, ASKING)))
    with pytest.raises(CommandError) as refused:
        release.install(values)
    said = str(refused.value)
    assert "has no PodMonitor. The Prometheus operator brings it: install that, or" in said
    assert "has no PrometheusRule. The Prometheus operator brings it: install that, or" in said
    assert "has no gateway.networking.k8s.io/v1/HTTPRoute: install the Gateway API" in said
    assert not json.loads(namespace.helm("list", "--output=json")), "nothing is left"

    custom_resources.install(bare)
    assert not absent_kinds(namespace)
    release.install(values)
    made = release.objects("podmonitor,prometheusrule,httproute")
    assert sorted(one["kind"] for one in made) == ["HTTPRoute", "PodMonitor", "PrometheusRule"]
    release.uninstall()
    assert not release.objects("podmonitor,prometheusrule,httproute,job")
