"""The real metrics-server, which measures what pods and nodes use, beside a cluster."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.cluster.kubernetes import CommandError, Namespace
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine.layout import Addresses, default_layout

API = "v1beta1.metrics.k8s.io"
RAW = "/apis/metrics.k8s.io/v1beta1"
SECONDS = 10
"""Between two looks at the kubelet; it takes no fewer."""
SERVICE = {"name": "metrics-server", "namespace": "kube-system"}


@contextmanager
def metrics_server(admin: Namespace, folder: Path) -> Iterator[None]:
    """One of the test machine's cluster while the block runs, once it has measured the node.

    The API group comes and goes with it, which all of the cluster notices: for cases that are
    alone.
    """
    port, kubeconfig, address = free_port(), admin.kubeconfig, Addresses().node
    with (folder / "metrics-server.log").open("w") as log:
        process = subprocess.Popen(
            tied_to_us(
                *(tool_path("metrics-server"), f"--secure-port={port}", f"--cert-dir={folder}"),
                *(f"--bind-address={address}", f"--kubeconfig={kubeconfig}"),
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                f"--kubelet-certificate-authority={default_layout().pki}/ca.crt",
                "--kubelet-preferred-address-types=InternalIP",
                *(f"--metric-resolution={SECONDS}s", f"--kubelet-request-timeout={SECONDS // 2}s"),
            ),
            stdout=log,
            stderr=log,
        )
    objects, there = _objects(address, port), replace(admin, name=SERVICE["namespace"])
    try:
        for one in objects:
            there.apply(one)
        eventually("metrics of the node", lambda: measured(admin, "nodes"), 120)
        yield
        assert process.poll() is None, (folder / "metrics-server.log").read_text()[-4000:]
    finally:
        print((folder / "metrics-server.log").read_text()[-4000:])
        for one in reversed(objects):
            there.kubectl("delete", one["kind"], one["metadata"]["name"], "--ignore-not-found")
        process.terminate()
        process.wait(30)


def measured(admin: Namespace, what: str) -> list[dict[str, Any]]:
    """Its items under a path: `nodes`, `namespaces/a/pods`; none where it does not answer yet."""
    try:
        return list(json.loads(admin.kubectl("get", "--raw", f"{RAW}/{what}"))["items"])
    except CommandError:
        return []


def _objects(address: str, port: int) -> list[dict[str, Any]]:
    """What leads the API server to it."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": SERVICE,
            "spec": {"ports": [{"name": "https", "port": 443, "targetPort": port}]},
        },
        {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {**SERVICE, "labels": {"kubernetes.io/service-name": SERVICE["name"]}},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": port}],
            "endpoints": [{"addresses": [address]}],
        },
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": API},
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
                "service": SERVICE,
            },
        },
    ]
