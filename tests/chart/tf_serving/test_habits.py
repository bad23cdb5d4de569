"""Values as users of other charts write them: each is refused by its place, or is what it says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import HELMS, LOADER, Object, command
from tests.chart.tf_serving.helm import SERVING

LEAST = "models: {digits: {source: {run: {release: digits, id: '1'}}}}\n"

# Beside the least values, or in their place where they have the key.
REFUSED: Mapping[str, tuple[str, str]] = {
    # helm create, Bitnami
    "replicaCount": ("replicaCount: 2", "additional properties 'replicaCount'"),
    "a Service's port": ("service: {port: 8500}", "'/service': additional properties 'port'"),
    "grpcPort": ("service: {grpcPort: 8500}", "'/service': additional properties 'grpcPort'"),
    "an address of its own": (
        "service: {type: LoadBalancer, loadBalancerIP: 10.0.0.1}",
        "'/service': additional properties 'loadBalancerIP'",
    ),
    "a type in small letters": ("service: {type: nodeport}", "'/service/type': value must be one"),
    "an ingress": ("ingress: {enabled: true}", "additional properties 'ingress'"),
    "a text for the percentage": (
        "autoscaling: {enabled: true, targetCPUUtilizationPercentage: '80'}",
        "'/autoscaling/targetCPUUtilizationPercentage': got string",
    ),
    "a percentage of memory": (
        "autoscaling: {targetMemoryUtilizationPercentage: 80}",
        "additional properties 'targetMemoryUtilizationPercentage'",
    ),
    "Bitnami's autoscaling": (
        "autoscaling: {enabled: true, targetCPU: 50}",
        "'/autoscaling': additional properties 'targetCPU'",
    ),
    "a budget's create": ("pdb: {create: true}", "additional properties 'pdb'"),
    "nodeSelector at the root": ("nodeSelector: {a: b}", "additional properties 'nodeSelector'"),
    "an image as a text": ("image: tensorflow/serving:2.21.0", "'/image': got string, want obj"),
    "a tag as a number": ("image: {tag: 2.21}", "'/image/tag': got number, want string"),
    "a tag in the repository": (
        "image: {repository: 'tensorflow/serving:2.21.0'}",
        "image.repository is tensorflow/serving:2.21.0: the tag stands in image.tag",
    ),
    "gigabytes without a unit": (
        "resources: {requests: null, limits: {memory: 4}}",
        "resources.limits.memory is 4, which is less than 1M: write the unit",
    ),
    "variables as a map": ("pod: {extraEnv: {A: b}}", "'/pod/extraEnv': got object, want array"),
    "a sidecar": ("pod: {sidecars: []}", "'/pod': additional properties 'sidecars'"),
    # stable/tensorflow-serving, Arena, KServe
    "modelName": ("modelName: digits", "additional properties 'modelName'"),
    "modelPath": ("modelPath: /models/digits", "additional properties 'modelPath'"),
    "storageUri": (
        "models: {digits: {source: 's3://bucket/digits'}}",
        "models.digits.source has s3://bucket/digits: tensorflow/serving reads no S3",
    ),
    "a claim's address of KServe": (
        "models: {digits: {source: 'pvc://models/digits'}}",
        'models.digits.source is a text, "pvc://models/digits": it has one of run, claim',
    ),
    "a list of models": ("models: [{name: digits}]", "'/models': got array, want object"),
    "a base path": (
        "models: {digits: {base_path: /models/digits}}",
        "'/models/digits': missing property 'source'",
    ),
    "a policy's word": (
        "models: {digits: {source: {claim: {name: a}}, policy: latest}}",
        "'/models/digits/policy': got string",
    ),
    "the server's own policy": (
        "models: {digits: {source: {claim: {name: a}}, policy: {latest: {num_versions: 2}}}}",
        "'/models/digits/policy/latest': got object",
    ),
    "one version": (
        "models: {digits: {source: {claim: {name: a}}, policy: {specific: 3}}}",
        "'/models/digits/policy/specific': got number, want",
    ),
    "a label first": (
        "models: {digits: {source: {claim: {name: a}}, labels: [stable]}}",
        "'/models/digits/labels': got array",
    ),
    "a run's number": (
        "models: {digits: {source: {run: {release: digits, id: 1}}}}",
        "'/models/digits/source/run/id': got number, want string",
    ),
    "a path from the root": (
        "models: {digits: {source: {claim: {name: a, path: /digits}}}}",
        "'/models/digits/source/claim/path'",
    ),
    "a flag of two words": (
        "server: {extraArgs: ['--max_num_load_retries', '3']}",
        "'/server/extraArgs/0'",
    ),
    "a flag that the chart sets": (
        "server: {extraArgs: ['--enable_batching=true']}",
        "server.extraArgs has --enable_batching, which the chart sets",
    ),
    "no section at all": ("server: null", "server.preStopSeconds is null. Leave the line out"),
    # tf-cluster
    "a worker's resources": ("worker: {replicas: 2}", "additional properties 'worker'"),
    "a training's claim": (
        "storage: {log: {existingClaim: a}}",
        "'/storage': additional properties 'log'",
    ),
}

TAKEN: Mapping[str, tuple[str, str, Any]] = {
    "a whole number as a fraction": ("replicas: 3.0", "replicas", 3),
    "an exponent": ("replicas: 1e1", "replicas", 10),
    "0": ("replicas: 0", "replicas", 0),
    "lines of Windows": ("replicas: 4\r\n", "replicas", 4),
    "a mark of the byte order": ("\ufeffreplicas: 4", "replicas", 4),
    "another chart's globals": ("global: {postgresql: {auth: {}}}\nreplicas: 4", "replicas", 4),
    "null where nothing is meant": ("global: null\nclusterDomain: a\nreplicas: 4", "replicas", 4),
    "a surge in percent": (
        "rollout: {maxSurge: 25%}",
        "strategy",
        {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 0}},
    ),
}


def helm_says(folder: Path, text: str, helm: str = "helm") -> tuple[str, str]:
    """What `helm template` prints and what it says, of a values file as it is written."""
    file = folder / "values.yaml"
    key = text.lstrip("\ufeff").partition(":")[0]
    file.write_text(text if key == "models" else f"{text}\n{LEAST}", newline="")
    done = command("template", "digits", str(SERVING), f"--values={file}", helm=helm)
    return done.stdout, " ".join(done.stderr.split())


@pytest.mark.parametrize("habit", REFUSED)
def test_the_place_is_named(habit: str, tmp_path: Path) -> None:
    text, words = REFUSED[habit]
    printed, said = helm_says(tmp_path, text)
    assert not printed
    assert words in said


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize("habit", TAKEN)
def test_what_is_taken_is_read(habit: str, helm: str, tmp_path: Path) -> None:
    text, field, value = TAKEN[habit]
    printed, said = helm_says(tmp_path, text, helm)
    assert printed, said
    (deployment,) = (obj for obj in _objects(printed) if obj["kind"] == "Deployment")
    assert deployment["spec"][field] == value


def test_a_source_of_one_file_is_taken_back_by_null_in_the_next(tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text("models: {digits: {source: {run: null, claim: {name: models}}}}\n")
    base = tmp_path / "base.yaml"
    base.write_text(LEAST)
    files = (f"--values={base}", f"--values={more}")
    for helm in HELMS:
        done = command("template", "digits", str(SERVING), *files, helm=helm)
        assert '"/claims/models"' in done.stdout, done.stderr


def _objects(text: str) -> list[Object]:
    return [obj for obj in yaml.load_all(text, LOADER) if obj]
