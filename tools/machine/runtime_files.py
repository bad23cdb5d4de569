"""Files that the kubelet, containerd and the CNI library write outside the state folder.

Their places are fixed in those programs: symbolic links to pods' logs, the shims' sockets,
and a record of each pod's network.
"""

from __future__ import annotations

import socket
from pathlib import Path

from .layout import Layout

_LOG_LINKS = Path("/var/log/containers")
_SHIM_SOCKETS = Path("/run/containerd/s")
_NETWORK_RECORDS = Path("/var/lib/cni/results")


def found(layout: Layout) -> list[Path]:
    """Those of them that belong to this machine's cluster, or to nothing that is alive."""
    links = [
        link
        for link in _files(_LOG_LINKS)
        if link.is_symlink() and str(link.readlink()).startswith(f"{layout.state}/")
    ]
    # A record names the pod's network namespace, which lies below the state folder.
    records = [file for file in _files(_NETWORK_RECORDS) if f"{layout.state}/" in file.read_text()]
    sockets = [file for file in _files(_SHIM_SOCKETS) if _is_dead(file)]
    return links + records + sockets


def remove(layout: Layout) -> None:
    """Remove them, and the folders that are empty then."""
    for file in found(layout):
        file.unlink(missing_ok=True)
    for folder in (_LOG_LINKS, _SHIM_SOCKETS, _NETWORK_RECORDS):
        for emptied in (folder, folder.parent):
            if emptied.name not in ("log",) and emptied.is_dir() and not any(emptied.iterdir()):
                emptied.rmdir()


def _files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _is_dead(file: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(file))
        except OSError:
            return True
    return False
