"""Code from a server that asks for a login: the Secret's, which nobody else reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import IMAGE, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

TOKEN = "glpat-x9Yz31"
CODE = """
from tf_cluster_trainer.examples.digits import Digits
class Mine(Digits):
    pass
"""
SERVER = """
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
class Visit(BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.headers.get("Authorization") == "Bearer TOKEN"
        self.send_response(200 if known else 401)
        self.end_headers()
        if known:
            self.wfile.write(CODE.encode())
ThreadingHTTPServer(("", 8000), Visit).serve_forever()
"""


@pytest.fixture(scope="module")
def host(namespace: Namespace) -> str:
    """A server in the cluster that gives CODE to who knows the token."""
    program = f"CODE = {CODE!r}\n" + SERVER.replace("TOKEN", TOKEN)
    own = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    container = {"name": "code", "image": IMAGE, "command": ["python", "-c", program]}
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "code", "labels": {"app": "code"}},
            "spec": {
                "automountServiceAccountToken": False,
                "terminationGracePeriodSeconds": 0,
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": 1000,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [{**container, "securityContext": own}],
            },
        }
    )
    ports = {"selector": {"app": "code"}, "ports": [{"port": 8000}]}
    namespace.apply(
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "code"}, "spec": ports}
    )
    ready = ("wait", "--for=condition=Ready", "pod/code", "--timeout=90s")
    namespace.kubectl(*ready)
    return f"code.{namespace.name}.svc.cluster.local:8000"


def _secret(namespace: Namespace, **keys: str) -> None:
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "code-login"},
            "stringData": keys,
        }
    )


@pytest.fixture(scope="module")
def values(make_values: MakeValues, host: str) -> Path:
    source = {
        "url": f"http://{host}/mine.py",
        "sha256": hashlib.sha256(CODE.encode()).hexdigest(),
        "secretName": "code-login",
    }
    program = {"module": "mine:Mine", "source": source}
    return make_values("private", program=program, train={"steps": 20})


@in_turn(1, 2)
def test_a_wrong_token_fails_and_a_right_one_trains_with_the_same_values(
    make_release: Callable[[str], Release], namespace: Namespace, values: Path
) -> None:
    release = make_release("private")
    _secret(namespace, token="glpat-wrong9")
    release.install(values)
    release.await_job("chief", "Failed", 90)
    log = eventually("its log", lambda: _log(release), 30)
    assert "refuses the login of Secret code-login (key token)" in log
    assert "glpat-wrong9" not in log
    _secret(namespace, token=TOKEN)
    release.upgrade(values, "run.attempt=2")
    release.await_job("chief", "Complete", 180)
    log = _log(release)
    assert "mine.py, here after" in log
    made = json.dumps(release.objects("configmap,pod,job,deployment"))
    assert "code-login" in made
    assert TOKEN not in made + log
    # Files that its group alone reads.
    (pod,) = release.objects("pod", "chief")
    (volume,) = (v for v in pod["spec"]["volumes"] if v["name"] == "login")
    assert volume["secret"]["defaultMode"] == 0o440


def _log(release: Release) -> str:
    return release.namespace.kubectl(
        "logs", f"job/{release.one('job', 'chief')['metadata']['name']}"
    )
