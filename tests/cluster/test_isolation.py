"""A TensorFlow port executes what it is sent: only tasks of its release may reach it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.cluster.conftest import IMAGE, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.programs import SLOWLY
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

KNOCK = (
    "import socket,sys; socket.create_connection((sys.argv[1], int(sys.argv[2])), 4); print('open')"
)


def knock(namespace: Namespace, name: str, address: str, port: int = 2222) -> str:
    """What a pod that is not of the release sees when it connects to address:port."""
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

    def ended() -> str | None:
        pod = json.loads(namespace.kubectl("get", "pod", name, "--output=json"))
        return pod["status"]["phase"] if pod["status"]["phase"] in ("Succeeded", "Failed") else None

    eventually("the stranger to have tried", ended, 60)
    return namespace.kubectl("logs", name)


def test_a_stranger_cannot_reach_a_tensorflow_port_but_the_release_trains(
    make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release("isolated")
    release.install(make_values("isolated", **SLOWLY, train={"steps": 10_000_000}))
    eventually("the first steps", lambda: (release.progress()["step"] or 0) > 0, 120)
    address = release.running("ps")[0]["status"]["podIP"]
    before = release.progress()["step"]
    # The policy is off the second time: the same stranger gets in, so it was the policy.
    # Enforcers drop the packet or reject it.
    kept_out = knock(release.namespace, "kept-out", address)
    assert "timed out" in kept_out or "refused" in kept_out, kept_out
    eventually("more steps", lambda: release.progress()["step"] > before, 60)
    release.namespace.kubectl("delete", "networkpolicy", "--all")
    assert "open" in knock(release.namespace, "let-in", address)
    release.uninstall()
