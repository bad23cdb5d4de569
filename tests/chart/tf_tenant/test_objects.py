"""What charts/tf-tenant makes."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml

from tests.chart.features import FEATURES as TRAININGS
from tests.chart.golden_files import golden_text, tenant_golden_path
from tests.chart.helm import HELMS, ROOT, Object, RefusedError, command
from tests.chart.helm import render as render_chart
from tests.chart.test_values import hold_closed, schema_keys
from tests.chart.tf_tenant.features import EVERYTHING, FEATURES
from tests.chart.tf_tenant.helm import TENANT, render
from tests.cluster.tenants import rights_of
from tools.chart.value_lint import findings, templates_of
from tools.chart.values_docs import ROLES, read_values

VALUES = (TENANT / "values.yaml").read_text()
SCHEMA = json.loads((TENANT / "values.schema.json").read_text())


def named(kind: str, name: str, feature: str) -> Object:
    found = [
        one
        for one in render(FEATURES[feature]).objects
        if (one["kind"], one["metadata"]["name"]) == (kind, name)
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_renders_as_its_golden_file_says(feature: str) -> None:
    text = golden_text(render(FEATURES[feature]).text)
    assert text == tenant_golden_path(feature).read_text(), "python -m tests.chart.golden_files"


@pytest.mark.parametrize("helm", HELMS)
def test_both_helms_render_the_same(helm: str) -> None:
    assert render(EVERYTHING, helm=helm).objects == render(EVERYTHING).objects


def test_every_value_is_used_and_every_used_value_is_declared() -> None:
    templates = templates_of(TENANT)
    assert findings(templates, VALUES) == []
    unused = VALUES.replace("  podSecurity:", "  # -- Forgotten.\n  forgotten: 1\n  podSecurity:")
    assert findings(templates, unused.replace("  # -- Pod Security", "  # Pod Security")) == [
        "namespace.forgotten is declared in values.yaml and used by no template",
        "namespace.podSecurity is used by a template and not declared in values.yaml",
    ]


def test_the_schema_is_closed_and_describes_what_is_declared() -> None:
    hold_closed(SCHEMA)
    assert set(schema_keys(SCHEMA)) == {value.path for value in read_values(VALUES)}
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.Draft7Validator(SCHEMA).validate(yaml.safe_load(VALUES))


SWITCHES = {
    ("enabled",),  # tests/chart/test_umbrella.py
    ("namespace", "create"),
    ("quota", "enabled"),
    ("limitRange", "enabled"),
    ("network", "enabled"),
    ("defaultAccount", "manage"),
}
"""Values that the features `existing` and `rights-alone` set."""


@pytest.mark.parametrize(
    "path",
    [
        value.path
        for value in read_values(VALUES)
        if not value.is_section and value.path != ("global",) and value.path not in SWITCHES
    ],
    ids=".".join,
)
def test_every_value_makes_a_difference(path: tuple[str, ...]) -> None:
    """What the feature `everything` sets is rendered otherwise, or refused, without it."""
    without = json.loads(json.dumps(EVERYTHING))
    inside = without
    for key in path[:-1]:
        inside = inside[key]
    if path[0] == "claim" and path[-1] not in inside:
        inside[path[-1]] = {"size": "3Gi", "volumeName": "v"}.get(path[-1], ["ReadWriteOnce"])
    else:
        del inside[path[-1]]
    try:
        assert render(without).text != render(EVERYTHING).text
    except RefusedError as error:
        assert ".".join(path[:2]) in str(error)


def test_what_belongs_to_the_tenant_is_in_its_namespace_and_has_its_label() -> None:
    for feature in FEATURES:
        name = FEATURES[feature].get("namespace", {}).get("name", "vision")
        for one in render(FEATURES[feature]).objects:
            assert one["metadata"]["labels"]["tf-cluster.io/tenant"] == name
            if one["kind"] not in ("Namespace", "ClusterRole", "ClusterRoleBinding"):
                assert one["metadata"]["namespace"] == name, one["metadata"]["name"]


def test_a_label_of_an_administrator_takes_the_place_of_ours() -> None:
    rendered = render({"commonLabels": {"app.kubernetes.io/name": "tenant"}})
    names = {one["metadata"]["labels"]["app.kubernetes.io/name"] for one in rendered.objects}
    assert names == {"tenant"}


def test_what_holds_data_stays_when_the_release_goes() -> None:
    kept = {
        one["kind"]
        for one in render(EVERYTHING).objects
        if one["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == "keep"
    }
    assert kept == {"Namespace", "PersistentVolumeClaim", "ServiceAccount"}


def test_an_amount_is_a_text_as_kubernetes_writes_it() -> None:
    hard = named("ResourceQuota", "tf-tenant", "everything")["spec"]["hard"]
    assert hard == {
        "requests.cpu": "64",
        "requests.memory": "1Ti",
        "limits.cpu": "128",
        "limits.memory": "2Ti",
        "requests.nvidia.com/gpu": "8",
        "requests.nvidia.com/mig-1g.10gb": "14",
        "pods": "1000000",
        "persistentvolumeclaims": "10",
        "fast.storageclass.storage.k8s.io/requests.storage": "100Gi",
        "archive.storageclass.storage.k8s.io/requests.storage": "0",
        "services.nodeports": "1",
        "services.loadbalancers": "1",
        "count/secrets": "200",
        "requests.ephemeral-storage": "500Gi",
    }


def test_nobody_has_no_binding() -> None:
    bindings = [one for one in render({}).objects if one["kind"].endswith("Binding")]
    assert bindings == []


def test_a_viewer_may_read_and_never_secrets_nor_run_code() -> None:
    rights = rights_of(named("Role", "tf-viewer", "everything"))
    assert {verb for _, _, verb in rights} == {"get", "list", "watch"}
    resources = {resource for _, resource, _ in rights}
    assert resources & {"secrets", "pods/exec", "pods/portforward", "*"} == set()
    of_users = {resource for _, resource, _ in rights_of(named("Role", "tf-user", "everything"))}
    assert of_users - resources == {
        "cronjobs",
        "daemonsets",
        "deployments/scale",
        "leases",
        "pods/exec",
        "pods/portforward",
        "replicasets",
        "secrets",
        "statefulsets",
    }


def test_no_right_is_for_all_kinds_or_all_verbs() -> None:
    for one in render(EVERYTHING).objects:
        if one["kind"] in ("Role", "ClusterRole"):
            assert all("*" not in right for right in rights_of(one))


def test_the_cluster_is_read_only_where_that_is_asked_for() -> None:
    kinds = {one["kind"] for one in render({"members": {"users": ["ada"]}}).objects}
    assert kinds & {"ClusterRole", "ClusterRoleBinding"} == set()
    some = rights_of(named("ClusterRole", "tf-tenant-vision-reader", "members"))
    assert {resource for _, resource, _ in some} == {
        "nodes",
        "persistentvolumes",
        "priorityclasses",
        "storageclasses",
    }


def test_a_training_is_left_to_its_own_policies_where_pods_may_not_reach_each_other() -> None:
    spec = named("NetworkPolicy", "tf-tenant-in-others", "everything")["spec"]
    (term,) = spec["podSelector"]["matchExpressions"]
    policies = render_chart(TRAININGS["everything"]).all("NetworkPolicy")
    assert len(policies) > 3
    for role in ROLES:
        assert (role in term["values"]) == (role != "test"), role  # nobody asks that pod


def test_the_notes_say_who_and_what_is_left_to_do() -> None:
    said = command(
        *("install", "vision", str(TENANT), "--namespace=tenants", "--dry-run=client"),
        *("--set=members.users={ada}", "--set=namespace.create=false"),
        "--set=defaultAccount.pullSecrets={registry}",
    ).stdout.partition("NOTES:\n")[2]
    assert "tf-user: ada\n" in said
    assert "tf-viewer: nobody\n" in said
    label = "pod-security.kubernetes.io/enforce=restricted"
    assert f"kubectl label namespace vision {label}" in said
    assert "kubectl --namespace vision get secret registry" in said


def test_the_umbrella_leaves_it_out_unless_told() -> None:
    off = {"tf-cluster": {"enabled": False}}
    assert render_chart(off, chart=ROOT).objects == []
    on = {**off, "tf-tenant": {"enabled": True, "namespace": {"name": "vision"}}}
    made = render_chart(on, chart=ROOT).objects
    alone = render({"namespace": {"name": "vision"}}).objects
    assert [one["kind"] for one in made] == [one["kind"] for one in alone]
