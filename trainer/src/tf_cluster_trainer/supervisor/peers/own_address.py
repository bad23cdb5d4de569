"""By which IP address this task is reached."""

from __future__ import annotations

import socket


def by_ip(status: str) -> str:
    """The host:port of this task's own status port, with an IP address for its name.

    The name is a Service's, which an upgrade deletes while the pod behind it still saves. The
    address is that of the interface by which packets go to the name; the name stays where it has
    no address.
    """
    host, _, port = status.rpartition(":")
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
            one.connect((host, int(port)))  # only chooses the way: no packet is sent
            return f"{one.getsockname()[0]}:{port}"
    except OSError:
        return status
