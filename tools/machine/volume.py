"""Static ReadWriteMany volumes: one host directory each, in a cluster that has one node."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from .api import ApiServer, JsonObject
from .failure import MachineError
from .layout import Addresses, Layout
from .user import require_root

_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")


@dataclass(frozen=True)
class StaticVolume:
    """`uid` owns the directory with `mode`; 0 and 0o755 make one that the trainer can't write."""

    name: str
    uid: int = 1000
    mode: int = 0o770
    size: str = "10Gi"

    def directory(self, layout: Layout) -> Path:
        """The directory on the host, which a test may read and fill."""
        return layout.volumes / self.name

    def manifest(self, layout: Layout) -> JsonObject:
        """A claim binds to it by `volumeName` and `storageClassName: ""`."""
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": self.name},
            "spec": {
                "accessModes": ["ReadWriteMany", "ReadWriteOnce"],
                "capacity": {"storage": self.size},
                "persistentVolumeReclaimPolicy": "Retain",
                "storageClassName": "",
                "volumeMode": "Filesystem",
                "hostPath": {"path": str(self.directory(layout)), "type": "Directory"},
            },
        }


def create(volume: StaticVolume, layout: Layout, addresses: Addresses) -> Path:
    """Make the directory and the PersistentVolume anew (an old claim's hold on it is dropped)."""
    require_root("making a host directory for a volume")
    if not _NAME.fullmatch(volume.name):
        raise MachineError(f"{volume.name!r} is no name for a volume: use a-z, 0-9 and -")
    if not layout.kubeconfig.exists():
        raise MachineError("the test cluster is not up; `make cluster-up` starts it")
    directory = volume.directory(layout)
    directory.mkdir(parents=True, exist_ok=True)
    os.chown(directory, volume.uid, volume.uid)
    directory.chmod(volume.mode)
    api = ApiServer(layout, addresses)
    collection = "/api/v1/persistentvolumes"
    there = api.get(f"{collection}/{volume.name}")
    phase = ((there or {}).get("status") or {}).get("phase", "")
    if phase == "Bound":
        claim = (there or {})["spec"]["claimRef"]
        holder = f"{claim['namespace']}/{claim['name']}"
        raise MachineError(
            f"the volume {volume.name} is held by the claim {holder}: delete it first"
        )
    if phase in ("Released", "Failed"):
        api.delete(f"{collection}/{volume.name}")
        there = None
    if not there:
        api.create(collection, volume.manifest(layout))
    print(f"ReadWriteMany volume {volume.name} at {directory}", file=sys.stderr)
    return directory
