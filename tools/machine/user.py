"""Who may change this machine."""

from __future__ import annotations

import os

from .failure import MachineError

NETWORKS = "it makes network interfaces, mounts and control groups"
CLUSTER_OF_YOURS = "set KUBECONFIG to a cluster of yours (kind, k3d, ...)"


def require_root(what: str, why: str = NETWORKS, instead: str = CLUSTER_OF_YOURS) -> None:
    """Raise MachineError unless this is root."""
    if os.geteuid() != 0:
        raise MachineError(f"{what} needs root ({why}). As another user {instead}.")
