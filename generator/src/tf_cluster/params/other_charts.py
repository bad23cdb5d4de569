"""Keys of other charts and of operators, and the value of our chart that says the same.

Spelling can't tell them: by its letters `replicaCount` is nearest to `replication`. The table of
docs/values.md has the same rows, with whose they are.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.params.schema_files import resolved, values_schema
from tf_cluster.params.wording import either
from tf_cluster.pointer import Pointer, dotted

OURS: Mapping[str, tuple[str, ...]] = {
    "replicaCount": ("worker.replicas",),
    "minReplicas": ("worker.replicas",),
    "workers": ("worker.replicas",),
    "gpuCount": ("worker.resources",),
    "gpus": ("worker.resources",),
    "resourcesPreset": ("worker.resources",),
    "workerImage": ("worker.image",),
    "psImage": ("ps.image",),
    "imagePullPolicy": ("image.pullPolicy",),
    "imagePullSecrets": ("image.pullSecrets", "global.imagePullSecrets"),
    "imagePullSecret": ("image.pullSecrets", "global.imagePullSecrets"),
    "pullSecret": ("image.pullSecrets",),
    "command": ("program.script",),
    "args": ("program.args",),
    "env": ("pod.extraEnv",),
    "envs": ("pod.extraEnv",),
    "containerEnv": ("pod.extraEnv",),
    "extraEnvVars": ("pod.extraEnv",),
    "extraEnvVarsCM": ("pod.envFrom",),
    "extraEnvVarsSecret": ("pod.envFrom",),
    "extraEnvFrom": ("pod.envFrom",),
    "volumes": ("pod.extraVolumes",),
    "volumeMounts": ("pod.extraVolumeMounts",),
    "extraInitContainers": ("pod.initContainers",),
    "extraContainers": ("pod.sidecars",),
    "sidecarContainers": ("pod.sidecars",),
    "labels": ("pod.podLabels",),
    "extraLabels": ("pod.podLabels",),
    "annotations": ("pod.podAnnotations",),
    "extraAnnotations": ("pod.podAnnotations",),
    "deploymentAnnotations": ("pod.objectAnnotations",),
    "podAffinityPreset": ("pod.affinity",),
    "podAntiAffinityPreset": ("pod.affinity",),
    "nodeAffinityPreset": ("pod.affinity",),
    "nodeSelectors": ("pod.nodeSelector",),
    "extraTolerations": ("pod.tolerations",),
    "priorityClass": ("pod.priorityClassName",),
    "shmtmp": ("pod.shmSize",),
    "securityContext": ("pod.containerSecurityContext", "security.podSecurityContext"),
    "serviceAccountName": ("serviceAccount.name",),
    "extraDeploy": ("extraObjects",),
    "extraManifests": ("extraObjects",),
    "persistence": ("storage.data", "storage.log"),
    "pvcName": ("storage.data.existingClaim", "storage.log.existingClaim"),
    "storageClass": ("storage.data.storageClassName", "storage.log.storageClassName"),
    "useTensorboard": ("tensorboard.enabled",),
    "trainingLogdir": ("tensorboard.logdir",),
    "singleuser": ("notebook",),
    "nodePorts": ("tensorboard.service.nodePort", "notebook.service.nodePort"),
    "hostname": ("tensorboard.ingress.host", "notebook.ingress.host"),
    "hosts": ("tensorboard.ingress.host", "notebook.ingress.host"),
    "ingressClassName": ("tensorboard.ingress.className", "notebook.ingress.className"),
    "metrics": ("monitoring",),
    "serviceMonitor": ("monitoring.podMonitor",),
    "prometheusRule": ("monitoring.rules",),
    "extraIngress": ("security.networkPolicy.statusFrom",),
    "activeDeadlineSeconds": ("run.deadlineSeconds",),
}
"""By the last key, in any section."""


IN_PARAMS: Mapping[str, str] = {
    "worker.replicas": "workers",
    "worker.resources": "resources.worker",
    "image.pullSecrets": "imagePullSecrets",
    "pod.nodeSelector": "nodes.selector",
    "pod.tolerations": "nodes.tolerations",
    "pod.priorityClassName": "priority",
    "serviceAccount.name": "serviceAccount",
    "tensorboard.enabled": "tensorboard",
    "tensorboard.logdir": "tensorboard.logdir",
    "tensorboard.service.nodePort": "tensorboard.nodePort",
    "notebook": "notebook",
    "notebook.service.nodePort": "notebook.nodePort",
    "run.deadlineSeconds": "run.deadlineSeconds",
    "storage.data": "data",
    "storage.log": "log",
    "storage.data.existingClaim": "data.claim",
    "storage.log.existingClaim": "log.claim",
    "storage.data.storageClassName": "data.class",
    "storage.log.storageClassName": "log.class",
    "program.script": "program.script",
    "program.args": "program.args",
}
"""What a params file calls these values; the others are extraValues."""


def suggestion(key: str, section: Pointer, *, in_params: bool = False) -> str:
    """What to write for `key` in a section; empty where it is no key that we know.

    The section is one of values, or with `in_params` of a params file.
    """
    ours = OURS.get(key, ())
    if in_params:
        ours = tuple(IN_PARAMS.get(path, f"extraValues.{path}") for path in ours)
    if section:
        ours = tuple(_in_section(ours, section, in_params))
    return f"did you mean {either(ours)}?" if ours else ""


def _in_section(ours: tuple[str, ...], section: Pointer, in_params: bool) -> Iterator[str]:
    """Those of the section's own; else of a role's section what other charts say by role.

    A role has every key of `pod`, and an image of its own. What is of another role is not meant.
    The sections of a params file are short: what is not theirs is a mistyped key.
    """
    own = [path for path in ours if path.startswith(f"{dotted(section)}.")]
    for path in own or (() if in_params else ours):
        top, _, rest = path.partition(".")
        if path in own:
            yield path
        elif section[1:] == (top,) and rest in _keys(section):
            yield f"{dotted(section)}.{rest}"
        elif len(section) == 1 and top == "pod" and rest in _keys(section):
            yield f"{section[0]}.{rest}"
        elif len(section) == 1 and top != "pod" and "extraEnv" not in _keys((top,)):
            yield path


def _keys(section: Pointer) -> Mapping[str, Any]:
    schema = values_schema()
    rules: Mapping[str, Any] = schema
    for key in section:
        rules = resolved(rules.get("properties", {}).get(key, {}), schema)
    keys: Mapping[str, Any] = rules.get("properties", {})
    return keys
