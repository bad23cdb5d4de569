"""The world of the cluster suite: a real Kubernetes, a namespace, a release, a look at its volume.

The cluster is the one that --kubeconfig or KUBECONFIG names; `make test` brings ours up first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.browser import Browser, browser, lacking
from tests.cluster.control_plane import ETCD
from tests.cluster.kubernetes import WAIT_SECONDS, Namespace, Release, address_of, command
from tests.cluster.machine_tools import tool_path
from tests.support.waiting import eventually
from tools.machine import packages
from tools.machine.layout import default_layout

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "tf-cluster"
SCREENSHOTS = ROOT / "build" / "screenshots"
IMAGE = os.environ.get("TF_CLUSTER_IMAGE", "localhost/tf-cluster-trainer:0.1.0")
RESTRICTED = {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}

# What a task asks for, so that several modules' releases fit on a node of two cores at once.
REQUESTS = {"requests": {"cpu": "20m", "memory": "64Mi"}}
SMALL = {"chief": REQUESTS, "worker": REQUESTS, "ps": REQUESTS}

MakeValues = Callable[..., Path]


@pytest.fixture(scope="session")
def kubectl_path() -> str:
    return tool_path("kubectl")


@pytest.fixture(scope="session")
def helm_path() -> str:
    return tool_path("helm")


@pytest.fixture(scope="session")
def etcd(pytestconfig: pytest.Config) -> None:
    """Debian's etcd, for a control plane of a test's own.

    It is installed where it is missing, but not for who names another cluster than this machine's.
    """
    if ETCD.exists():
        return
    layout = default_layout()
    named = pytestconfig.getoption("kubeconfig") or os.environ.get("KUBECONFIG", "")
    if named not in ("", str(layout.kubeconfig)):
        pytest.skip("KUBECONFIG names another cluster, and here is no etcd")
    packages.ensure(packages.ETCD, layout)


@pytest.fixture(scope="module")
def namespace(
    kube_cluster: Any, kube_config: str, kubectl_path: str, helm_path: str, namespace_factory: Any
) -> Iterator[Namespace]:
    """A fresh namespace that enforces Pod Security `restricted`."""
    name = f"tf-{uuid.uuid4().hex[:8]}"
    namespace_factory(name, extra_metadata=RESTRICTED)
    namespace = Namespace(name, kube_config, kubectl_path, helm_path)
    yield namespace
    # The factory would give it two minutes; its pods may take as long.
    namespace.kubectl("delete", "namespace", name, "--timeout=6m", seconds=WAIT_SECONDS)


@pytest.fixture(scope="module")
def make_values(tmp_path_factory: pytest.TempPathFactory) -> MakeValues:
    """Write a params file and have `tf-cluster generate` make the values of it.

    `small=False` leaves resources to the preset; `beside` are files that the params name.
    """

    def make(
        name: str, *, small: bool = True, beside: tuple[Path, ...] = (), **params: Any
    ) -> Path:
        folder = tmp_path_factory.mktemp(name)
        for file in beside:
            shutil.copy(file, folder)
        document = {
            "name": name,
            "preset": "small",
            "image": IMAGE,
            "program": {"module": "tf_cluster_trainer.examples.digits:Digits"},
            **({"resources": SMALL} if small else {}),
            **params,
        }
        source, values = folder / "params.yaml", folder / "values.yaml"
        source.write_text(yaml.safe_dump(document))
        command = (Path(sys.executable).parent / "tf-cluster", "generate", source, "-o", values)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return values

    return make


@pytest.fixture(scope="module")
def make_release(namespace: Namespace) -> Iterator[Callable[[str], Release]]:
    """Releases of this module's namespace; what is still installed at the end is uninstalled."""
    made: list[Release] = []

    def make(name: str) -> Release:
        release = Release(namespace, name, CHART)
        made.append(release)
        return release

    yield make
    installed = {entry["name"] for entry in json.loads(namespace.helm("list", "--output=json"))}
    for release in made:
        if release.name in installed:
            release.uninstall()


@pytest.fixture(scope="module")
def read_log_volume(namespace: Namespace) -> Callable[[str, str], str]:
    """Run a shell command in a pod that mounts a claim at /log; returns what it printed."""
    started: set[str] = set()

    def read(claim: str, command: str) -> str:
        name = f"reader-{claim}"
        if name not in started:
            namespace.apply(_reader(name, claim))
            started.add(name)
            eventually(
                f"pod {name} to run",
                lambda: (
                    namespace.kubectl("get", "pod", name, "--output=jsonpath={.status.phase}")
                    == "Running"
                ),
                60,
            )
        return namespace.kubectl("exec", name, "--", "sh", "-c", command)

    return read


@pytest.fixture(scope="module")
def node_address(kube_config: str, kubectl_path: str) -> str:
    """Where the NodePorts of the cluster's first node answer; nodes that tests make have none."""
    environment = {**os.environ, "KUBECONFIG": kube_config}
    nodes = json.loads(command(kubectl_path, "get", "nodes", "-o=json", environment=environment))
    return address_of(next(node for node in nodes["items"] if "addresses" in node["status"]))


@pytest.fixture(name="browser")
def a_browser(node_address: str, tmp_path: Path) -> Iterator[Browser]:
    """A fresh Chromium that reaches this machine and the node; skipped where there is none.

    The suite of `make test` installs it with its own cluster, and takes no such skip in CI.
    """
    if lacking():
        pytest.skip(lacking())
    with browser(tmp_path, node_address) as opened:
        yield opened


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Show the page of a case that has failed."""
    report = yield
    opened = getattr(item, "funcargs", {}).get("browser")
    if report.failed and report.when == "call" and opened:
        picture = SCREENSHOTS / f"{re.sub(r'[^0-9A-Za-z.]+', '-', item.nodeid)}.png"
        report.sections.append(("the browser", opened.evidence(picture)))
    return report


def sleeping_pod(name: str, container: dict[str, Any], **spec: Any) -> dict[str, Any]:
    """A pod of the trainer's image that Pod Security `restricted` lets in and that sleeps."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 1000,
                "runAsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "sleeper",
                    "image": IMAGE,
                    "command": ["sleep", "3600"],
                    "securityContext": {
                        "allowPrivilegeEscalation": False,
                        "capabilities": {"drop": ["ALL"]},
                    },
                    **container,
                }
            ],
            **spec,
        },
    }


def _reader(name: str, claim: str) -> dict[str, Any]:
    return sleeping_pod(
        name,
        {"volumeMounts": [{"name": "log", "mountPath": "/log"}]},
        volumes=[{"name": "log", "persistentVolumeClaim": {"claimName": claim}}],
    )


@pytest.fixture
def unwritable_claim(namespace: Namespace) -> Iterator[str]:
    """A bound ReadWriteMany claim on a directory that belongs to root alone.

    The kubelet makes the directory (0755, root); fsGroup does not apply to hostPath.
    """
    volume = f"{namespace.name}-unwritable"
    path = {"path": f"/var/lib/tf-cluster-test/volumes/{volume}", "type": "DirectoryOrCreate"}
    shared = {"accessModes": ["ReadWriteMany"], "storageClassName": ""}
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {**shared, "capacity": {"storage": "1Gi"}, "hostPath": path},
        }
    )
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "unwritable"},
            "spec": {
                **shared,
                "volumeName": volume,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
    )
    yield "unwritable"
    namespace.kubectl("delete", "pvc", "unwritable", "--wait=false")
    namespace.kubectl("delete", "pv", volume, "--wait=false")
