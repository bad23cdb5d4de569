"""Draw the claims of a training, and the volumes that no provisioner has to make."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.cluster.fake_nodes import STORAGE_CLASS
from tests.cluster.kubernetes import Object
from tests.cluster.operations.mixes.places import HOST

LATER = "later"
"""A class whose volumes are chosen when a pod is placed; like STORAGE_CLASS it makes none."""


@dataclass
class Storage:
    """What is there before the training, and what its values say."""

    volumes: list[Object] = field(default_factory=list)
    claims: list[Object] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)
    how: list[str] = field(default_factory=list)

    @property
    def colocates(self) -> bool:
        """Whether the pods that mount a claim have to share a node."""
        modes = [
            one["accessModes"]
            for name, one in self.values.items()
            if name != "colocate" and one.get("enabled", True)
        ]
        return self.values.get("colocate") is True or any("Many" not in str(one) for one in modes)


def draw_storage(rng: Random, name: str) -> Storage:
    """Claims that are there, or that the chart makes; of one node or of many; rarely none."""
    storage = Storage()
    mode = rng.choices(("ReadWriteMany", "ReadWriteOnce"), (65, 35))[0]
    for claim in ("data", "log"):
        if claim == "data" and rng.random() < 0.15:
            storage.values["data"] = {"enabled": False}
            continue
        way = rng.choices(("there", "made", "later", "missing"), (40, 45, 12, 2.5))[0]
        storage.how.append(f"{claim}: {mode}, {way}")
        storage.values[claim] = _claim(rng, storage, name, claim, mode, way)
    if "Many" in mode and rng.random() < 0.06:
        storage.values["colocate"] = True
    return storage


def _claim(
    rng: Random, storage: Storage, mix: str, claim: str, mode: str, way: str
) -> dict[str, Any]:
    volume = f"{mix}-{claim}"
    if way == "missing":
        return {"existingClaim": f"{claim}-of-nobody", "accessModes": [mode]}
    if way == "there":
        storage.volumes.append(_volume(volume, mode, "", f"its-{claim}", mix))
        storage.claims.append(_bound(volume, mode, f"its-{claim}"))
        return {"existingClaim": f"its-{claim}", "accessModes": [mode]}
    if way == "later":
        storage.volumes.append(_volume(volume, mode, LATER, "", mix))
        return {"accessModes": [mode], "storageClassName": LATER}
    # The chart makes the claim, by the name of the release.
    named = rng.random() < 0.4
    storage.volumes.append(
        _volume(volume, mode, STORAGE_CLASS, "" if named else f"{mix}-{claim}", mix)
    )
    values: dict[str, Any] = {"accessModes": [mode], "size": "2Gi"}
    if named:
        values |= {"volumeName": volume, "storageClassName": STORAGE_CLASS}
    return values


def on_one_node(storage: Storage, node: str) -> None:
    """The first volume is of a disk in a node: who mounts it has to go there."""
    terms = [{"matchExpressions": [{"key": HOST, "operator": "In", "values": [node]}]}]
    storage.volumes[0]["spec"]["nodeAffinity"] = {"required": {"nodeSelectorTerms": terms}}


def _volume(name: str, mode: str, of: str, claim: str, mix: str) -> Object:
    spec: dict[str, Any] = {
        "capacity": {"storage": "5Gi"},
        "accessModes": [mode],
        "storageClassName": of,
        "hostPath": {"path": "/nowhere"},
        "persistentVolumeReclaimPolicy": "Retain",
    }
    if claim:
        spec["claimRef"] = {"namespace": mix, "name": claim}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": {"mix": mix}},
        "spec": spec,
    }


def _bound(volume: str, mode: str, name: str) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name},
        "spec": {
            "accessModes": [mode],
            "storageClassName": "",
            "volumeName": volume,
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
