"""Every message of charts/tf-tenant, and what the schema refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.helm import ROOT
from tests.chart.helm import refusal as refusal_of_chart
from tests.chart.tf_tenant.helm import refusal

PEER = {"podSelector": {}}


def container(**amounts: Any) -> dict[str, Any]:
    return {"limitRange": {"container": amounts}}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"namespace": {"name": "kube-system"}},
            "namespace.name would be kube-system, which is Kubernetes' own: a tenant's quota and "
            "policies would hold its parts. Take another.",
        ),
        (
            {"namespace": {"name": "default"}},
            "namespace.name would be default, which is Kubernetes' own: a tenant's quota and "
            "policies would hold its parts. Take another.",
        ),
        (
            {"namespace": {"name": "tenants"}},
            "namespace.name would be tenants, where Helm keeps the record of this release: members "
            "could change it, and so their rights.\nInstall it from a namespace of the "
            "administrators: helm install vision --namespace tenants --create-namespace …",
        ),
        (
            {"namespace": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}},
            "namespace.labels has pod-security.kubernetes.io/enforce: namespace.podSecurity sets "
            "it.",
        ),
        (
            {"namespace": {"create": False, "labels": {"a": "b"}}},
            "namespace.labels would do nothing, since namespace.create is false: remove one of the "
            "two.",
        ),
        (
            {"namespace": {"create": False, "annotations": {"a": "b"}}},
            "namespace.annotations would do nothing, since namespace.create is false: remove one "
            "of the two.",
        ),
        (
            {"defaultAccount": {"manage": False, "pullSecrets": ["registry"]}},
            "defaultAccount.pullSecrets would do nothing, since defaultAccount.manage is false: "
            "remove one of the two.",
        ),
        (
            {"members": {"groups": ["system:authenticated"]}},
            "members.groups has system:authenticated, which is everybody: name those that are "
            "meant.",
        ),
        (
            {"viewers": {"users": ["system:anonymous"]}},
            "viewers.users has system:anonymous, which is everybody: name those that are meant.",
        ),
        (
            {"members": {"users": ["system:serviceaccount:ci:deployer"]}},
            "members.users has system:serviceaccount:ci:deployer: name it in members.accounts.",
        ),
        (
            {"clusterReader": {"pods": True}},
            "clusterReader.pods would do nothing, since clusterReader.enabled is false: remove one "
            "of the two.",
        ),
        (
            container(defaultRequest={"cpu": None}),
            "quota.cpu is set, so Kubernetes refuses every pod without requests.cpu: set "
            "limitRange.container.defaultRequest.cpu.",
        ),
        (
            {"limitRange": {"enabled": False}, "quota": {"cpu": ""}},
            "quota.memory is set, so Kubernetes refuses every pod without requests.memory: set "
            "limitRange.container.defaultRequest.memory and limitRange.enabled.",
        ),
        (
            {"quota": {"limitsMemory": "1Ti"}},
            "quota.limitsMemory is set, so Kubernetes refuses every pod without limits.memory: set "
            "limitRange.container.default.memory.",
        ),
        (
            {"quota": {"more": {"pods": 3}}},
            "quota.more has pods, which another value of quota says: set that one.",
        ),
        (
            {"quota": {"more": {"limits.cpu": 3}}},
            "quota.more has limits.cpu, which another value of quota says: set that one.",
        ),
        (
            {"network": {"enabled": False, "egress": [{"to": [PEER]}]}},
            "network.egress would do nothing, since network.enabled is false: remove one of the "
            "two.",
        ),
        (
            {"network": {"enabled": False, "ingress": [{"from": [PEER]}]}},
            "network.ingress would do nothing, since network.enabled is false: remove one of the "
            "two.",
        ),
        ({"enabled": False}, "enabled is false: only an umbrella chart can leave this chart out."),
    ],
)
def test_message(values: dict[str, Any], message: str) -> None:
    assert refusal(values) == message


def test_a_releases_name_need_not_be_a_namespaces() -> None:
    assert refusal({}, release="team.vision") == (
        "namespace.name is empty, and the release's name, team.vision, can't be a namespace's: set "
        "namespace.name."
    )


def test_all_complaints_come_at_once() -> None:
    told = refusal({"quota": {"limitsCpu": 4, "more": {"pods": 3}}, "enabled": False})
    for words in ("quota.limitsCpu is set", "quota.more has pods", "enabled is false"):
        assert words in told


def test_in_an_umbrella_the_users_keys_are_named() -> None:
    part = {"tf-tenant": {"enabled": True, "namespace": {"name": "kube-public"}}}
    told = refusal_of_chart({**part, "tf-cluster": {"enabled": False}}, chart=ROOT)
    assert "tf-tenant.namespace.name would be kube-public" in told


@pytest.mark.parametrize(
    "values",
    [
        {"namespace": {"name": "Vision"}},
        {"namespace": {"podSecurity": "privileged"}},
        {"members": {"users": [""]}},
        {"members": {"users": "ada"}},
        {"members": {"accounts": [{"name": "ci"}]}},
        {"quota": {"cpu": "sixteen"}},
        {"quota": {"cpu": -1}},
        {"quota": {"gpus": {"gpu": 1}}},
        {"quota": {"gpus": {"nvidia.com/gpu": "1Gi"}}},
        {"quota": {"pods": 1.5}},
        {"quota": {"storageClasses": {"Fast": "1Gi"}}},
        {"limitRange": {"container": {"default": {"cpu": "much"}}}},
        {"network": {"egress": [{}]}},
        {"network": {"egress": [{"to": []}]}},
        {"network": {"egress": [{"ports": [{"port": 443}]}]}},
        {"network": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0"}}]}]}},
        {"network": {"egress": [{"from": [PEER]}]}},
        {"network": {"dns": {"ports": [0]}}},
        {"network": {"apiServer": {"cidrs": ["kubernetes.default"]}}},
        {"claims": {"a": {"accessModes": []}}},
        {"claims": {"a": {"sizes": "1Gi"}}},
        {"claims": {"A": {}}},
        {"qouta": {}},
    ],
)
def test_the_schema_refuses(values: dict[str, Any]) -> None:
    assert "values don't meet the specifications of the schema" in refusal(values)
