"""`down`: end what the machine started and remove what it made, however far it had come."""

from __future__ import annotations

import shutil
import sys
import time

from . import bridge, cgroups, firewall, mounts, pod_networks, processes, runtime_files, sysctls
from .exclusive import exclusively
from .failure import MachineError
from .layout import Addresses, Layout
from .leftovers import leftovers
from .user import require_root


def down(layout: Layout, addresses: Addresses) -> None:
    """Remove the cluster; raise MachineError with a list when something is left of it."""
    require_root("removing the test cluster")
    begun = time.monotonic()
    with exclusively(layout):
        was_there = bool(leftovers(layout, addresses))
        tear_down(layout, addresses)
        left = leftovers(layout, addresses)
    if left:
        raise MachineError("the test cluster left behind:\n  " + "\n  ".join(left))
    took = f"{time.monotonic() - begun:.1f} s"
    said = f"the test cluster is gone ({took})" if was_there else "there is no test cluster"
    print(said, file=sys.stderr)


def tear_down(layout: Layout, addresses: Addresses) -> None:
    """The same without the lock and the words. The kubelet goes first: it would start pods anew."""
    processes.end(layout, only="kubelet")
    processes.end(layout)
    cgroups.end_all_in_them(layout)
    processes.end(layout)
    pod_networks.unplug(layout.state)
    mounts.remove(layout.state)
    bridge.remove(addresses)
    firewall.remove()
    cgroups.remove(layout)
    runtime_files.remove(layout)
    sysctls.restore(layout.state / "sysctls.json")
    if layout.state.exists():
        shutil.rmtree(layout.state)
