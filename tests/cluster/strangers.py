"""A pod that is not of the release, and whether the policies let it in.

A policy has no status that says it is enforced: kube-router does so some time after both it and
the pod are there, and that time grows with what else the machine does. So both are waited for.
"""

from __future__ import annotations

import itertools
import json

from tests.cluster.conftest import IMAGE
from tests.cluster.kubernetes import Namespace
from tests.support.waiting import eventually

KNOCK = (
    "import socket,sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 4); print('open')"
)
_numbers = itertools.count()


def assert_kept_out(namespace: Namespace, address: str, port: int = 2222) -> None:
    """Enforcers drop the packet or reject it."""

    def kept_out() -> str:
        seen = _knock(namespace, address, port)
        assert "timed out" in seen or "refused" in seen, seen
        return seen

    eventually("a stranger to be kept out", kept_out, 60)


def assert_let_in(namespace: Namespace, address: str, port: int = 2222) -> None:
    """It gets a connection."""

    def let_in() -> str:
        seen = _knock(namespace, address, port)
        assert "open" in seen, seen
        return seen

    eventually("a stranger to be let in", let_in, 60)


def _knock(namespace: Namespace, address: str, port: int) -> str:
    """What it prints when it connects to address:port."""
    name = f"stranger-{next(_numbers)}"
    context = {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {
        "name": "stranger",
        "image": IMAGE,
        "command": ["python3", "-c", KNOCK, address, str(port)],
        "securityContext": context,
    }
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
    )

    def ended() -> bool:
        pod = json.loads(namespace.kubectl("get", "pod", name, "--output=json"))
        return pod["status"]["phase"] in ("Succeeded", "Failed")

    try:
        eventually("the stranger to have tried", ended, 60)
    except AssertionError as error:
        raise RuntimeError(str(error)) from None  # another stranger would not be better
    return namespace.kubectl("logs", name)
