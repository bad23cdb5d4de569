"""Kernel settings that Kubernetes changes: noted at the start, put back at the end."""

from __future__ import annotations

import json
from pathlib import Path

_PROC_SYS = Path("/proc/sys")
TOUCHED = (
    "net/ipv4/ip_forward",
    "net/ipv4/conf/all/route_localnet",
    "net/bridge/bridge-nf-call-iptables",
    "net/bridge/bridge-nf-call-ip6tables",
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)


def note(file: Path, root: Path = _PROC_SYS) -> None:
    """Write down the settings as they are, once."""
    if file.exists():
        return
    found = {name: (root / name).read_text().strip() for name in TOUCHED if (root / name).exists()}
    file.write_text(json.dumps(found, indent=2) + "\n")


def prepare(root: Path = _PROC_SYS) -> None:
    """Forward packets between pods, and let packet rules see what crosses the bridge."""
    for name in ("net/ipv4/ip_forward", "net/bridge/bridge-nf-call-iptables"):
        if (root / name).exists():
            (root / name).write_text("1")


def restore(file: Path, root: Path = _PROC_SYS) -> None:
    """Put back what `note` wrote down."""
    if not file.exists():
        return
    for name, value in json.loads(file.read_text()).items():
        if (root / name).exists() and (root / name).read_text().strip() != value:
            (root / name).write_text(value)
