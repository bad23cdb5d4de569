"""Ports for servers that tests start, which no outgoing connection is given meanwhile."""

from __future__ import annotations

import itertools
import os
import socket

# Below the ports of outgoing connections (from 32768), NodePorts (from 30000) and `tf-cluster run`
# (from 15000). A test process begins at a place of its own.
_FIRST, _LAST = 10000, 14999
_next = itertools.count(os.getpid() * 97)


def free_port() -> int:
    """A port that nothing listens on, on any address; each is given once by this process."""
    size = _LAST - _FIRST + 1
    for _ in range(size):
        port = _FIRST + next(_next) % size
        with socket.socket() as one:
            try:
                one.bind(("", port))
            except OSError:
                continue
        return port
    raise AssertionError(f"no free port in {_FIRST}-{_LAST}")
