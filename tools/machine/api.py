"""A small client of the API server, for the few objects the machine itself reads and writes."""

from __future__ import annotations

import json
import ssl
import urllib.error
import urllib.request
from typing import Any

from .failure import MachineError
from .layout import Addresses, Layout

JsonObject = dict[str, Any]


class ApiServer:
    """Speaks as the cluster's admin. Raises MachineError on any answer but a good one."""

    def __init__(self, layout: Layout, addresses: Addresses) -> None:
        self._address = addresses.api
        pki = layout.pki
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        self._open = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
        ).open

    def get(self, path: str) -> JsonObject | None:
        """The object at `path`, or None where there is none."""
        return self._ask("GET", path, None)

    def create(self, path: str, thing: JsonObject) -> JsonObject:
        """Create the object in the collection at `path`."""
        return self._ask("POST", path, thing) or {}

    def delete(self, path: str) -> None:
        """Delete the object at `path`; one that is not there is fine."""
        self._ask("DELETE", path, None)

    def _ask(self, verb: str, path: str, thing: JsonObject | None) -> JsonObject | None:
        request = urllib.request.Request(
            self._address + path,
            method=verb,
            data=None if thing is None else json.dumps(thing).encode(),
            headers={"Content-Type": "application/json", "Accept": "application/json"},
        )
        try:
            with self._open(request, timeout=10) as answer:
                read: JsonObject = json.load(answer)
                return read
        except urllib.error.HTTPError as refused:
            if refused.code == 404 and verb != "POST":
                return None
            said = refused.read().decode(errors="replace")
            raise MachineError(f"{verb} {path}: {refused.code}: {said}") from refused
        except OSError as unreachable:
            raise MachineError(f"the API server does not answer: {unreachable}") from unreachable


def condition(thing: JsonObject | None, kind: str) -> bool:
    """Whether the object's status has the condition `kind` with status True."""
    conditions = ((thing or {}).get("status") or {}).get("conditions") or []
    return any(entry["type"] == kind and entry["status"] == "True" for entry in conditions)
