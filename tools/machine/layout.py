"""Where the test machine keeps its files, and the addresses it listens on."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

NODE = "tf-cluster-test"
STATE_VARIABLE = "TF_CLUSTER_TEST_STATE"
KUBERNETES_VARIABLE = "TF_CLUSTER_TEST_KUBERNETES"


@dataclass(frozen=True)
class Layout:
    """`state` dies with the cluster; `cache` is the user's and outlives clones and clusters.

    `state` must be short: the sockets below it have to fit into the kernel's 107 bytes.
    """

    state: Path
    cache: Path
    kubernetes: str = ""
    """The version of its Kubernetes, such as 1.33.13; empty: the newest."""

    @property
    def name(self) -> str:
        """Two machines with different names and network namespaces don't see each other."""
        return self.state.name

    @property
    def logs(self) -> Path:
        """What each process of the cluster prints, a file each."""
        return self.state / "logs"

    @property
    def pki(self) -> Path:
        """Keys and certificates."""
        return self.state / "pki"

    @property
    def config(self) -> Path:
        """The settings of the processes, and the objects that the cluster begins with."""
        return self.state / "config"

    @property
    def kubeconfig(self) -> Path:
        """An administrator's way in."""
        return self.config / "admin.kubeconfig"

    @property
    def containerd_socket(self) -> Path:
        """Where containerd answers."""
        return self.state / "run" / "containerd.sock"

    @property
    def kubelet(self) -> Path:
        """The kubelet's own folder: volumes of pods, plugins."""
        return self.state / "kubelet"

    @property
    def volumes(self) -> Path:
        """Host directories of the static ReadWriteMany volumes, one per volume."""
        return self.state / "volumes"

    @property
    def provisioned(self) -> Path:
        """Host directories of the claims that the StorageClass `standard` serves."""
        return self.state / "provisioned"


@dataclass(frozen=True)
class Addresses:
    """Everything listens on the bridge or on loopback; nothing is reachable from elsewhere."""

    bridge: str = "tfc0"
    node: str = "10.244.0.1"
    pods: str = "10.244.0.0/24"
    services: str = "10.96.0.0/16"
    kubernetes_service: str = "10.96.0.1"
    dns_service: str = "10.96.0.10"
    api_port: int = 16443
    etcd_port: int = 12379
    etcd_peer_port: int = 12380

    @property
    def api(self) -> str:
        """The API server's URL."""
        return f"https://{self.node}:{self.api_port}"

    @property
    def etcd(self) -> str:
        """etcd's URL."""
        return f"http://127.0.0.1:{self.etcd_port}"


def default_layout(environment: Mapping[str, str] = os.environ) -> Layout:
    """The layout every command uses; variables move the cache and the state, and say a version."""
    caches = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    state = environment.get(STATE_VARIABLE) or "/var/lib/tf-cluster-test"
    kubernetes = environment.get(KUBERNETES_VARIABLE, "")
    return Layout(Path(state), Path(caches) / "tf-cluster", kubernetes)
