"""The network bridge that all pods hang on. It is there before anything listens on its address."""

from __future__ import annotations

import json
import socket

from .commands import run, succeeds
from .failure import MachineError
from .layout import Addresses


def is_up(addresses: Addresses) -> bool:
    """Whether the bridge exists and bears the node's address."""
    if not exists(addresses.bridge):
        return False
    return f" {addresses.node}/" in run(["ip", "-o", "-4", "address", "show", addresses.bridge])


def create(addresses: Addresses) -> None:
    """Make the bridge with the node's address; what stands there already is kept."""
    if is_up(addresses):
        return
    taken = run(["ip", "-o", "-4", "address", "show"])
    if f" {addresses.node}/" in taken:
        raise MachineError(
            f"another interface of this machine has the address {addresses.node} already: "
            "is another Kubernetes with the pod network 10.244.0.0/24 running here?"
        )
    if not exists(addresses.bridge):
        run(["ip", "link", "add", addresses.bridge, "type", "bridge"])
    length = addresses.pods.split("/")[1]
    run(["ip", "address", "add", f"{addresses.node}/{length}", "dev", addresses.bridge])
    run(["ip", "link", "set", addresses.bridge, "up"])


def remove(addresses: Addresses) -> None:
    """Remove the bridge and the host ends of the pods' cables that hang on it."""
    if not exists(addresses.bridge):
        return
    shown = run(["ip", "-json", "link", "show", "master", addresses.bridge])
    for link in json.loads(shown or "[]"):
        if name := link.get("ifname"):
            # It may vanish by itself at this moment, with the pod's network namespace.
            succeeds(["ip", "link", "delete", name])
    run(["ip", "link", "delete", addresses.bridge])


def exists(name: str) -> bool:
    """Whether this network namespace has an interface of that name (/sys may show another's)."""
    return name in {known for _, known in socket.if_nameindex()}
