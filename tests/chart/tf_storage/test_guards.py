"""Every message of charts/tf-storage, and what the schema refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.helm import ROOT
from tests.chart.helm import refusal as refusal_of_chart
from tests.chart.tf_storage.features import FEATURES, NEW, OLD
from tests.chart.tf_storage.helm import refusal, render

URL = {"resturl": "http://10.0.0.5:8080"}
PATH = {"hostPath": "/mnt/gluster/x"}
GLUSTER = {"volume": "tf", "namespace": "default"}


def a_class(**settings: Any) -> dict[str, Any]:
    return {"classes": {"a": settings}}


def heketi(**settings: Any) -> dict[str, Any]:
    return a_class(kind="heketi", heketi={**URL, **settings})


def volume(**settings: Any) -> dict[str, Any]:
    return {"volumes": {"v": settings}}


@pytest.mark.parametrize(
    ("values", "kubernetes", "message"),
    [
        (
            heketi(),
            "1.26.0",
            "classes.a.kind is heketi, whose provisioner Kubernetes removed in 1.26; this is "
            "v1.26.0. Take kind kadalu or nfs,\nor mount GlusterFS on the nodes and make a volume "
            "with hostPath.",
        ),
        (
            volume(glusterfs={**GLUSTER, "endpoints": "e"}),
            "1.28.3-gke.100",
            "volumes.v.glusterfs is for the plugin that Kubernetes removed in 1.26; this is "
            "v1.28.3-gke.100. Mount GlusterFS on the\nnodes and set volumes.v.hostPath to a "
            "directory of it.",
        ),
        (a_class(kind="heketi"), OLD, "classes.a.heketi.resturl is empty: where is Heketi?"),
        (
            heketi(secretName="s"),
            OLD,
            "classes.a.heketi.secretName and classes.a.heketi.secretNamespace need each other.",
        ),
        (
            heketi(secretName="s", secretNamespace="n", restuserkey="k"),
            OLD,
            "classes.a.heketi.restuserkey would do nothing beside classes.a.heketi.secretName: "
            "remove one of the two.",
        ),
        (
            heketi(restauthenabled=False, restuser="admin"),
            OLD,
            "classes.a.heketi.restauthenabled is false, so classes.a.heketi.restuser would do "
            "nothing: remove one of the two.",
        ),
        (
            heketi(gidMin=5000, gidMax=4000),
            OLD,
            "classes.a.heketi.gidMin is 5000, above classes.a.heketi.gidMax, 4000.",
        ),
        (
            {"classes": {"a": {"kind": "heketi", "heketi": URL, "parameters": {"x": "y"}}}},
            OLD,
            "classes.a.parameters: the provisioner of heketi refuses what is not below "
            "classes.a.heketi. Leave them out.",
        ),
        (
            a_class(provisioner="x", kadalu={"storage_name": "p"}),
            NEW,
            "classes.a.kadalu is set, but classes.a.kind is custom: remove one of the two.",
        ),
        (
            a_class(),
            NEW,
            "classes.a.provisioner is empty: who makes the volumes of a custom class?",
        ),
        (
            a_class(kind="kadalu", provisioner="x"),
            NEW,
            "classes.a.provisioner is x, but classes.a.kind is kadalu, which has its own:\n"
            "take kind custom, or leave it out.",
        ),
        (
            a_class(kind="nfs", nfs={"server": "s"}),
            NEW,
            "classes.a.nfs.share is empty: nfs.csi.k8s.io has to know it.",
        ),
        (
            a_class(kind="nfs", provisioner="x", nfs={"server": "s"}),
            NEW,
            "classes.a.nfs is for nfs.csi.k8s.io, but classes.a.provisioner is x:\n"
            "give that its parameters below classes.a.parameters.",
        ),
        (
            {
                "class": {"isDefault": True},
                "classes": {"a": {"provisioner": "x"}, "b": {"provisioner": "x"}},
            },
            NEW,
            "The classes a, b have isDefault: a cluster has one default class.",
        ),
        (volume(), NEW, "volumes.v has no source: give it one of nfs, glusterfs and hostPath."),
        (
            volume(**PATH, nfs={"server": "s", "path": "/p"}),
            NEW,
            "volumes.v has nfs and hostPath: give it one of nfs, glusterfs and hostPath.",
        ),
        (
            volume(**PATH, mountOptions=["ro"]),
            NEW,
            "volumes.v.mountOptions would do nothing: a hostPath is mounted already. Give them to "
            "the mount on the node.",
        ),
        (volume(glusterfs=GLUSTER), OLD, "volumes.v.glusterfs needs one of servers and endpoints."),
        (
            {"volumes": {"1.v": {"glusterfs": {**GLUSTER, "servers": ["10.0.0.5"]}}}},
            OLD,
            "volumes.1.v: its Service has the same name, which needs a letter first, then letters, "
            "digits and -, 63 at most.",
        ),
        (
            {"enabled": False},
            NEW,
            "enabled is false: only an umbrella chart can leave this chart out.",
        ),
    ],
)
def test_message(values: dict[str, Any], kubernetes: str, message: str) -> None:
    assert refusal(values, kubernetes) == message


def test_all_complaints_come_at_once() -> None:
    told = refusal({**heketi(gidMin=5000, gidMax=4000), **volume()}, NEW)
    for words in ("removed in 1.26", "gidMin is 5000", "volumes.v has no source"):
        assert words in told


def test_in_an_umbrella_the_users_keys_are_named() -> None:
    part = {"tf-storage": {"enabled": True, **a_class()}}
    told = refusal_of_chart({**part, "tf-cluster": {"enabled": False}}, chart=ROOT)
    assert "tf-storage.classes.a.provisioner is empty" in told


def test_the_last_old_kubernetes_takes_what_the_first_new_one_refuses() -> None:
    for feature in ("heketi", "gluster-endpoints"):
        values = FEATURES[feature][1]
        render(values, "1.25.16")
        assert "Kubernetes removed in 1.26" in refusal(values, "1.26.0-rc.0")


@pytest.mark.parametrize(
    "values",
    [
        a_class(kind="gluster"),
        heketi(gidMin=1999),
        heketi(gidMax=2147483648),
        heketi(volumetype="disperse:4"),
        heketi(volumetype="mirror"),
        heketi(volumenameprefix="a_b"),
        heketi(snapfactor=0.5),
        heketi(snapfactor=101),
        heketi(customepnameprefix="x" * 27),
        heketi(restURL="http://x"),
        a_class(provisioner="x", parameters={"a": 1}),
        a_class(provisioner="x", reclaimPolicy="Recycle"),
        volume(hostPath="mnt"),
        volume(hostPath="/mnt/../etc"),
        volume(nfs={"server": "s"}),
        volume(**PATH, capacity="0"),
        volume(**PATH, accessModes=[]),
        volume(**PATH, claim={"name": "x"}),
        volume(glusterfs={**GLUSTER, "servers": ["gluster.example"]}),
        {"classes": {"A_b": {"provisioner": "x"}}},
        {"clases": {}},
    ],
)
def test_the_schema_refuses(values: dict[str, Any]) -> None:
    assert "values don't meet the specifications of the schema" in refusal(values, OLD)
