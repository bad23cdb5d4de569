"""Tenants of charts/tf-tenant, people with certificates of their own, and what they ask for."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.cluster.conftest import ROOT
from tests.cluster.kubernetes import Namespace
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine import tools
from tools.machine.layout import default_layout

TENANT_CHART = ROOT / "charts" / "tf-tenant"
PAGE = ROOT / "docs" / "tenants.md"
SIGNER = "certificatesigningrequest-signing-controller"

Right = tuple[str, str, str]
"""An API group, a resource with its subresource, and a verb."""


@contextmanager
def signed_requests(kubeconfig: str, folder: Path) -> Iterator[None]:
    """While it is open, the cluster signs certificates that were approved.

    Our test cluster has no keys for that; any other one has.
    """
    layout = default_layout()
    if not layout.kubeconfig.exists() or not layout.kubeconfig.samefile(kubeconfig):
        yield
        return
    pki = layout.pki
    command = (
        str(tools.program("kube-controller-manager", layout.cache)),
        f"--controllers={SIGNER}",
        f"--kubeconfig={kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        f"--cluster-signing-cert-file={pki}/ca.crt",
        f"--cluster-signing-key-file={pki}/ca.key",
    )
    with (folder / "signer.log").open("wb") as log:
        process = subprocess.Popen(tied_to_us(*command), stdout=log, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def kubeconfig_of(admins: Namespace, user: str, tenant: str, folder: Path) -> str:
    """The kubeconfig that docs/tenants.md makes for a user of a tenant."""
    (block,) = re.findall(r"^```sh\n(user=.*?)^```$", PAGE.read_text(), re.M | re.S)
    script, number = re.subn(
        r"^user=\S+ tenant=\S+$", f"set -e; user={user} tenant={tenant}", block, flags=re.M
    )
    assert number == 1, block
    admins.shell(script, folder)
    return str(folder / f"{user}.kubeconfig")


@dataclass(frozen=True)
class Asked:
    """One request of a recording, and how it was answered."""

    right: Right
    status: int
    url: str

    @property
    def rights(self) -> set[Right]:
        """What it needs: a patch that made its object, as Helm 4's do, needs `create`, too."""
        group, resource, verb = self.right
        made = {(group, resource, "create")} if (verb, self.status) == ("patch", 201) else set()
        return {self.right, *made}


@dataclass(frozen=True)
class Proxy:
    """`kubectl proxy` for one person: it keeps what was asked."""

    http: httpx2.Client
    log: Path
    kubeconfig: str

    def request(self, method: str, path: str, **keywords: Any) -> tuple[int, str]:
        """Status and text; of a watch only what comes first."""
        headers = {"Content-Type": "application/merge-patch+json"} if method == "PATCH" else {}
        with self.http.stream(method, path, headers=headers, **keywords) as answer:
            is_watch = "watch=" in path and answer.status_code == 200
            return answer.status_code, "" if is_watch else answer.read().decode()

    def asked(self, tenant: str) -> list[Asked]:
        """What was asked for in a tenant's namespace."""
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            match = re.search(r'verb="(\w+)" url="([^"]+)" status="(\d+)', line)
            right = match and right_of(match[1], match[2], tenant)
            if match and right:
                found.append(Asked(right, int(match[3]), match[2]))
        return found


@contextmanager
def proxy(of: Namespace, folder: Path) -> Iterator[Proxy]:
    """A proxy that asks as the person of a kubeconfig, and a kubeconfig that leads to it."""
    folder.mkdir()
    log = folder / "requests.log"
    command = (of.kubectl_path, "proxy", "--port=0", "-v=6", "--reject-paths=^$")
    environment = {**os.environ, "KUBECONFIG": of.kubeconfig}
    with log.open("wb") as file, (folder / "said").open("wb") as said:
        process = subprocess.Popen(tied_to_us(*command), env=environment, stdout=said, stderr=file)
    try:

        def address() -> str:
            found = re.search(r"127\.0\.0\.1:\d+", (folder / "said").read_text())
            return f"http://{found[0]}" if found else ""

        url = eventually("the proxy", address, 20)
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "proxy", "cluster": {"server": url}}],
            "users": [{"name": "proxy", "user": {}}],
            "contexts": [
                {
                    "name": "proxy",
                    "context": {"cluster": "proxy", "user": "proxy", "namespace": of.name},
                }
            ],
            "current-context": "proxy",
        }
        path = folder / "kubeconfig"
        path.write_text(json.dumps(config))
        with httpx2.Client(base_url=url, timeout=30) as client:
            yield Proxy(client, log, str(path))
    finally:
        process.terminate()
        process.wait(30)


VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


def right_of(method: str, url: str, tenant: str) -> Right | None:
    """The right that a request in a tenant's namespace needs, as the API server reads it."""
    parts = urlsplit(url)
    match = re.fullmatch(
        rf"/(?:api/v1|apis/([^/]+)/[^/]+)/namespaces/{re.escape(tenant)}"
        r"/([^/]+)(?:/([^/]+)(?:/(\w+))?)?",
        parts.path,
    )
    if match is None:
        return None
    group, resource, name, part = match.groups()
    if part in ("exec", "portforward"):
        verb = "create"  # kubectl tries a web socket first, and this where it may not
    elif method == "GET":
        is_watch = parse_qs(parts.query).get("watch", ["false"])[0] in ("true", "1")
        verb = "get" if name else "watch" if is_watch else "list"
    else:
        verb = VERBS[method] if name or method == "POST" else "deletecollection"
    return (group or "", f"{resource}/{part}" if part else resource, verb)


def rights_of(role: Mapping[str, Any]) -> set[Right]:
    """Every right of a Role by itself."""
    return {
        (group, resource, verb)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
