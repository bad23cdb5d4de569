"""Argo CD as processes of this machine: redis, the server of repositories and the controller.

Its own installation runs them as pods; here they reach the cluster by its kubeconfig. There is no
web server and no command-line tool: what users see, an Application's status, the controller writes.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.cluster.kubernetes import CommandError, Namespace
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine import tools

Object = dict[str, Any]

REDIS = "redis-server"
PROJECT: Object = {
    "apiVersion": "argoproj.io/v1alpha1",
    "kind": "AppProject",
    "metadata": {"name": "default"},
    "spec": {
        "sourceRepos": ["*"],
        "destinations": [{"server": "*", "namespace": "*"}],
        "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
    },
}
"""As Argo CD's own server makes it."""


def lacking() -> str:
    """Why Argo CD can't run here; empty if it can."""
    return "" if shutil.which(REDIS) else f"there is no {REDIS} (Debian's package of that name)"


class ArgoCD:
    """One that is running, and its namespace, which holds the Applications, too."""

    def __init__(self, namespace: Namespace, folder: Path, server: str) -> None:
        self.namespace = namespace
        self.server = server
        self._folder = folder

    def status(self, name: str) -> Object:
        """The status of an Application. LookupError while it has none."""
        said = self.namespace.kubectl("get", "applications.argoproj.io", name, "--output=json")
        return dict(json.loads(said)["status"])

    def refresh(self, name: str) -> None:
        """Have Argo CD look at the repository now, as its web hook does."""
        how = "argocd.argoproj.io/refresh=normal"
        self.namespace.kubectl("annotate", "--overwrite", "applications.argoproj.io", name, how)

    def logs(self) -> str:
        """The end of what its processes said."""
        parts = (
            f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}"
            for log in sorted(self._folder.glob("*.log"))
        )
        return "\n".join(parts)


@contextmanager
def running_argo_cd(namespace: Namespace, folder: Path) -> Iterator[ArgoCD]:
    """An Argo CD whose Applications are those of one namespace."""
    _install(namespace)
    server = _add_cluster(namespace)
    redis, repositories = free_port(), free_port()
    program = tool_path("argocd")
    programs = folder / "bin"
    programs.mkdir()
    # Argo CD 3.1 brings Helm 3.
    (programs / "helm").symlink_to(tool_path("helm3"))
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": namespace.kubeconfig,
        "TMPDIR": _made(folder / "tmp"),
        "HOME": _made(folder / "home"),
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_TLS_DATA_PATH": _made(folder / "tls"),
        "ARGOCD_SSH_DATA_PATH": _made(folder / "ssh"),
    }
    kubernetes = (f"--kubeconfig={namespace.kubeconfig}", f"--namespace={namespace.name}")
    commands: Mapping[str, tuple[str, ...]] = {
        REDIS: (
            *(REDIS, "--port", str(redis), "--bind", "127.0.0.1", "--dir", str(folder)),
            *("--save", "", "--appendonly", "no"),
        ),
        "argocd-repo-server": (
            *(program, "--address=127.0.0.1", f"--port={repositories}", "--disable-tls"),
            *("--metrics-address=127.0.0.1", f"--metrics-port={free_port()}"),
            f"--redis=127.0.0.1:{redis}",
        ),
        "argocd-application-controller": (
            *(program, f"--repo-server=127.0.0.1:{repositories}", "--repo-server-plaintext"),
            *(f"--metrics-port={free_port()}", f"--redis=127.0.0.1:{redis}", *kubernetes),
        ),
    }
    with ExitStack() as stack:
        for name, command in commands.items():
            log = stack.enter_context((folder / f"{name}.log").open("w"))
            process = subprocess.Popen(
                tied_to_us(*command),
                env={**environment, "ARGOCD_BINARY_NAME": name},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
            stack.callback(_end, process)
        argo_cd = ArgoCD(namespace, folder, server)
        try:
            yield argo_cd
        finally:
            print(argo_cd.logs())
            _let_go(namespace)


def _install(namespace: Namespace) -> None:
    manifests = tools.source("argo-cd", "github.com/argoproj/argo-cd/v3") / "manifests"
    definitions = [f"--filename={file}" for file in sorted(manifests.glob("crds/*-crd.yaml"))]
    namespace.kubectl("apply", "--server-side", "--force-conflicts", *definitions)
    # Not `kubectl wait`: it fails on a definition that has no conditions yet.
    each = "{.items[*].status.conditions[?(@.type=='Established')].status}"
    established = ["True"] * len(definitions)
    eventually(
        "Argo CD's definitions",
        lambda: (
            namespace.kubectl("get", *definitions, f"--output=jsonpath={each}").split()
            == established
        ),
    )
    for file in sorted(manifests.glob("base/config/argocd-*.yaml")):
        namespace.apply(yaml.safe_load(file.read_text()))
    secret = {"stringData": {"server.secretkey": "of no use without a web server"}}
    namespace.kubectl("patch", "secret/argocd-secret", f"--patch={json.dumps(secret)}")
    namespace.apply(PROJECT)


def _add_cluster(namespace: Namespace) -> str:
    """Tell Argo CD of the cluster that the kubeconfig names; returns its address."""
    config = json.loads(
        namespace.kubectl("config", "view", "--minify", "--raw", "--flatten", "--output=json")
    )
    cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
    tls = {
        "caData": cluster["certificate-authority-data"],
        "certData": user["client-certificate-data"],
        "keyData": user["client-key-data"],
    }
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {
                "name": "cluster",
                "labels": {"argocd.argoproj.io/secret-type": "cluster"},
            },
            "stringData": {
                "name": "here",
                "server": cluster["server"],
                "config": json.dumps({"tlsClientConfig": tls}),
            },
        }
    )
    return str(cluster["server"])


def _let_go(namespace: Namespace) -> None:
    """Take the finalizers off the Applications that are left: nobody serves them any more."""
    left = namespace.kubectl("get", "applications.argoproj.io,appprojects.argoproj.io", "-oname")
    for name in left.split():
        try:
            namespace.kubectl(
                "patch", name, "--type=merge", '--patch={"metadata": {"finalizers": null}}'
            )
        except CommandError as error:
            print(error)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _made(folder: Path) -> str:
    folder.mkdir(parents=True)
    return str(folder)


class Repository:
    """A Git repository on this machine with the chart and a file of values."""

    def __init__(self, folder: Path, chart: Path) -> None:
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")
        shutil.copytree(chart, folder / "charts" / chart.name)

    def commit(self, path: str, text: str, why: str) -> str:
        """Write one file and commit all; returns the commit."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        self._git("add", "--all")
        who = ("-c", "user.name=someone", "-c", "user.email=someone@example.com")
        self._git(*who, "commit", "--quiet", f"--message={why}")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        command = ("git", "-C", str(self.folder), *words)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
