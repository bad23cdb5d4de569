"""Claims, and the rule that keeps their users on one node."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import Object, Rendered, render

RWX = {"accessModes": ["ReadWriteMany"]}
RWO = {"accessModes": ["ReadWriteOnce"]}


LEFT_BY_ARGO_CD = {
    "argocd.argoproj.io/sync-options": "Prune=false",
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
}


def colocation(rendered: Rendered, role: str) -> list[Object]:
    pod = rendered.one("Job", role)["spec"]["template"]["spec"]
    affinity = pod.get("affinity", {}).get("podAffinity", {})
    return list(affinity.get("requiredDuringSchedulingIgnoredDuringExecution", []))


def claim(values: dict[str, Any], volume: str = "log") -> Object:
    name = f"digits-{volume}"
    claims = render({"storage": {volume: values}}).all("PersistentVolumeClaim")
    return next(obj for obj in claims if obj["metadata"]["name"] == name)


def test_uninstalling_keeps_the_claims() -> None:
    claims = render().all("PersistentVolumeClaim", "storage")
    assert len(claims) == 2
    for obj in claims:
        assert obj["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"


def test_nobody_can_take_the_keeping_away_by_accident() -> None:
    obj = claim({"annotations": {"helm.sh/resource-policy": "delete", "note": "x"}})
    annotations = {"helm.sh/resource-policy": "keep", "note": "x"}
    assert obj["metadata"]["annotations"] == annotations | LEFT_BY_ARGO_CD


def test_argo_cd_neither_prunes_a_claim_nor_counts_it_unless_told() -> None:
    options = {"argocd.argoproj.io/sync-options": "Prune=true"}
    told = claim({"annotations": options})["metadata"]["annotations"]
    own = claim(
        {"annotations": {"argocd.argoproj.io/sync-options": "Delete=false, PruneLast=true"}}
    )
    common = render(
        {
            "commonAnnotations": {
                "argocd.argoproj.io/sync-options": "Validate=false",
                "argocd.argoproj.io/compare-options": "ServerSideDiff=true",
            }
        }
    )

    assert claim({})["metadata"]["annotations"].items() >= LEFT_BY_ARGO_CD.items()
    assert told.items() >= options.items()
    kept = own["metadata"]["annotations"]["argocd.argoproj.io/sync-options"]
    assert kept == "Delete=false,PruneLast=true,Prune=false"
    for obj in common.all("PersistentVolumeClaim"):
        said = obj["metadata"]["annotations"]
        assert said["argocd.argoproj.io/sync-options"] == "Validate=false,Prune=false"
        compared = said["argocd.argoproj.io/compare-options"]
        assert compared == "ServerSideDiff=true,IgnoreExtraneous"


def test_a_claim_asks_for_the_default_class_unless_told() -> None:
    assert "storageClassName" not in claim({})["spec"]
    assert claim({"storageClassName": ""})["spec"]["storageClassName"] == ""
    assert claim({"storageClassName": "nfs"})["spec"]["storageClassName"] == "nfs"


def test_a_claim_can_be_bound_to_a_volume() -> None:
    assert claim({"volumeName": "pv-7", "storageClassName": ""})["spec"]["volumeName"] == "pv-7"


def test_an_existing_claim_is_mounted_and_none_is_made() -> None:
    rendered = render({"storage": {"data": {"existingClaim": "shared"}}})
    names = [obj["metadata"]["name"] for obj in rendered.all("PersistentVolumeClaim")]
    assert names == ["digits-log"]
    for role in ("chief", "worker"):
        volumes = rendered.one("Job", role)["spec"]["template"]["spec"]["volumes"]
        assert {"name": "data", "persistentVolumeClaim": {"claimName": "shared"}} in volumes


@pytest.mark.parametrize(
    ("modes", "is_read_only"),
    [
        (["ReadOnlyMany"], True),
        (["ReadOnlyMany", "ReadWriteMany"], False),
        (["ReadOnlyMany", "ReadWriteOnce"], False),
        (["ReadWriteMany"], False),
    ],
)
@pytest.mark.parametrize("name", ["", "sets"])
def test_a_claim_that_nobody_may_write_is_mounted_so(
    modes: list[str], is_read_only: bool, name: str
) -> None:
    rendered = render({"storage": {"data": {"accessModes": modes, "existingClaim": name}}})
    source: dict[str, object] = {"claimName": name or "digits-data"}
    if is_read_only:
        source["readOnly"] = True
    for role in ("chief", "worker"):
        volumes = rendered.one("Job", role)["spec"]["template"]["spec"]["volumes"]
        assert {"name": "data", "persistentVolumeClaim": source} in volumes
        assert {"name": "log", "persistentVolumeClaim": {"claimName": "digits-log"}} in volumes


def test_a_claim_can_choose_its_volume_by_labels() -> None:
    selector = {"matchLabels": {"team": "vision"}}
    asked = claim({"selector": selector, "storageClassName": "nfs"})
    assert asked["spec"]["selector"] == selector
    assert "selector" not in claim({})["spec"]


def test_a_claim_can_be_filled_from_a_snapshot_or_a_claim() -> None:
    snapshot = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s"}
    for source in (snapshot, {"kind": "PersistentVolumeClaim", "name": "old"}):
        assert claim({"dataSource": source}, "data")["spec"]["dataSourceRef"] == source
    assert "dataSourceRef" not in claim({})["spec"]


def mounts(rendered: Rendered, role: str) -> dict[str, Object]:
    (container,) = rendered.one("Job", role)["spec"]["template"]["spec"]["containers"]
    return {mount["mountPath"]: mount for mount in container["volumeMounts"]}


def test_trainings_share_a_claim_by_directories() -> None:
    rendered = render(FEATURES["team-claim"])
    assert rendered.all("PersistentVolumeClaim") == []
    for role in ("chief", "worker"):
        assert mounts(rendered, role)["/data"]["subPath"] == "sets/digits"
        assert mounts(rendered, role)["/log"]["subPath"] == "runs"
    assert "subPath" not in mounts(render(), "worker")["/log"]


def test_without_a_data_claim_data_is_an_empty_directory() -> None:
    rendered = render({"storage": {"data": {"enabled": False}}})
    (only,) = rendered.all("PersistentVolumeClaim")
    assert only["metadata"]["name"] == "digits-log"
    for role in ("chief", "worker"):
        volumes = rendered.one("Job", role)["spec"]["template"]["spec"]["volumes"]
        assert {"name": "data", "emptyDir": {}} in volumes
        assert "/data" in mounts(rendered, role)
    assert rendered.config("training.json")["dirs"]["data"] == "/data"


@pytest.mark.parametrize(
    ("storage", "colocated"),
    [
        ({}, True),
        ({"data": RWX}, True),
        ({"log": RWX}, True),
        ({"data": RWX, "log": RWX}, False),
        ({"data": {"accessModes": ["ReadOnlyMany"]}, "log": RWX}, False),
        ({"data": RWX, "log": {"accessModes": ["ReadWriteOnce", "ReadWriteMany"]}}, False),
        ({"data": {"existingClaim": "a", **RWX}, "log": {"existingClaim": "b", **RWX}}, False),
        ({"data": {"existingClaim": "a"}, "log": {"existingClaim": "b"}}, True),
        ({"colocate": False, "data": RWX, "log": RWX}, False),
        ({"data": {"enabled": False}, "log": RWX}, False),
        ({"data": {"enabled": False}}, True),
        ({"colocate": True, "data": RWX, "log": RWX}, True),
    ],
)
def test_pods_share_a_node_where_a_claim_needs_it_or_the_user_says_so(
    storage: dict[str, Any], colocated: bool
) -> None:
    rendered = render({"storage": storage, "evaluator": {"enabled": True}})
    roles = ("chief", "worker", "evaluator")
    assert [bool(colocation(rendered, role)) for role in roles] == [colocated] * 3
    for deployment in rendered.all("Deployment", "ps"):
        assert "affinity" not in deployment["spec"]["template"]["spec"]


def test_the_rule_holds_across_attempts_and_matches_the_first_pod_itself() -> None:
    rendered = render({"evaluator": {"enabled": True}})
    for role in ("chief", "worker", "evaluator"):
        (term,) = colocation(rendered, role)
        assert term["topologyKey"] == "kubernetes.io/hostname"
        assert rendered.attempt not in str(term)
        labels = rendered.one("Job", role)["spec"]["template"]["metadata"]["labels"]
        selector = term["labelSelector"]
        assert selector["matchLabels"].items() <= labels.items()
        (among,) = selector["matchExpressions"]
        assert labels[among["key"]] in among["values"]
        assert among["operator"] == "In"


def test_the_rule_is_added_to_the_users_affinity() -> None:
    mine = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
    affinity = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []},
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [mine]},
    }
    rendered = render({"worker": {"affinity": affinity}})
    first, second = colocation(rendered, "worker")
    assert first == mine
    assert second["topologyKey"] == "kubernetes.io/hostname"
    assert len(colocation(rendered, "chief")) == 1
