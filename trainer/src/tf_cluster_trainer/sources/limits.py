"""The limits of one fetch in bytes and seconds. They are not settings."""

from __future__ import annotations

from dataclasses import dataclass

MIB = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Bytes and seconds. Tests have their own."""

    download: int = 200 * MIB  # of what comes over the network
    unpacked: int = 500 * MIB  # of the files that are made of it
    files: int = 20_000
    seconds: float = 600.0  # of all tries together
    silence: float = 30.0  # of a connection
    tries: int = 5
    pause: float = 1.0  # before the second try; doubles each time


REAL_LIMITS = Limits()


def size(count: int) -> str:
    """`200 MiB`, `1500 bytes`."""
    return f"{count // MIB} MiB" if count >= MIB else f"{count} bytes"
