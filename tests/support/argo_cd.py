"""Argo CD as processes of this machine: redis, the server of repositories and the controllers.

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
from tests.cluster.machine_tools import ROOT, tool_path
from tests.ports import free_port
from tests.support.processes import end
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine import tools

Object = dict[str, Any]

REDIS = "redis-server"
REPO_SERVER = "argocd-repo-server"
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
UMBRELLA = (
    *("Chart.yaml", "Chart.lock", "values.yaml", "values.schema.json", ".helmignore"),
    *("templates", "charts"),
)


def lacking() -> str:
    """Why Argo CD can't run here; empty if it can."""
    return "" if shutil.which(REDIS) else f"there is no {REDIS} (Debian's package of that name)"


class ArgoCD:
    """One that is running, and its namespace, which holds the Applications, too."""

    def __init__(
        self, namespace: Namespace, folder: Path, server: str, environment: Mapping[str, str]
    ) -> None:
        self.namespace = namespace
        self.server = server
        self.repositories = f"127.0.0.1:{free_port()}"
        self._folder = folder
        self._environment = environment

    def status(self, name: str) -> Object:
        """The status of an Application. LookupError while it has none."""
        said = self.namespace.kubectl("get", "applications.argoproj.io", name, "--output=json")
        return dict(json.loads(said)["status"])

    def refresh(self, name: str) -> None:
        """Have Argo CD look at the repository now, as its web hook does."""
        how = "argocd.argoproj.io/refresh=normal"
        self.namespace.kubectl("annotate", "--overwrite", "applications.argoproj.io", name, how)

    @contextmanager
    def application_sets(self) -> Iterator[None]:
        """Its controller of ApplicationSets, too."""
        with self.runs(
            "argocd-applicationset-controller",
            *(tool_path("argocd"), "--metrics-addr=0", "--probe-addr=0"),
            f"--webhook-addr=127.0.0.1:{free_port()}",
            *(f"--argocd-repo-server={self.repositories}", "--repo-server-plaintext"),
            *self.where,
        ):
            yield

    @property
    def where(self) -> tuple[str, str]:
        return f"--kubeconfig={self.namespace.kubeconfig}", f"--namespace={self.namespace.name}"

    @contextmanager
    def runs(self, name: str, *command: str) -> Iterator[None]:
        """One of its processes, in the role that the name says."""
        with self._log(name).open("w") as log:
            process = subprocess.Popen(
                tied_to_us(*command),
                env={**self._environment, "ARGOCD_BINARY_NAME": name},
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield
        finally:
            end(process, 20)

    def said(self, name: str) -> list[Object]:
        """The log of one of its processes, by line; what is no JSON is left out."""
        lines = self._log(name).read_text(errors="replace").splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def logs(self) -> str:
        """The end of what its processes said."""
        parts = (
            f"--- {log.name}\n{log.read_text(errors='replace')[-4000:]}"
            for log in sorted(self._folder.glob("*.log"))
        )
        return "\n".join(parts)

    def _log(self, name: str) -> Path:
        return self._folder / f"{name}.log"


@contextmanager
def running_argo_cd(namespace: Namespace, folder: Path) -> Iterator[ArgoCD]:
    """An Argo CD whose Applications are those of one namespace."""
    _install(namespace)
    server = _add_cluster(namespace)
    argo_cd = ArgoCD(namespace, folder, server, _environment(namespace, folder))
    program, redis = tool_path("argocd"), free_port()
    commands: Mapping[str, tuple[str, ...]] = {
        REDIS: (
            *(REDIS, "--port", str(redis), "--bind", "127.0.0.1", "--dir", str(folder)),
            *("--save", "", "--appendonly", "no"),
        ),
        REPO_SERVER: (
            *(program, "--address=127.0.0.1", f"--port={argo_cd.repositories.split(':')[1]}"),
            *("--disable-tls", "--metrics-address=127.0.0.1", f"--metrics-port={free_port()}"),
            f"--redis=127.0.0.1:{redis}",
        ),
        "argocd-application-controller": (
            *(program, f"--repo-server={argo_cd.repositories}", "--repo-server-plaintext"),
            *(f"--metrics-port={free_port()}", f"--redis=127.0.0.1:{redis}", *argo_cd.where),
            # So that an Application's status holds what its page shows of each object.
            "--persist-resource-health",
        ),
    }
    with ExitStack() as stack:
        for name, command in commands.items():
            stack.enter_context(argo_cd.runs(name, *command))
        try:
            yield argo_cd
        finally:
            print(argo_cd.logs())
            _let_go(namespace)


def _environment(namespace: Namespace, folder: Path) -> Mapping[str, str]:
    programs = Path(_made(folder / "bin"))
    # Argo CD 3.1 brings Helm 3.
    (programs / "helm").symlink_to(tool_path("helm3"))
    return {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "KUBECONFIG": namespace.kubeconfig,
        "TMPDIR": _made(folder / "tmp"),
        "HOME": _made(folder / "home"),
        "ARGOCD_GPG_ENABLED": "false",
        "ARGOCD_TLS_DATA_PATH": _made(folder / "tls"),
        "ARGOCD_SSH_DATA_PATH": _made(folder / "ssh"),
    }


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


def _made(folder: Path) -> str:
    folder.mkdir(parents=True)
    return str(folder)


class Repository:
    """A Git repository on this machine with the umbrella chart, its parts and files of values."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"file://{folder}"
        folder.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")
        for name in UMBRELLA:
            source = ROOT / name
            copy = shutil.copytree if source.is_dir() else shutil.copy
            copy(source, folder / name)

    def commit(self, path: str, text: str, why: str) -> str:
        """Write one file and commit all; returns the commit."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return self._commit(why)

    def drop(self, path: str, why: str) -> str:
        """Remove one file and commit that; returns the commit."""
        (self.folder / path).unlink()
        return self._commit(why)

    def _commit(self, why: str) -> str:
        self._git("add", "--all")
        who = ("-c", "user.name=someone", "-c", "user.email=someone@example.com")
        self._git(*who, "commit", "--quiet", f"--message={why}")
        return self.head()

    def head(self) -> str:
        """The last commit."""
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        command = ("git", "-C", str(self.folder), *words)
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
