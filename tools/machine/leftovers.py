"""What of a test cluster is on this machine, as a list: empty before `up` and after `down`."""

from __future__ import annotations

from . import bridge, cgroups, firewall, mounts, processes, runtime_files
from .layout import Addresses, Layout


def leftovers(layout: Layout, addresses: Addresses) -> list[str]:
    """One line for each thing."""
    found = [f"process {one.pid} ({one.name})" for one in processes.marked(layout)]
    found += [f"mount {point}" for point in mounts.current(layout.state)]
    found += [f"control group {folder}" for folder in cgroups.groups(layout)]
    found += [f"file {file}" for file in runtime_files.found(layout)]
    found += firewall.remaining()
    if bridge.exists(addresses.bridge):
        found.append(f"network interface {addresses.bridge}")
    if layout.state.exists():
        found.append(f"folder {layout.state}")
    return found
