"""Finds the IP address at which other tasks reach this one."""

from __future__ import annotations

import socket


def by_ip(status: str) -> str:
    """The host:port of this task's own status port, with an IP address in place of its name.

    The name is a Service's, which an upgrade deletes while the pod behind it still saves. The
    address is that of the interface that routes to the name. If the name has no address, it stays.
    """
    host, _, port = status.rpartition(":")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect((host, int(port)))  # only chooses the way: no packet is sent
            return f"{one.getsockname()[0]}:{port}"
    except OSError:
        return status
