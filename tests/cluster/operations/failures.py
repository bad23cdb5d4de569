"""Releases that fail, each in one way: their values, and what the doctor has to say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.cluster.conftest import IMAGE, REQUESTS

OPEN, FULL, BOUNDED, UNSAID, JUDGED, MESHED, HOOKED, UNHOOKED = (
    "open",
    "full",
    "bounded",
    "unsaid",
    "judged",
    "meshed",
    "hooked",
    "unhooked",
)
"""Namespaces: without rules; with a quota of one pod; a limit range; a quota of CPU limits; an
admission policy that refuses workers; a policy that puts a sidecar into them; a webhook that
refuses pods; a webhook whose server is gone."""

ALL_REDUCE: dict[str, Any] = {
    "strategy": "all-reduce",
    "small": False,
    "resources": {"worker": REQUESTS},
}
"""Arguments of `make_values`: the cheapest of all trainings has one kind of task."""

RESTRICTED_CONTAINER = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
}


@dataclass(frozen=True)
class Failure:
    """A release that fails.

    `values` are laid over good ones: one worker of all-reduce, the cheapest of trainings; or
    `with_ps` a chief, a ps and a worker. `about` begins the name of the object that is at fault,
    and `words` stand in the finding. `later` seconds pass in the snapshot alone, where a rule
    waits. `then` are the words of a kubectl after the install. `here`: a server of this machine is
    needed, which only its own cluster reaches; REGISTRY and LOGIN in an image stand for two.
    """

    name: str
    code: str
    about: str
    words: str
    values: Mapping[str, Any] = field(default_factory=dict)
    namespace: str = OPEN
    with_ps: bool = False
    later: float = 0.0
    then: tuple[str, ...] = ()
    here: bool = False


TAINTED, OTHERS = "tf-cluster-test/tainted", "tf-cluster-test/others"
"""The label of a node that is kept for others, and its taint."""
REGISTRY, LOGIN = "REGISTRY", "LOGIN"
EMPTY = "empty"
"""A Secret without a key."""
REMOVED = "tf-cluster-test-removed"
"""A StorageClass of a provisioner that was in Kubernetes once."""


def _of(name: str, component: str) -> dict[str, str]:
    return {"app.kubernetes.io/instance": name, "app.kubernetes.io/component": component}


def _requests(**amounts: str) -> dict[str, Any]:
    return {"resources": {"requests": amounts}}


FAILURES = (
    Failure("quota", "TFD101", "job/", "used: pods=1", {"worker": {"replicas": 2}}, namespace=FULL),
    Failure("unsaid", "TFD102", "job/", "limits.cpu", namespace=UNSAID),
    Failure("range", "TFD103", "job/", "maximum memory usage per Container", namespace=BOUNDED),
    Failure(
        "security",
        "TFD104",
        "job/",
        "Pod Security restricted",
        {"worker": {"extraVolumes": [{"name": "host", "hostPath": {"path": "/tmp"}}]}},
    ),
    Failure("policy", "TFD104", "job/", "workers are not wanted here", namespace=JUDGED),
    Failure("hook", "TFD104", "job/", "refuses the pod: no hats here", namespace=HOOKED, here=True),
    Failure("no-hook", "TFD104", "job/", "can't be called", namespace=UNHOOKED),
    Failure("never", "TFD105", "pod/", "can ever take", {"worker": _requests(cpu="100")}),
    Failure(
        "not-now",
        "TFD105",
        "pod/",
        "has room for worker",
        {"worker": _requests(cpu="2")},  # all of the node, of which others have a part,
    ),
    Failure(
        "device",
        "TFD106",
        "pod/",
        "no node offers nvidia.com/gpu",
        {"worker": {"resources": {"limits": {"nvidia.com/gpu": 1}}}},
    ),
    Failure(
        "selector",
        "TFD107",
        "pod/",
        "do not have the labels",
        {"worker": {"nodeSelector": {"disk": "golden"}}},
    ),
    Failure(
        "taint",
        "TFD107",
        "pod/",
        OTHERS,
        {"worker": {"nodeSelector": {TAINTED: "yes"}}},
    ),
    Failure(
        "no-class",
        "TFD108",
        "persistentvolumeclaim/",
        "no StorageClass nowhere",
        {"storage": {"log": {"storageClassName": "nowhere"}}},
    ),
    Failure(
        "removed",
        "TFD108",
        "persistentvolumeclaim/",
        "uses kubernetes.io/glusterfs, which Kubernetes 1.26 removed",
        {"storage": {"log": {"storageClassName": REMOVED}}},
    ),
    Failure(
        "no-volume",
        "TFD108",
        "persistentvolumeclaim/",
        "no volume could be made",
        {"storage": {"log": {"accessModes": ["ReadWriteMany"]}}},
    ),
    Failure(
        "no-claim",
        "TFD109",
        "persistentvolumeclaim/nowhere",
        "no claim nowhere",
        {"storage": {"data": {"existingClaim": "nowhere"}}},
    ),
    Failure(
        "mount",
        "TFD110",
        "pod/",
        "can't be attached or mounted",
        {"storage": {"data": {"existingClaim": "broken"}}},
    ),
    Failure(
        "not-loaded",
        "TFD111",
        "pod/",
        "localhost/nowhere:1 is not on its node",
        {"image": {"repository": "localhost/nowhere", "tag": "1"}},
    ),
    Failure(
        "no-registry",
        "TFD111",
        "pod/",
        "can't be reached",
        {"image": {"repository": "registry.invalid/trainer", "tag": "1"}},
    ),
    Failure(
        "not-there",
        "TFD111",
        "pod/",
        "the registry has no",
        {"image": {"repository": f"{REGISTRY}/trainer", "tag": "1"}},
        here=True,
    ),
    Failure(
        "login",
        "TFD111",
        "pod/",
        "the registry does not allow to pull",
        {"image": {"repository": f"{LOGIN}/trainer", "tag": "1"}},
        here=True,
    ),
    Failure(
        "key",
        "TFD112",
        "pod/",
        f"secret {EMPTY} has no key token",
        {
            "worker": {
                "extraEnv": [
                    {
                        "name": "TOKEN",
                        "valueFrom": {"secretKeyRef": {"name": EMPTY, "key": "token"}},
                    }
                ]
            }
        },
    ),
    Failure(
        "config",
        "TFD112",
        "pod/",
        "configmap nowhere is not there",
        {
            "worker": {
                "extraVolumes": [{"name": "more", "configMap": {"name": "nowhere"}}],
                "extraVolumeMounts": [{"name": "more", "mountPath": "/more"}],
            }
        },
    ),
    Failure(
        "secret",
        "TFD112",
        "pod/",
        "secret nowhere is not there",
        {"worker": {"envFrom": [{"secretRef": {"name": "nowhere"}}]}},
    ),
    Failure(
        "start",
        "TFD113",
        "pod/",
        "container first can't be started",
        {
            "worker": {
                "initContainers": [
                    {
                        "name": "first",
                        "image": IMAGE,
                        "command": ["/nowhere"],
                        "securityContext": RESTRICTED_CONTAINER,
                    }
                ]
            }
        },
    ),
    Failure(
        "gate",
        "TFD114",
        "pod/",
        "for ps-0: no node has taken its pod",
        {"ps": {"nodeSelector": {"disk": "golden"}}},
        with_ps=True,
    ),
    Failure(
        "closed",
        "TFD114",
        "pod/",
        "its name resolves, and nothing answers",
        {
            "security": {"networkPolicy": {"enabled": False}},
            "extraObjects": [
                {
                    "apiVersion": "networking.k8s.io/v1",
                    "kind": "NetworkPolicy",
                    "metadata": {"name": "closed"},
                    "spec": {
                        "podSelector": {"matchLabels": _of("closed", "ps")},
                        "policyTypes": ["Ingress"],
                    },
                }
            ],
        },
        with_ps=True,
    ),
    Failure(
        "no-name",
        "TFD114",
        "pod/",
        "its name does not resolve",
        with_ps=True,
        then=(
            *("delete", "service", "--selector"),
            ",".join(f"{key}={value}" for key, value in _of("no-name", "service").items()),
        ),
    ),
    Failure(
        "program",
        "TFD115",
        "pod/",
        "Digitz",
        {"program": {"module": "tf_cluster_trainer.examples.digits:Digitz"}},
    ),
    Failure(
        "memory",
        "TFD116",
        "pod/",
        "not enough memory",
        {"worker": {"resources": {"limits": {"memory": "64Mi"}}, "backoffLimit": 0}},
    ),
    Failure(
        "child",
        "TFD116",
        "pod/",
        "was killed by signal 9, most likely out of memory",
        {
            "worker": {"resources": {"limits": {"memory": "64Mi"}}},
            "failure": {"restarts": 1000},
        },
    ),
    Failure(
        "limit",
        "TFD118",
        "job/",
        "more than it allows (0)",
        {"worker": {"resources": {"limits": {"memory": "64Mi"}}, "backoffLimit": 0}},
    ),
    Failure("deadline", "TFD118", "job/", "within its deadline", {"run": {"deadlineSeconds": 1}}),
    Failure(
        "servers",
        "TFD122",
        "deployment/",
        "1 parameter servers still run",
        {
            "program": {"module": "tf_cluster_trainer.examples.digits:Digitz"},
            "cleanup": {"delaySeconds": {"failure": None}},
        },
        with_ps=True,
        later=400,
    ),
    Failure("sidecar", "TFD124", "pod/", "mesh was put into it", namespace=MESHED),
)


def laid_over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Values with others laid over them, as Helm merges files."""
    whole = dict(under)
    for key, value in over.items():
        is_both = isinstance(value, Mapping) and isinstance(whole.get(key), Mapping)
        whole[key] = laid_over(whole[key], value) if is_both else value
    return whole


