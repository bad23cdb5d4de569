"""Values files as users of other charts write them, and what `--set` makes of a text.

Each is refused in words that name the place, or renders to what it says. None is left unread, and
none ends in a template's own error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.findings.finding import errors
from tf_cluster.params.other_charts import IN_PARAMS, OURS, suggestion
from tf_cluster.params.schema_files import params_schema, resolved

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, HELMS, LOADER, Object, RefusedError, command, merged, render
from tests.chart.refusals.test_refusals import params_file
from tests.slices import sliced
from tools.chart.values_docs import read_values

PAGE = (CHART.parents[1] / "docs" / "values.md").read_text()
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
DECLARED = [value.path for value in read_values((CHART / "values.yaml").read_text())]

LEAST = "image: {repository: registry.example/trainer}\nprogram: {module: 'a:B'}\n"

# Values files beside the least ones, or in their place where they have its keys. `at` is where
# Helm says that something is wrong, and with which words.
REFUSED: Mapping[str, tuple[str, str]] = {
    # Bitnami
    "replicaCount": ("replicaCount: 2", "additional properties 'replicaCount'"),
    "resources of no role": ("resources: {limits: {cpu: 1}}", "additional properties 'resources'"),
    "extraEnvVars": (
        "worker: {extraEnvVars: []}",
        "'/worker': additional properties 'extraEnvVars'",
    ),
    "a template of variables": (
        'worker: {extraEnv: "- name: A\\n  value: b\\n"}',
        "'/worker/extraEnv': got string, want array",
    ),
    "persistence": ("persistence: {existingClaim: a}", "additional properties 'persistence'"),
    "the class -": ("global: {storageClass: '-'}", "'/global/storageClass': '-' does not match"),
    "nodePorts": (
        "tensorboard: {service: {type: NodePort, nodePorts: {http: 30000}}}",
        "'/tensorboard/service': additional properties 'nodePorts'",
    ),
    "an empty nodePort": (
        "tensorboard: {service: {type: NodePort, nodePort: ''}}",
        "'/tensorboard/service/nodePort': got string, want null or integer",
    ),
    "a load balancer": (
        "notebook: {service: {type: LoadBalancer}}",
        "'/notebook/service/type': value must be one of 'ClusterIP', 'NodePort'",
    ),
    "tls of an ingress": (
        "notebook: {ingress: {tls: true}}",
        "'/notebook/ingress/tls': got boolean, want array",
    ),
    "a context that is enabled": (
        "security: {podSecurityContext: {enabled: true, fsGroup: 1001}}",
        "'/security/podSecurityContext': additional properties 'enabled'",
    ),
    "a context with null": (
        "security: {podSecurityContext: {seLinuxOptions: null}}",
        "'/security/podSecurityContext/seLinuxOptions': got null, want object",
    ),
    "a grace period of nothing": (
        "chief: {terminationGracePeriodSeconds: ''}",
        "'/chief/terminationGracePeriodSeconds': got string",
    ),
    # KubeRay, Arena, TFJob, JupyterHub
    "a group of workers": (
        "head: {}\nworker: {replicas: 2, containerEnv: [], volumes: []}",
        "additional properties 'head'",
    ),
    "a number of ps": ("workers: 2\nps: 1", "'/ps': got number, want object"),
    "a TFJob": ("tfReplicaSpecs: {Worker: {replicas: 2}}", "properties 'tfReplicaSpecs'"),
    "a user's server": ("singleuser: {image: {name: a}}", "additional properties 'singleuser'"),
    "variables as a map": ("pod: {extraEnv: {A: b}}", "'/pod/extraEnv': got object, want array"),
    "a name of an image": ("image: {name: a}", "'/image': additional properties 'name'"),
    # images
    "an image as a text": (
        "image: registry.example/trainer:1",
        "'/image': got string, want object",
    ),
    "capital letters": (
        "image: {repository: Team/Trainer}",
        "'/image/repository': 'Team/Trainer' does",
    ),
    "an address": ("image: {repository: 'https://r.example/a'}", "'/image/repository': 'https:"),
    "a registry's address": (
        "image: {registry: 'https://r.example', repository: a}",
        "'/image/registry': 'https://r.example' does not match",
    ),
    "the mirror's address": (
        "global: {imageRegistry: 'https://r.example'}",
        "'/global/imageRegistry': 'https://r.example' does not match",
    ),
    "a role's image as a text": (
        "worker: {image: 'a:1'}",
        "'/worker/image': got string, want object",
    ),
    "a tag without quotes": ("image: {repository: a, tag: 1.10}", "'/image/tag': got number"),
    # types
    "a number in quotes": (
        "worker: {replicas: '2'}",
        "'/worker/replicas': got string, want integer",
    ),
    "true in quotes": ("tensorboard: {enabled: 'true'}", "'/tensorboard/enabled': got string"),
    "1 for true": ("tensorboard: {enabled: 1}", "'/tensorboard/enabled': got number, want boolean"),
    "true for a section": ("tensorboard: true", "'/tensorboard': got boolean, want object"),
    "a toleration beside its list": (
        "pod: {tolerations: {key: a, operator: Exists}}",
        "'/pod/tolerations': got object, want array",
    ),
    "true for a label": (
        "pod: {nodeSelector: {gpu: true}}",
        "'/pod/nodeSelector/gpu': got boolean",
    ),
    "null for a label": ("pod: {podLabels: {team: null}}", "'/pod/podLabels/team': got null"),
    "null for a variable": (
        "pod: {extraEnv: [{name: A, value: null}]}",
        "'/pod/extraEnv/0/value': got null, want string",
    ),
    "a mode beside its list": (
        "storage: {data: {accessModes: ReadWriteMany}}",
        "'/storage/data/accessModes': got string, want array",
    ),
    "a size as a number": (
        "storage: {log: {size: 5}}",
        "'/storage/log/size': got number, want string",
    ),
    "a duration": ("run: {deadlineSeconds: 1h}", "'/run/deadlineSeconds': got string"),
    "an optimizer as a text": ("train: {optimizer: Adam}", "'/train/optimizer': got string"),
    "a list for a section": ("worker: []", "'/worker': got array, want object"),
    "a dotted key": ("worker.replicas: 3", "additional properties 'worker.replicas'"),
    "an umbrella's section": (
        "tf-cluster: {ps: {replicas: 2}}",
        "additional properties 'tf-cluster'",
    ),
    "an anchor of its own": (
        "x-c: &c {nodeSelector: {a: b}}\npod: *c",
        "additional properties 'x-c'",
    ),
    "an object as a text": (
        "extraObjects: ['kind: Pod']",
        "'/extraObjects/0': got string, want object",
    ),
    "gigabytes without a unit": (
        "worker: {resources: {requests: null, limits: {memory: 4}}}",
        "worker.resources.limits.memory is 4, which is less than 1M: write the unit",
    ),
    "no section at all": ("train: null", "train.steps is null. Leave the line out"),
}

TAKEN: Mapping[str, tuple[str, Any]] = {
    "a whole number as a fraction": ("worker: {replicas: 3.0}", 3),
    "an exponent": ("worker: {replicas: 1e2}", 100),
    "an anchor at a value": ("ps: &ps {replicas: 1}\nworker: {<<: *ps, replicas: 4}", 4),
    "two anchors": ("ps: &a {replicas: 4}\nchief: &b {backoffLimit: 1}\nworker: {<<: [*a, *b]}", 4),
    "lines of Windows": ("worker:\r\n  replicas: 4\r\n", 4),
    "a mark of the byte order": ("\ufeffworker: {replicas: 4}", 4),
    "amounts as numbers": (
        "worker: {replicas: 4, resources: {limits: {cpu: 1, memory: 4294967296}}}",
        4,
    ),
    "nothing in lists and maps": (
        "pod: {tolerations: [], extraEnv: [], nodeSelector: {}, affinity: {}}\n"
        "image: {repository: a, pullSecrets: []}\nextraObjects: []\nflags: {}\n"
        "security: {podSecurityContext: {}}\nworker: {replicas: 4, resources: {}, image: {}}",
        4,
    ),
    "null where nothing is meant": (
        "commonLabels: null\nglobal: null\npod: null\nworker: {replicas: 4, resources: null}",
        4,
    ),
    "another chart's globals": ("global: {postgresql: {auth: {}}}\nworker: {replicas: 4}", 4),
}

SET: Mapping[str, tuple[tuple[str, ...], str]] = {
    "a fraction": (
        ("--set=train.optimizer.learningRate=0.01",),
        "'/train/optimizer/learningRate': got string, want number",
    ),
    "a fraction as JSON": (("--set-json=train.optimizer.learningRate=0.01",), ""),
    "an exponent": (("--set=train.steps=1e6",), "'/train/steps': got string, want integer"),
    "a run's number": (("--set=run.id=123",), "'/run/id': got number, want string"),
    "a run's text": (("--set-string=run.id=123",), ""),
    "a run's exponent": (("--set=run.id=1e3",), ""),
    "a run's null": (("--set=run.id=null",), "run.id is null. Leave the line out"),
    "nothing": (("--set=worker.replicas=",), "'/worker/replicas': got string, want integer"),
    "a number for a section": (("--set=worker=3",), "'/worker': got number, want object"),
    "a dot in a key": (
        ("--set=worker.resources.limits.nvidia.com/gpu=1",),
        "'/worker/resources/limits/nvidia': got object",
    ),
    "a dot that is escaped": ((r"--set=worker.resources.limits.nvidia\.com/gpu=1",), ""),
    "the second of none": (
        ("--set=pod.tolerations[1].key=a,pod.tolerations[1].operator=Exists",),
        "'/pod/tolerations/0': got null, want object",
    ),
    "a null of a default": (("--set=storage.data.storageClassName=null",), ""),
    "a section of null": (("--set=tensorboard=null",), "tensorboard.enabled is null"),
}


def helm_says(folder: Path, text: str, *arguments: str, helm: str = "helm") -> tuple[str, str]:
    """What `helm template` prints and what it says, of a values file as it is written."""
    file = folder / "values.yaml"
    file.write_text(text, newline="")
    done = command("template", "digits", str(CHART), f"--values={file}", *arguments, helm=helm)
    return done.stdout, " ".join(done.stderr.split())


def with_least(text: str) -> str:
    """The text, with the least values that it has no key of its own for."""
    own = tuple(line.partition(":")[0].lstrip("\ufeff") for line in text.splitlines())
    least = (line for line in LEAST.splitlines(keepends=True) if not line.startswith(own))
    return f"{text}\n{''.join(least)}"


def workers(text: str) -> Object:
    """The workers' Job."""
    jobs = [obj for obj in yaml.load_all(text, LOADER) if obj and obj["kind"] == "Job"]
    return next(job for job in jobs if job["metadata"]["name"].startswith("digits-worker"))


