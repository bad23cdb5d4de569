"""The scheduler of gangs of scheduler-plugins, as a second one beside a cluster's own."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.kubernetes import Namespace
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.tied import tied_to_us

Object = dict[str, Any]

HELD_SECONDS = 5  # for the rest of a gang
AGAIN_SECONDS = 5


def gang(scheduler: str, **settings: Any) -> Object:
    return {"gang": {"provider": "coscheduling", "schedulerName": scheduler, **settings}}


@contextmanager
def coscheduling(namespace: Namespace, folder: Path) -> Iterator[str]:
    """One of this namespace's cluster, while the block runs; its name for pods."""
    name = f"gangs-of-{namespace.name}"
    (folder / "config.yaml").write_text(yaml.safe_dump(_configuration(namespace, name)))
    kubeconfig = namespace.kubeconfig
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            tied_to_us(
                *(tool_path("coscheduling"), f"--config={folder}/config.yaml"),
                *(f"--secure-port={free_port()}", "--bind-address=127.0.0.1"),
                # A rejected gang may miss what makes room, and waits five minutes by default.
                f"--pod-max-in-unschedulable-pods-duration={AGAIN_SECONDS}s",
                *(f"--cert-dir={folder}", "--authorization-always-allow-paths=/healthz"),
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
            ),
            stdout=log,
            stderr=log,
            env={**os.environ, "KUBECONFIG": kubeconfig},
        )
    try:
        yield name
        assert process.poll() is None, (folder / "log").read_text()[-4000:]
    finally:
        print((folder / "log").read_text()[-4000:])
        process.terminate()
        process.wait(30)


def _configuration(namespace: Namespace, name: str) -> Object:
    ours = [{"name": "Coscheduling"}]
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {"leaderElect": False},
        "clientConnection": {"kubeconfig": namespace.kubeconfig},
        "podInitialBackoffSeconds": 1,
        "podMaxBackoffSeconds": 2,
        "profiles": [
            {
                "schedulerName": name,
                "plugins": {
                    "multiPoint": {"enabled": ours},
                    "queueSort": {"enabled": ours, "disabled": [{"name": "*"}]},
                },
                "pluginConfig": [
                    {
                        "name": "Coscheduling",
                        "args": {"permitWaitingTimeSeconds": HELD_SECONDS},
                    }
                ],
            }
        ],
    }
