"""Free ports of the loopback interface."""

import random
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tf_cluster.exits import RefusedError

_FIRST = 15000
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")


@dataclass(frozen=True)
class PortRange:
    """Ports from `first` to `last`, both included."""

    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.first}-{self.last}"


def parse_range(text: str) -> PortRange:
    """`20000-20100`. Raises RefusedError for anything else."""
    first, dash, last = text.partition("-")
    if dash and first.isdecimal() and last.isdecimal() and 1024 <= int(first) <= int(last) < 65536:
        return PortRange(int(first), int(last))
    raise RefusedError(f"--ports is '{text}': FIRST-LAST is needed, from 1024 to 65535")


def default_range() -> PortRange:
    """Ports below those of outgoing connections, so that no connection takes one."""
    try:
        lowest = int(_EPHEMERAL.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        lowest = 32768
    return PortRange(_FIRST, lowest - 1) if lowest > _FIRST + 1000 else PortRange(20000, 60000)


class Reservation:
    """Ports held by bound sockets until `release`, so that no other process gets them."""

    def __init__(self, count: int, among: PortRange) -> None:
        """Bind `count` ports. Raises RefusedError if there are too few free ones."""
        self._sockets = ExitStack()
        self.ports: list[int] = []
        for port in _candidates(among):
            if len(self.ports) == count:
                break
            holder = _bound(port)
            if holder is not None:
                self._sockets.enter_context(holder)
                self.ports.append(port)
        if len(self.ports) < count:
            self.release()
            raise RefusedError(
                f"no free port: {count} are needed, {len(self.ports)} are free in {among}; "
                "end what uses them or choose others with --ports FIRST-LAST"
            )

    def release(self) -> None:
        """Let the ports go, for the tasks to bind."""
        self._sockets.close()


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` now."""
    holder = _bound(port, reuse=True)
    if holder is None:
        return False
    holder.close()
    return True


def _candidates(among: PortRange) -> Iterator[int]:
    """Every port once, from a random start, so that two runs rarely try the same ones."""
    size = among.last - among.first + 1
    start = random.randrange(size)
    return (among.first + (start + i) % size for i in range(size))


def _bound(port: int, *, reuse: bool = False) -> socket.socket | None:
    """A socket bound on all addresses, as TensorFlow's; with `reuse`, despite old connections."""
    holder = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if reuse:
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("", port))
        if reuse:
            holder.listen()
    except OSError:
        holder.close()
        return None
    return holder