@pytest.mark.parametrize("habit", REFUSED)
def test_the_place_is_named(habit: str, tmp_path: Path) -> None:
    text, words = REFUSED[habit]
    assert words in helm_says(tmp_path, with_least(text))[1]


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("habit", TAKEN)
def test_what_is_taken_is_read(habit: str, helm: str, tmp_path: Path) -> None:
    text, replicas = TAKEN[habit]
    printed, said = helm_says(tmp_path, with_least(text), helm=helm)
    assert printed, said
    assert workers(printed)["spec"]["completions"] == replicas


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("habit", SET)
def test_what_is_set_is_read_or_told(habit: str, helm: str, tmp_path: Path) -> None:
    arguments, words = SET[habit]
    printed, said = helm_says(tmp_path, LEAST, *arguments, helm=helm)
    assert bool(printed) == (not words)
    assert words in said


@pytest.mark.parametrize("path", sliced([pytest.param(p, id=".".join(p)) for p in DECLARED], 20))
def test_a_null_beside_everything_else_is_read_or_told(path: tuple[str, ...]) -> None:
    null: Any = None
    for key in reversed(path):
        null = {key: null}
    try:
        render(merged(FEATURES["everything"], null))
    except RefusedError as error:
        assert "executing" not in str(error)  # a template's own error


