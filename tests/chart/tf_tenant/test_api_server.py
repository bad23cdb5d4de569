"""charts/tf-tenant and a real API server: what it takes, and the life of a release."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.chart.helm import HELMS, merged
from tests.chart.tf_tenant.features import FEATURES
from tests.chart.tf_tenant.helm import TENANT, render
from tests.cluster.kubernetes import CommandError, Namespace, Object
from tests.cluster.machine_tools import tool_path

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("feature", FEATURES)
def test_it_takes_every_object_without_a_warning(feature: str, namespace: Namespace) -> None:
    named = {"namespace": {"name": namespace.name}}
    objects = render(merged(FEATURES[feature], named)).objects
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    for way in ((), ("--server-side", "--force-conflicts")):
        namespace.kubectl(
            *("apply", "--dry-run=server", "--warnings-as-errors", "--validate=strict", *way),
            "--filename=-",
            stdin=manifest,
        )


@pytest.fixture(params=HELMS)
def admins(request: pytest.FixtureRequest, namespace: Namespace) -> Namespace:
    return replace(namespace, helm_path=tool_path(request.param))


@pytest.fixture
def tenant(admins: Namespace) -> Iterator[str]:
    """The name of a tenant; what is left of it is removed, which takes the cluster a while."""
    name = f"{admins.name}-{uuid.uuid4().hex[:6]}"
    yield name
    admins.helm("uninstall", name, "--ignore-not-found")
    admins.kubectl("delete", "namespace", name, "--ignore-not-found", "--wait=false")


SETTINGS = (
    "--set=members.users={ada}",
    "--set=claims.shared.size=1Gi",
    "--set=defaultAccount.pullSecrets={registry}",
)
KEPT = {"Namespace", "PersistentVolumeClaim", "ServiceAccount"}
KINDS = "namespace,resourcequota,limitrange,role,rolebinding,networkpolicy,sa,pvc"


def test_a_release_through_its_life(admins: Namespace, tenant: str) -> None:
    chart = (tenant, str(TENANT), *SETTINGS)
    if admins.helm_path.endswith("helm3"):
        admins.kubectl("create", "namespace", tenant)
        with pytest.raises(CommandError, match="exists and cannot be imported"):
            admins.helm("install", *chart)
        admins.helm("install", *chart, "--take-ownership")
    else:
        admins.helm("install", *chart)
    first = _objects(admins, tenant)
    rendered = render({"members": {"users": ["ada"]}, "claims": {"shared": {}}}, release=tenant)
    assert {kind for kind, _ in first} == {one["kind"] for one in rendered.objects}
    assert len(first) == len(rendered.objects)
    account = _named(admins, tenant, "serviceaccount", "default")
    assert account["imagePullSecrets"] == [{"name": "registry"}]
    labels = _named(admins, tenant, "namespace", tenant)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"

    admins.helm("upgrade", *chart)
    assert _objects(admins, tenant) == first, "the same values touch nothing"

    admins.helm("upgrade", *chart, "--set=members.users={grace}", "--set=quota.pods=3")
    binding = _named(admins, tenant, "rolebinding", "tf-user")
    assert [one["name"] for one in binding["subjects"]] == ["grace"]
    quota = _named(admins, tenant, "resourcequota", "tf-tenant")
    assert quota["spec"]["hard"]["pods"] == "3"

    admins.helm("uninstall", tenant)
    left = _objects(admins, tenant)
    assert {kind for kind, _ in left} == KEPT
    assert all(first[key][0] == uid for key, (uid, _) in left.items())

    admins.helm("install", *chart)
    again = _objects(admins, tenant)
    assert again.keys() == first.keys(), "what stayed is taken over"
    assert {key: uid for key, (uid, _) in again.items() if key[0] in KEPT} == {
        key: uid for key, (uid, _) in left.items()
    }


def test_a_namespace_that_is_there_stays_as_it_is(admins: Namespace, tenant: str) -> None:
    admins.kubectl("create", "namespace", tenant)
    before = _named(admins, tenant, "namespace", tenant)["metadata"]
    chart = (tenant, str(TENANT), "--set=namespace.create=false")
    admins.helm("install", *chart, "--take-ownership")
    assert _named(admins, tenant, "namespace", tenant)["metadata"] == before
    admins.helm("uninstall", tenant)
    assert _named(admins, tenant, "namespace", tenant)["metadata"] == before


def _objects(admins: Namespace, tenant: str) -> dict[tuple[str, str], tuple[str, str]]:
    """UID and version of what the release has made, by kind and name."""
    inside = replace(admins, name=tenant)
    label = {"tf-cluster.io/tenant": tenant}
    return {
        (one["kind"], one["metadata"]["name"]): (
            one["metadata"]["uid"],
            json.dumps([one.get("spec"), one.get("rules"), one.get("subjects")]),
        )
        for one in inside.objects(KINDS, **label)
    }


def _named(admins: Namespace, tenant: str, kind: str, name: str) -> Object:
    inside = replace(admins, name=tenant)
    return dict(json.loads(inside.kubectl("get", kind, name, "--output=json")))
