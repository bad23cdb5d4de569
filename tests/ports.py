"""Ports for servers that tests start, which nothing else is given meanwhile."""

from __future__ import annotations

import fcntl
import functools
import itertools
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

# Below the ports of outgoing connections (from 32768), NodePorts (from 30000) and `tf-cluster run`
# (from 15000). What it runs in tests has shares of its own, below the test cluster's 20244: its
# tasks bind their ports late.
_FIRST = 10000
_SHARES, _SIZE = 16, 312
_RUNS_FIRST, _RUNS_SIZE = 17000, 200


def free_port() -> int:
    """A port that nothing listens on, on any address, and that no other test process is given.

    This process gives it again only when it has given all the others of its share.
    """
    for port in itertools.islice(_ports(), _SIZE):
        with socket.socket() as one:
            try:
                one.bind(("", port))
            except OSError:
                continue
        return port
    raise AssertionError("no port of this process' share is free: does it end its servers?")


def listens(address: str) -> bool:
    """Whether somebody takes calls at host:port."""
    host, _, port = address.rpartition(":")
    with socket.socket() as one:
        return one.connect_ex((host, int(port))) == 0


def ports_of_runs() -> str:
    """What `tf-cluster run --ports` may be told: no other test process is given these."""
    first = _RUNS_FIRST + _share() * _RUNS_SIZE
    return f"{first}-{first + _RUNS_SIZE - 1}"


@functools.cache
def _ports() -> Iterator[int]:
    """Those of this process' share, over and over."""
    first = _FIRST + _share() * _SIZE
    return itertools.cycle(range(first, first + _SIZE))


@functools.cache
def _share() -> int:
    """A number that is this process' own as long as it runs: the kernel keeps the lock."""
    folder = Path(tempfile.gettempdir()) / f"tf-cluster-test-ports-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    for share in range(_SHARES):
        lock = os.open(folder / str(share), os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        return share
    raise AssertionError(f"{_SHARES} test processes run on this machine already: end some")
