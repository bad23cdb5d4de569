"""One release with every value of pods trains, and each value is there in its running pods."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.cluster.conftest import REQUESTS, MakeValues
from tests.cluster.kubernetes import Namespace, Object, Release
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

NODE = {"kubernetes.io/os": "linux"}
TASKS = ("chief", "worker", "ps", "evaluator")
TOLERATION = {"key": "training", "operator": "Exists", "effect": "NoSchedule"}
AFFINITY = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "preference": {
                    "matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]
                },
            }
        ]
    }
}


@pytest.fixture
def priority_class(namespace: Namespace) -> Iterator[str]:
    name = f"{namespace.name}-training"
    api = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    namespace.apply({**api, "metadata": {"name": name}, "value": 7, "preemptionPolicy": "Never"})
    yield name
    namespace.kubectl("delete", "priorityclass", name)


def pod_values(priority_class: str) -> Object:
    """The defaults of all pods. Each role adds its own."""
    return {
        "extraEnv": [
            {"name": "FROM_ALL", "value": "all: of 'them' # {{ here }}"},
            {"name": "FROM_BOTH", "value": "all"},
            {"name": "FROM_SECRET", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}},
        ],
        "nodeSelector": NODE,
        "tolerations": [TOLERATION],
        "affinity": AFFINITY,
        "podLabels": {"team": "research"},
        "podAnnotations": {"example.com/note": "on"},
        "priorityClassName": priority_class,
    }


def test_every_value_of_pods_is_there_in_a_training(
    namespace: Namespace,
    make_values: MakeValues,
    make_release: Callable[[str], Release],
    priority_class: str,
) -> None:
    namespace.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "token"},
            "stringData": {"t": "0777"},
        }
    )
    own: dict[str, Any] = {
        role: {
            "extraEnv": [{"name": "FROM_BOTH", "value": role}],
            "podLabels": {"role-of": role},
            "terminationGracePeriodSeconds": 31 + index,
            "resources": {**REQUESTS, "limits": {"memory": f"{2 + index}Gi"}},
        }
        for index, role in enumerate(TASKS)
    }
    values = make_values(
        "everything",
        small=False,
        workers=2,
        ps=1,
        evaluator=True,
        train={"steps": 12000, "stepsPerCall": 10},
        extraValues={
            "pod": pod_values(priority_class),
            **own,
            "cleanup": {"podLabels": {"role-of": "cleanup"}, "delaySeconds": {"success": 1}},
            "commonLabels": {"cost-centre": "42"},
            "commonAnnotations": {"example.com/owner": "null"},
            "run": {"deadlineSeconds": 900},
            "storage": {"log": {"subPath": "team/runs"}},
        },
    )
    release = make_release("everything")
    release.install(values)

    for index, role in enumerate(TASKS):
        pod = eventually(f"a {role} to run", lambda role=role: release.running(role)[0], 240)  # type: ignore[misc]
        _has_all(pod, role, priority_class)
        assert pod["spec"]["terminationGracePeriodSeconds"] == 31 + index
        (container,) = pod["spec"]["containers"]
        assert container["resources"]["limits"] == {"memory": f"{2 + index}Gi"}
        inside = _environment(namespace, pod)
        assert inside["FROM_ALL"] == "all: of 'them' # {{ here }}"
        assert (inside["FROM_BOTH"], inside["FROM_SECRET"]) == (role, "0777")

    for job in release.objects("job"):
        assert job["metadata"]["labels"]["cost-centre"] == "42"
        assert job["metadata"]["annotations"]["example.com/owner"] == "null"
        assert "cost-centre" not in job["spec"]["template"]["metadata"]["labels"]
    assert release.one("job", "chief")["spec"]["activeDeadlineSeconds"] == 900

    release.await_job("chief", "Complete", 300)
    release.await_job("evaluator", "Complete", 120)
    release.await_job("cleanup", "Complete", 120)
    (cleanup,) = release.objects("pod", "cleanup")
    _has_all(cleanup, "cleanup", priority_class)


def _has_all(pod: Object, role: str, priority_class: str) -> None:
    """What the pod of a role has by `pod:` and by its own section, as Kubernetes keeps it."""
    spec, metadata = pod["spec"], pod["metadata"]
    labels = {"team": "research", "role-of": role}
    assert labels.items() <= metadata["labels"].items()
    assert metadata["annotations"]["example.com/note"] == "on"
    assert spec["nodeSelector"] == NODE
    assert TOLERATION in spec["tolerations"]
    assert spec["affinity"]["nodeAffinity"] == AFFINITY["nodeAffinity"]
    assert (spec["priorityClassName"], spec["priority"]) == (priority_class, 7)


def _environment(namespace: Namespace, pod: Object) -> dict[str, str]:
    """The variables of the pod's first process."""
    print_all = "import json, os; print(json.dumps(dict(os.environ)))"
    name = pod["metadata"]["name"]
    found = namespace.kubectl("exec", name, "--", "python", "-c", print_all)
    return dict(json.loads(found))