def worker_policy(name: str, namespace: str) -> list[dict[str, Any]]:
    """An admission policy that refuses the workers of one namespace."""
    selected = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {**selected, "resourceRules": [_PODS]},
            "validations": [
                {"expression": f"!({_IS_WORKER})", "message": "workers are not wanted here"}
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return [policy, binding]


def webhook(name: str, namespace: str, client: dict[str, Any]) -> dict[str, Any]:
    """A webhook that each pod of one namespace has to pass."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": "hats.example.com",
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Fail",
                "timeoutSeconds": 5,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [_PODS],
                "clientConfig": client,
            }
        ],
    }


def removed_class() -> dict[str, Any]:
    """A class as Heketi's users have it."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": REMOVED},
        "provisioner": "kubernetes.io/glusterfs",
    }


def tainted_node(name: str) -> dict[str, Any]:
    """A node without a kubelet that is kept for others."""
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {TAINTED: "yes", "kubernetes.io/os": "linux"}},
        "spec": {"taints": [{"key": OTHERS, "effect": "NoSchedule"}]},
    }


def mesh_policy(name: str, namespace: str) -> list[dict[str, Any]]:
    """An admission policy that puts a container into a namespace's workers, as a mesh does."""
    selected = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}}}
    expression = (
        '[JSONPatch{op: "add", path: "/spec/containers/-", value: Object.spec.containers{'
        f'name: "mesh", image: "{IMAGE}", command: ["sleep", "3600"], '
        "securityContext: Object.spec.containers.securityContext{allowPrivilegeEscalation: false, "
        'capabilities: Object.spec.containers.securityContext.capabilities{drop: ["ALL"]}}}}]'
    )
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {**selected, "resourceRules": [_PODS]},
            "matchConditions": [{"name": "workers", "expression": _IS_WORKER}],
            "mutations": [
                {
                    "patchType": "JSONPatch",
                    "jsonPatch": {"expression": expression},
                }
            ],
        },
    }
    binding = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name},
    }
    return [policy, binding]


_PODS = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
_IS_WORKER = (
    "has(object.metadata.labels) && 'app.kubernetes.io/component' in object.metadata.labels && "
    "object.metadata.labels['app.kubernetes.io/component'] == 'worker'"
)
