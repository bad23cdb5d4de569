"""The command `tf-cluster` as its users run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.kubernetes import Namespace
from tests.support.waiting import HANG_SECONDS

TOOL = Path(sys.executable).parent / "tf-cluster"


class Tool:
    """The command `tf-cluster` in one namespace."""

    def __init__(self, namespace: Namespace, kubeconfig: str) -> None:
        self._namespace = namespace.name
        programs = str(Path(namespace.helm_path).parent)
        self.environment = {
            **os.environ,
            "KUBECONFIG": kubeconfig,
            "PATH": f"{programs}:{os.environ['PATH']}",
        }

    def __call__(self, verb: str, *words: str, code: int = 0) -> str:
        """What it printed on stdout. Raises AssertionError for another exit code."""
        return self.ran(verb, *words, code=code).stdout

    def ran(
        self, verb: str, *words: str, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """All that it printed. Raises AssertionError for another exit code."""
        command = self.command(verb, *words)
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            timeout=HANG_SECONDS,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done

    def started(self, verb: str, *words: str, **variables: str) -> subprocess.Popen[str]:
        """The command, still running."""
        return subprocess.Popen(
            self.command(verb, *words),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**self.environment, **variables},
        )

    def document(self, verb: str, *words: str) -> dict[str, Any]:
        """What it printed as JSON."""
        return dict(json.loads(self(verb, *words, "--output", "json")))

    def command(self, verb: str, *words: str) -> tuple[str, ...]:
        """The words of the command line."""
        where = () if "--all-namespaces" in words else ("--namespace", self._namespace)
        return (str(TOOL), verb, *words, *where)


def claim(name: str) -> dict[str, Any]:
    """A claim of the default class, for one node."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }


@pytest.fixture(scope="module")
def tool(namespace: Namespace, kube_config: str) -> Tool:
    return Tool(namespace, kube_config)
