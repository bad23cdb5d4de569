"""Claims: what is there, what can be made, and which nodes a volume leaves."""

from __future__ import annotations

from typing import Any

import pytest
from tf_cluster.cluster.preflight.answer import Verdict
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.storage import Storage, storage
from tf_cluster.planning.release import Release

from tests.generator.cluster.preflight.objects import Json

DEFAULT = {"storageclass.kubernetes.io/is-default-class": "true"}
HERE = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}


def _class(name: str, provisioner: str = "nfs.csi.k8s.io", **more: Any) -> Json:
    return {
        "metadata": {"name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "provisioner": provisioner,
        **more,
    }


def _default(name: str, made: str = "2026-01-01T00:00:00Z") -> Json:
    found = _class(name)
    found["metadata"] |= {"annotations": DEFAULT, "creationTimestamp": made}
    return found


def _claim(phase: str, **spec: Any) -> Json:
    return {
        "metadata": {"name": "it-log"},
        "spec": {"accessModes": ["ReadWriteMany"], **spec},
        "status": {"phase": phase},
    }


def _volume(name: str, **spec: Any) -> Json:
    return {
        "metadata": {"name": name},
        "spec": {"capacity": {"storage": "5Gi"}, "accessModes": ["ReadWriteMany"], **spec},
        "status": {"phase": "Available"},
    }


def _found(pods: int = 3, said: Json | None = None, **there: Any) -> Storage:
    log = {
        "size": "5Gi",
        "accessModes": ["ReadWriteMany"],
        "storageClassName": None,
        **(said or {}),
    }
    values = {"fullnameOverride": "it", "storage": {"data": {"enabled": False}, "log": log}}
    lists = {key: tuple(value) for key, value in there.items() if isinstance(value, list)}
    rest = {key: value for key, value in there.items() if key not in lists}
    cluster = Cluster("a", **{"version": "v1.36.3", **rest, **lists})
    return storage(cluster, Release(values, "it", "a"), {"it-log": pods})


OK, MAYBE, NO = Verdict.FITS, Verdict.CANT_SAY, Verdict.DOES_NOT_FIT
NO_CLASS = {"storageClassName": ""}
CASES = {
    "a default class": (OK, "can be made", {"storageclasses": [_default("d")]}),
    "none": (NO, "no default StorageClass: name one of: x", {"storageclasses": [_class("x")]}),
    "a class": (
        OK,
        "can be made",
        {"said": {"storageClassName": "x"}, "storageclasses": [_class("x")]},
    ),
    "no such class": (
        NO,
        "there is no StorageClass y: there are: x",
        {"said": {"storageClassName": "y"}, "storageclasses": [_class("x")]},
    ),
    "glusterfs is gone": (
        NO,
        "uses kubernetes.io/glusterfs, which Kubernetes 1.26 removed",
        {
            "said": {"storageClassName": "g"},
            "storageclasses": [_class("g", "kubernetes.io/glusterfs")],
        },
    ),
    "glusterfs is there": (
        OK,
        "can be made",
        {
            "said": {"storageClassName": "g"},
            "storageclasses": [_class("g", "kubernetes.io/glusterfs")],
            "version": "v1.25.9",
        },
    ),
    "a class of one node": (
        NO,
        "can't do ReadWriteMany",
        {
            "said": {"storageClassName": "e"},
            "storageclasses": [_class("e", "ebs.csi.aws.com")],
        },
    ),
    "a volume": (OK, "can be made", {"said": NO_CLASS, "persistentvolumes": [_volume("v")]}),
    "a small volume": (
        NO,
        "no free volume",
        {
            "said": NO_CLASS,
            "persistentvolumes": [_volume("v", capacity={"storage": "4Gi"})],
        },
    ),
    "another's volume": (
        NO,
        "no free volume",
        {
            "said": NO_CLASS,
            "persistentvolumes": [_volume("v", claimRef={"namespace": "b", "name": "it-log"})],
        },
    ),
    "kept for it": (
        OK,
        "can be made",
        {
            "said": NO_CLASS,
            "persistentvolumes": [_volume("v", claimRef={"namespace": "a", "name": "it-log"})],
        },
    ),
    "by name": (
        NO,
        "no volume w that it could have",
        {"said": {**NO_CLASS, "volumeName": "w"}, "persistentvolumes": [_volume("v")]},
    ),
    "by labels": (
        NO,
        "no free volume",
        {
            "said": {**NO_CLASS, "selector": {"matchLabels": {"fast": "yes"}}},
            "persistentvolumes": [_volume("v")],
        },
    ),
    "missing": (NO, "claim mine is not there", {"said": {"existingClaim": "mine"}}),
    "lost": (NO, "lost its volume", {"persistentvolumeclaims": [_claim("Lost")]}),
    "pending": (MAYBE, "has no volume yet", {"persistentvolumeclaims": [_claim("Pending")]}),
    "pending for its first pod": (
        OK,
        "is there",
        {
            "persistentvolumeclaims": [_claim("Pending", storageClassName="x")],
            "storageclasses": [_class("x", volumeBindingMode="WaitForFirstConsumer")],
        },
    ),
    "bound": (
        OK,
        "is there",
        {
            "persistentvolumeclaims": [_claim("Bound", volumeName="v")],
            "persistentvolumes": [_volume("v")],
        },
    ),
    "bound to nothing": (
        NO,
        "the volume v of claim it-log is gone",
        {"persistentvolumeclaims": [_claim("Bound", volumeName="v")]},
    ),
    "of one pod": (
        NO,
        "is ReadWriteOncePod, and 3 pods mount it",
        {"said": {"accessModes": ["ReadWriteOncePod"]}, "storageclasses": [_default("d")]},
    ),
    "may not be read": (
        MAYBE,
        "not allowed: list storageclasses",
        {"unread": frozenset({"storageclasses"})},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_claims(case: str) -> None:
    verdict, words, there = CASES[case]
    found = _found(**there)
    worst = max(found.checks, key=lambda one: list(Verdict).index(one.verdict))
    assert (worst.verdict, words in worst.message) == (verdict, True), found.checks


def test_a_volume_leaves_the_nodes_that_can_mount_it() -> None:
    volume = _volume("v", nodeAffinity={"required": HERE})
    volume["metadata"]["labels"] = {"topology.kubernetes.io/zone": "east__west"}
    found = _found(
        persistentvolumeclaims=[_claim("Bound", volumeName="v")], persistentvolumes=[volume]
    )
    affinity, zones = found.places["it-log"]
    assert affinity == HERE
    (zone,) = zones["nodeSelectorTerms"][0]["matchExpressions"]
    assert zone["values"] == ["east", "west"]


def test_several_volumes_on_nodes_of_their_own_can_not_be_told_apart() -> None:
    volumes = [_volume(name, nodeAffinity={"required": HERE}) for name in "vw"]
    found = _found(said=NO_CLASS, persistentvolumes=volumes)
    assert [one.verdict for one in found.checks] == [MAYBE]


def test_of_several_default_classes_the_newest_counts() -> None:
    found = _found(storageclasses=[_default("new", "2026-02-01T00:00:00Z"), _default("old")])
    assert [name for name, _ in found.new] == ["new"]
