"""A network namespace for a program of a test: it sees no interface but its own, and reaches us.

A browser gives up what it has asked for whenever an interface of its machine comes or goes
(ERR_NETWORK_CHANGED in Chromium), and on a node each pod has one. It needs root.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import eventually

# Of RFC 2544: no machine has one for its work. A link takes four.
ADDRESSES = ipaddress.ip_network("198.18.0.0/15")
LINK = 4
IPV6 = Path("/proc/sys/net/ipv6")


@dataclass(frozen=True)
class OwnNetwork:
    """The addresses of the two ends of the only link: this machine's, and the program's."""

    ours: str
    its: str


def can_have_one(*addresses: str) -> bool:
    """Whether a program in such a network would reach these addresses: they are this machine's.

    It needs root, too.
    """
    return os.geteuid() == 0 and all(map(_is_ours, addresses))


def waiting(*command: str) -> tuple[str, ...]:
    """The command in a namespace of its own: it begins once `link` has written a line to it."""
    return ("unshare", "--net", "sh", "-c", 'read -r _ && exec "$@"', "sh", *command)


def link(process: subprocess.Popen[bytes]) -> OwnNetwork:
    """Give a command that is `waiting` its link, which goes with the process.

    Raises AssertionError when the command makes no network, CalledProcessError when no link can be.
    """
    pid, network = process.pid, _network_of(process.pid)
    inside = f"nsenter --net=/proc/{pid}/ns/net ip"
    eventually("a network of its own", lambda: _space(pid) != _space("self"))
    _run(f"ip link add tfc-{pid} type veth peer name eth0 netns {pid}")
    _run(f"ip addr add {network.ours}/30 dev tfc-{pid}")
    _run(f"ip link set tfc-{pid} up")
    if IPV6.exists():  # its address would come a second later, which is a change
        _run(f"{inside} link set eth0 addrgenmode none")
    _run(f"{inside} link set lo up")
    _run(f"{inside} addr add {network.its}/30 dev eth0")
    _run(f"{inside} link set eth0 up")
    _run(f"{inside} route add default via {network.ours}")
    assert process.stdin
    process.stdin.write(b"\n")
    process.stdin.close()
    return network


def _network_of(pid: int) -> OwnNetwork:
    """The addresses of a process: no two that live at once have the same, but by chance."""
    first = pid * LINK % ADDRESSES.num_addresses
    return OwnNetwork(str(ADDRESSES[first + 1]), str(ADDRESSES[first + 2]))


def _run(command: str) -> None:
    subprocess.run(command.split(), check=True)


def _space(pid: int | str) -> Path:
    return Path(f"/proc/{pid}/ns/net").readlink()


def _is_ours(address: str) -> bool:
    """Whether it is an address of this machine: a socket can have no other."""
    with socket.socket() as one:
        try:
            one.bind((address, 0))
        except OSError:
            return False
    return True
