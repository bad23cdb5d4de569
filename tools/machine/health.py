"""Asking a component whether it is well."""

from __future__ import annotations

import socket
import ssl
import urllib.error
import urllib.request


def is_well(address: str) -> bool:
    """True when an http(s) address answers 200, or a `unix:` socket takes a connection.

    Serving certificates are not checked: the addresses are this machine's own.
    """
    if not address:
        return True
    if address.startswith("unix:"):
        return _takes_connections(address.removeprefix("unix:"))
    trusting = ssl.create_default_context()
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trusting)
    )
    try:
        with direct.open(address, timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


def _takes_connections(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(2)
        try:
            client.connect(path)
        except OSError:
            return False
    return True
