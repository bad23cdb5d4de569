"""Certificates of servers that tests start, each signed by itself."""

from __future__ import annotations

from pathlib import Path

from tools.machine.commands import run


def self_signed(folder: Path, host: str, also: str = "") -> tuple[Path, Path]:
    """The key and the certificate of a host, good for two days, as files in the folder.

    `also` is its other name, as OpenSSL writes it: `IP:127.0.0.1`. Else it is the host's, in DNS.
    """
    key, certificate = folder / "tls.key", folder / "tls.crt"
    names = ("-subj", f"/CN={host}", "-addext", f"subjectAltName={also or f'DNS:{host}'}")
    kind = ("-x509", "-days", "2", "-nodes", "-newkey", "rsa:2048")
    run(["openssl", "req", *kind, *names, "-keyout", key, "-out", certificate])
    return key, certificate