def _table() -> dict[str, tuple[str, ...]]:
    """Theirs and ours, of the page's table."""
    _, _, part = PAGE.partition("## Keys of other charts")
    rows = re.findall(r"^\| (`.*?) \| .*? \| (.*) \|$", part.partition("\n## ")[0], re.MULTILINE)
    return {
        key: tuple(re.findall(r"`([\w.]+)`", ours.partition(":")[0]))
        for theirs, ours in rows
        for key in re.findall(r"`(\w+)`", theirs)
    }


def test_the_page_and_the_tool_have_the_same_table() -> None:
    assert _table() == dict(OURS)


@pytest.mark.parametrize("path", sorted({path for ours in OURS.values() for path in ours}))
def test_what_is_ours_is_a_value(path: str) -> None:
    node = VALUES
    for key in path.split("."):
        assert key in node
        node = node[key]


@pytest.mark.parametrize("path", sorted(IN_PARAMS.values()))
def test_what_a_params_file_calls_it_is_a_key_of_one(path: str) -> None:
    schema = params_schema()
    node: Mapping[str, Any] = schema
    for key in path.split("."):
        node = resolved(node["properties"][key], schema)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ({"replicaCount": 2}, "did you mean worker.replicas?"),
        ({"worker": {"containerEnv": []}}, "did you mean worker.extraEnv?"),
        (
            {"tensorboard": {"service": {"nodePorts": {}}}},
            "did you mean tensorboard.service.nodePort?",
        ),
        ({"storage": {"log": {"storageClass": "a"}}}, "did you mean storage.log.storageClassName?"),
        (
            {"notebook": {"image": {"imagePullPolicy": "Always"}}},
            "did you mean notebook.image.pullPolicy?",
        ),
        ({"worker": {"serviceAccountName": "a"}}, "did you mean serviceAccount.name?"),
        # What another section has is no help.
        ({"worker": {"hosts": []}}, ""),
        (
            {"notebook": {"ingress": {"labels": {}}}},
            "known here: enabled, className, host, tls, annotations",
        ),
        ({"train": {"learningRate": 1}}, "did you mean train.optimizer.learningRate?"),
    ],
    ids=json.dumps,
)
def test_the_tool_says_what_was_meant(extra: dict[str, Any], words: str) -> None:
    (finding,) = errors(check("p.yaml", params_file({"extraValues": extra})).findings)
    assert finding.fix == words


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("replicaCount", "did you mean workers?"),
        ("extraEnvVars", "did you mean extraValues.pod.extraEnv?"),
        ("persistence", "did you mean data or log?"),
    ],
)
def test_in_a_params_file_it_says_what_that_calls_it(key: str, words: str) -> None:
    assert suggestion(key, (), in_params=True) == words
    (finding,) = errors(check("p.yaml", params_file({key: 2})).findings)
    assert finding.fix == words
