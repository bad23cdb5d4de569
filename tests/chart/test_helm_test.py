"""The pod of `helm test`: made by that command alone, with no rights and no part in the attempt."""

from __future__ import annotations

from tests.chart.features import FEATURES
from tests.chart.helm import Object, render


def env_of(pod: Object) -> dict[str, str]:
    return {entry["name"]: entry.get("value", "") for entry in pod["spec"]["containers"][0]["env"]}


def test_it_reads_the_configuration_and_the_run_and_writes_neither() -> None:
    rendered = render()
    pod = rendered.one("Pod", "test")
    spec = pod["spec"]
    (container,) = spec["containers"]
    assert container["command"] == ["tf-trainer-check"]
    mounts = {mount["mountPath"]: mount for mount in container["volumeMounts"]}
    assert set(mounts) == {"/tmp", "/etc/tf-cluster", "/log"}
    assert mounts["/log"]["readOnly"] is mounts["/etc/tf-cluster"]["readOnly"] is True
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    config = rendered.one("ConfigMap", "config")["metadata"]["name"]
    assert volumes["config"]["configMap"] == {"name": config}
    assert env_of(pod)["TF_CLUSTER_ATTEMPT"] == rendered.attempt
    assert spec["restartPolicy"] == "Never"


def test_it_has_no_token_and_is_no_task_of_the_attempt() -> None:
    pod = render().one("Pod", "test")
    assert pod["spec"]["automountServiceAccountToken"] is False
    assert pod["spec"]["serviceAccountName"] == "default"  # that of the chart has other rights
    assert "subdomain" not in pod["spec"]
    assert "tf-cluster.io/attempt" not in pod["metadata"]["labels"]
    selector = render().one("Service", "service")["spec"]["selector"]
    assert not selector.items() <= pod["metadata"]["labels"].items()


def test_it_stands_beside_the_pods_that_have_the_volume() -> None:
    (term,) = render().one("Pod", "test")["spec"]["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    (rule,) = term["labelSelector"]["matchExpressions"]
    # Itself too: after the end there is nobody else.
    assert {"chief", "worker", "test"} <= set(rule["values"])
    shared = render(FEATURES["existing-claims"]).one("Pod", "test")["spec"]
    assert "affinity" not in shared


def test_helm_makes_it_for_a_test_and_removes_it_after_a_good_one() -> None:
    annotations = render(FEATURES["everything"]).one("Pod", "test")["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "test"
    assert annotations["helm.sh/hook-delete-policy"] == "before-hook-creation,hook-succeeded"
    assert annotations["example.com/cost-centre"] == "42"


def test_the_defaults_of_all_pods_are_its_own_too() -> None:
    defaults = {"pod": {"nodeSelector": {"pool": "a"}, "podLabels": {"team": "b"}}}
    pod = render(defaults).one("Pod", "test")
    assert pod["spec"]["nodeSelector"] == {"pool": "a"}
    assert pod["metadata"]["labels"]["team"] == "b"
