"""The pods' ends of their cables. Who removes these removes the host's ends too.

A pod that was being made when the machine was told to end may have a cable that does not hang on
the bridge yet; and a namespace lives on after its mount while anything still holds it.
"""

from __future__ import annotations

import json
from pathlib import Path

from . import mounts
from .commands import run, succeeds
from .failure import MachineError


def unplug(state: Path) -> None:
    """Remove the interfaces of every network namespace that is mounted below the state folder."""
    for point in mounts.current(state):
        if "/netns/" in point:
            _unplug_one(point)


def _unplug_one(namespace: str) -> None:
    inside = ["nsenter", f"--net={namespace}"]
    try:
        shown = run([*inside, "ip", "-json", "link", "show"])
    except MachineError:
        return  # a file whose namespace was never made, or is gone
    for link in json.loads(shown or "[]"):
        if link.get("ifname") not in (None, "lo"):
            succeeds([*inside, "ip", "link", "delete", link["ifname"]])
