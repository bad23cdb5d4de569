"""The controller of Kueue as a process of this machine, for the Jobs of one namespace."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.kubernetes import Namespace, Object
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.certificate import self_signed
from tests.support.controller import configuration, controller, established
from tools.machine import tools

MODULE = "sigs.k8s.io/kueue"
VERSION = "kueue.x-k8s.io/v1beta2"
CONFIG_VERSION = "config.kueue.x-k8s.io/v1beta2"
# Where it looks for the certificate of its metrics, whatever it is told and though it serves none.
CERTIFICATES = Path("/etc/kueue/metrics/certs")
# Jobs are its matter here, and the kinds that it makes and reads for them.
RESOURCES = {"jobs", "clusterqueues", "localqueues", "resourceflavors", "workloads"}


@contextmanager
def kueue(there: Namespace, folder: Path) -> Iterator[None]:
    """Ready. Raises CommandError on a cluster that has Kueue's kinds already: they are somebody's.

    The API server has to be on this machine: it asks the webhooks at a loopback address.
    """
    source = tools.source("kueue", MODULE) / "config" / "components"
    definitions = sorted((source / "crd" / "bases").glob("*.yaml"))
    names = [f"crd/{yaml.safe_load(file.read_text())['metadata']['name']}" for file in definitions]
    for file in definitions:
        there.kubectl("create", f"--filename={file}")
    port, probe = free_port(), f"127.0.0.1:{free_port()}"
    key, certificate = self_signed(folder, "127.0.0.1", "IP:127.0.0.1")
    CERTIFICATES.mkdir(parents=True, exist_ok=True)
    for file in (key, certificate):
        shutil.copy(file, CERTIFICATES)
    hooks = _webhooks(source / "webhook" / "manifests.yaml", there, port, certificate)
    try:
        for name in names:
            established(there, name)
        jobs = {"frameworks": ["batch/job"]}
        config = configuration(folder, CONFIG_VERSION, port, probe, integrations=jobs)
        words = (
            tool_path("kueue"),
            f"--config={config}",
            "--feature-gates=VisibilityOnDemand=false",  # an API server of its own
        )
        with controller(words, {"KUBECONFIG": there.kubeconfig}, probe):
            for hook in hooks:
                there.apply(hook)
            yield
            _remove(there)
    finally:
        for hook in hooks:
            kind, name = hook["kind"], hook["metadata"]["name"]
            there.kubectl("delete", kind, name, "--ignore-not-found")
        there.kubectl("delete", *names, "--ignore-not-found", "--wait=false")
        for file in (key, certificate):
            (CERTIFICATES / file.name).unlink()
        os.removedirs(CERTIFICATES)


def queue(there: Namespace, name: str, **quota: str) -> None:
    """A LocalQueue of this namespace, with so much of each resource for all of its Jobs."""
    own = f"{there.name}-{name}"
    there.apply(_object("ResourceFlavor", own, {}))
    resources = [{"name": one, "nominalQuota": most} for one, most in quota.items()]
    flavor = {"name": own, "resources": resources}
    groups = [{"coveredResources": list(quota), "flavors": [flavor]}]
    there.apply(_object("ClusterQueue", own, {"namespaceSelector": {}, "resourceGroups": groups}))
    there.apply(_object("LocalQueue", name, {"clusterQueue": own}))


def _object(kind: str, name: str, spec: dict[str, Any]) -> Object:
    return {"apiVersion": VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec}


def _remove(there: Namespace) -> None:
    """While Kueue runs: it takes off its finalizers."""
    for kind in ("localqueues", "workloads", "clusterqueues", "resourceflavors"):
        there.kubectl("delete", f"{kind}.kueue.x-k8s.io", "--all")


def _webhooks(file: Path, there: Namespace, port: int, certificate: Path) -> list[Object]:
    """Kueue's own, for the Jobs of one namespace, at this machine's address."""
    authority = base64.b64encode(certificate.read_bytes()).decode()
    found: list[Object] = [one for one in yaml.safe_load_all(file.read_text()) if one]
    for one in found:
        one["metadata"]["name"] = f"{there.name}-{one['metadata']['name']}"
        mine = [hook for hook in one["webhooks"] if set(_resources(hook)) <= RESOURCES]
        for hook in mine:
            path = hook["clientConfig"]["service"]["path"]
            hook["clientConfig"] = {
                "url": f"https://127.0.0.1:{port}{path}",
                "caBundle": authority,
            }
            if _resources(hook) == ["jobs"]:
                labels = {"kubernetes.io/metadata.name": there.name}
                hook["namespaceSelector"] = {"matchLabels": labels}
        one["webhooks"] = mine
    return found


def _resources(hook: Object) -> list[str]:
    return [name.partition("/")[0] for rule in hook["rules"] for name in rule["resources"]]
