"""The command `tf-cluster` as its users run it."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
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


class Terminal:
    """The command on a terminal, where it asks."""

    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self._ours, its = pty.openpty()
        self.process = subprocess.Popen(
            command, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True
        )
        os.close(its)
        self.read = ""

    def until(self, words: str) -> None:
        """Read until it has said the words."""
        while words not in self.read:
            part = os.read(self._ours, 4096)
            assert part, self.read
            self.read += part.decode()

    def type(self, words: str) -> None:
        os.write(self._ours, f"{words}\n".encode())

    def ended(self) -> int:
        """Its exit code."""
        try:
            while part := os.read(self._ours, 4096):
                self.read += part.decode()
        except OSError:  # Linux says so when the other end is closed
            pass
        return self.process.wait(HANG_SECONDS)


MakeTerminal = Callable[..., Terminal]


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


@pytest.fixture
def terminal(tool: Tool) -> Iterator[MakeTerminal]:
    """Start the command on a terminal: its verb, and more words."""
    started: list[Terminal] = []

    def start(*words: str) -> Terminal:
        started.append(Terminal(tool.command(*words), tool.environment))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.process.wait()
