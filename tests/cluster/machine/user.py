"""Who may change this machine."""

from __future__ import annotations

import os

from .failure import MachineError


def require_root(what: str) -> None:
    """Raise MachineError unless this is root."""
    if os.geteuid() != 0:
        raise MachineError(
            f"{what} needs root (it makes network interfaces, mounts and control groups). "
            "As another user set KUBECONFIG to a cluster of yours (kind, k3d, ...)."
        )
