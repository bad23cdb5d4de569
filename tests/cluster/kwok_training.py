"""One training on the nodes of kwok, from its install to what an uninstall leaves."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lightkube import Client
from lightkube.resources.core_v1 import Pod

from tests.cluster.control_plane import ControlPlane
from tests.cluster.fake_nodes import client_of, end, pods_of
from tests.cluster.kubernetes import Namespace, command, condition
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "tf-cluster"
CLEANUP = str(Path(sys.executable).parent / "tf-cluster-cleanup")
INSTANCE, COMPONENT = "app.kubernetes.io/instance", "app.kubernetes.io/component"


@dataclass(frozen=True)
class Training:
    """A release of the chart with a chief, so many workers and parameter servers, and cleanup."""

    plane: ControlPlane
    there: Namespace
    name: str
    workers: int
    ps: int

    @property
    def tasks(self) -> int:
        """Pods that train: the chief's, too."""
        return 1 + self.workers + self.ps

    def install(self, *flags: str) -> None:
        """`helm install`, with more of its flags."""
        self.there.helm("install", self.name, str(CHART), *self.flags, *flags)

    @property
    def flags(self) -> list[str]:
        """What helm is told of the values."""
        own = (
            "image.repository=registry.example/tf-cluster-trainer",
            "program.module=example.digits:Digits",
            f"worker.replicas={self.workers}",
            f"ps.replicas={self.ps}",
            "cleanup.delaySeconds.success=0",
            "storage.data.accessModes={ReadWriteMany}",
            "storage.log.accessModes={ReadWriteMany}",
        )
        return [f"--set={setting}" for setting in own]

    def await_running(self, seconds: float) -> None:
        """Until every task's pod and cleanup's runs."""
        wanted = self.tasks + 1
        eventually(
            f"{wanted} running pods", lambda: self._count("status.phase=Running") == wanted, seconds
        )

    def count_pods(self) -> int:
        """How many there are, whatever they do."""
        return self._count("")

    def end(self, component: str, code: int) -> None:
        """Let the pods of a component end with an exit code."""
        client = client_of(self.plane)
        end(client, self.pods(client, component), code)

    def pods(self, client: Client, component: str) -> list[Pod]:
        """Those of a component."""
        labels = {INSTANCE: self.name, COMPONENT: component}
        return pods_of(client, self.there.name, labels)

    def job(self, component: str) -> dict[str, Any]:
        """The Job of a component."""
        labels = {INSTANCE: self.name, COMPONENT: component}
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = json.loads(self.there.kubectl("get", "job", f"-l={selector}", "--output=json"))
        [job] = found["items"]
        return dict(job)

    def await_job(self, component: str, kind: str, seconds: float) -> None:
        """Until the Job of a component has this condition."""
        eventually(
            f"{component}: {kind}", lambda: bool(condition(self.job(component), kind)), seconds
        )

    def clean_up(self, folder: Path) -> str:
        """The real cleanup as a process, with its account's rights; its pod ends as it did."""
        job = self.job("cleanup")
        pod = job["spec"]["template"]["spec"]
        token = self.there.kubectl("create", "token", pod["serviceAccountName"]).strip()
        kubeconfig = folder / f"{self.name}.kubeconfig"
        kubeconfig.write_text(json.dumps(self._access(token)))
        arguments = pod["containers"][0]["args"]
        environment = {**os.environ, "KUBECONFIG": str(kubeconfig)}
        name = f"--namespace={self.there.name}"
        said = command(CLEANUP, *arguments, name, environment=environment)
        self.end("cleanup", 0)
        return said

    def uninstall(self) -> None:
        """`helm uninstall`."""
        self.there.helm("uninstall", self.name)

    def left(self) -> set[str]:
        """All that has the release's label, of every kind: `kind/name`."""
        listed = self.there.kubectl(
            "api-resources", "--namespaced", "--verbs=list", "--output=name"
        )
        kinds = ",".join(kind for kind in listed.split() if not kind.startswith("events"))
        found = self.there.kubectl("get", kinds, f"-l={INSTANCE}={self.name}", "--output=name")
        return set(found.split())

    def _access(self, token: str) -> dict[str, Any]:
        cluster = {
            "server": self.plane.addresses.api,
            "certificate-authority": str(self.plane.layout.pki / "ca.crt"),
        }
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "own", "cluster": cluster}],
            "users": [{"name": "own", "user": {"token": token}}],
            "contexts": [{"name": "own", "context": {"cluster": "own", "user": "own"}}],
            "current-context": "own",
        }

    def _count(self, fields: str) -> int:
        labels = f"-l={INSTANCE}={self.name}"
        select = (f"--field-selector={fields}",) if fields else ()
        return len(self.there.kubectl("get", "pods", labels, *select, "--output=name").split())
