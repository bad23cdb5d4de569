"""Keys of intent: what GPUs, nodes, accounts and pages become, and what is wrong with them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster import __version__
from tf_cluster.check import check
from tf_cluster.expand.expand import leaves
from tf_cluster.expand.values_file import values_text
from tf_cluster.pointer import json_pointer, value_at

from tests.generator.conftest import ROOT

CHART = ROOT / "charts" / "tf-cluster"
GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
ALL_REDUCE = f"{GOOD}strategy: all-reduce\n"
DIGEST = "sha256:" + "0" * 64


def values_of(text: str) -> dict[str, Any]:
    checked = check("p", text.encode())
    assert checked.findings == ()
    return checked.values.data


def told(text: str) -> list[str]:
    return [f"{f.code} {json_pointer(f.pointer)}" for f in check("p", text.encode()).findings]


@pytest.mark.parametrize(
    ("said", "limits"),
    [
        ("1", {"nvidia.com/gpu": 1}),
        ("8", {"nvidia.com/gpu": 8}),
        ("{worker: 2}", {"nvidia.com/gpu": 2}),
        ("{worker: 2, vendor: amd.com/gpu}", {"amd.com/gpu": 2}),
    ],
)
def test_gpus_are_a_limit_of_the_workers(said: str, limits: dict[str, int]) -> None:
    worker = values_of(f"{ALL_REDUCE}gpus: {said}\n")["worker"]

    assert worker == {"replicas": 2, "resources": {"limits": limits}}


@pytest.mark.parametrize("said", ["0", "{worker: 0}"])
def test_no_gpus_are_nothing(said: str) -> None:
    assert values_of(f"{GOOD}gpus: {said}\n") == values_of(GOOD)


def test_a_page_that_is_on_no_port_of_the_nodes_has_no_service_of_its_own() -> None:
    assert values_of(f"{GOOD}notebook: {{nodePort: false}}\n")["notebook"] == {"enabled": True}


def test_the_image_of_gpus_is_that_of_the_roles_that_have_some() -> None:
    text = f"{GOOD}evaluator: true\ngpus: {{worker: 1, image: r/gpu:2}}\n"

    assert values_of(text)["worker"]["image"] == {"repository": "r/gpu", "tag": "2"}
    assert "image" not in values_of(text)["evaluator"]
    both = values_of(text.replace("worker: 1", "worker: 1, evaluator: 1"))
    assert both["evaluator"]["image"] == both["worker"]["image"]


@pytest.mark.parametrize(
    ("image", "tag"), [("r/i:1", "1"), ("r/i", __version__), (f"r/i@{DIGEST}", __version__)]
)
def test_an_image_of_a_role_has_the_tag_of_all_where_it_has_none(image: str, tag: str) -> None:
    """Else the chart's appVersion would be its tag one day, and restart the training."""
    text = (
        GOOD.replace("r/i:1", image) + "gpus: {worker: 1, image: r/gpu}\nnotebook: {image: r/n}\n"
    )

    assert values_of(text)["worker"]["image"] == {"repository": "r/gpu", "tag": tag}
    assert values_of(text)["notebook"]["image"] == {"repository": "r/n", "tag": f"{tag}-notebook"}


@pytest.mark.parametrize(
    ("said", "values"),
    [
        (
            "nodes: {selector: {pool: a}, worker: {selector: {pool: b}, tolerations: [{key: x}]}}",
            {"pod": {"nodeSelector": {"pool": "a"}}, "worker": {"nodeSelector": {"pool": "b"}}},
        ),
        (
            "nodes: {selector: {pool: a}, worker: {selector: {}}}",
            {"pod": {"nodeSelector": {"pool": "a"}}, "worker": {"nodeSelector": {}}},
        ),
        ("priority: high", {"pod": {"priorityClassName": "high"}}),
        ("serviceAccount: mine", {"serviceAccount": {"name": "mine"}}),
        (
            "serviceAccount: {create: true, annotations: {a.b/c: d}}",
            {"serviceAccount": {"create": True, "annotations": {"a.b/c": "d"}}},
        ),
        ("imagePullSecrets: [a, b]", {"image": {"pullSecrets": ["a", "b"]}}),
        ("run: {deadlineSeconds: 60}", {"run": {"deadlineSeconds": 60}}),
        ("tensorboard: true", {"tensorboard": {"enabled": True}}),
        ("tensorboard: {}", {"tensorboard": {"enabled": True}}),
        ("tensorboard: false", {"tensorboard": {"enabled": False}}),
        ("tensorboard: {logdir: /log/b}", {"tensorboard": {"enabled": True, "logdir": "/log/b"}}),
        ("notebook: {nodePort: true}", {"notebook": {"service": {"type": "NodePort"}}}),
        (
            "notebook: {nodePort: 30001}",
            {"notebook": {"service": {"type": "NodePort", "nodePort": 30001}}},
        ),
        ("notebook: {nodePort: 1}", {"notebook": {"service": {"nodePort": 1}}}),
        ("notebook: {secretName: t}", {"notebook": {"token": {"existingSecret": "t"}}}),
    ],
)
def test_a_key_becomes_what_the_chart_calls_it(said: str, values: dict[str, Any]) -> None:
    made = values_of(f"{GOOD}preset: medium\n{said}\n")

    for path, value in leaves(values):
        assert value_at(made, path) == value, path


@pytest.mark.parametrize(
    ("text", "findings"),
    [
        (f"{GOOD}gpus: 2\n", ["TFC327 /gpus"]),
        (f"{GOOD}gpus: {{worker: 1, evaluator: 1}}\n", ["TFC318 /gpus/evaluator"]),
        (f"{GOOD}gpus: {{vendor: amd.com/gpu}}\n", ["TFC202 /gpus/worker"]),
        (f"{GOOD}gpus: {{worker: 1, vendor: nvidia}}\n", ["TFC206 /gpus/vendor"]),
        (f"{GOOD}gpus: {{worker: 0, image: r/gpu:1}}\n", ["TFC347 /gpus/image"]),
        (f"{GOOD}gpus: {{worker: 0, vendor: amd.com/gpu}}\n", ["TFC347 /gpus/vendor"]),
        (f"{GOOD}gpus: 0.5\n", ["TFC203 /gpus"]),
        (f"{GOOD}gpus: -1\n", ["TFC205 /gpus"]),
        (
            f"{GOOD}gpus: 1\n"
            "extraValues: {worker: {resources: {limits: {nvidia.com/gpu: 1}}}}\n",
            ["TFC310 /extraValues/worker/resources/limits/nvidia.com~1gpu"],
        ),
        (f"{GOOD}nodes: {{evaluator: {{selector: {{a: b}}}}}}\n", ["TFC318 /nodes/evaluator"]),
        (f"{GOOD}nodes: {{selector: {{a: b c}}}}\n", ["TFC311 /nodes/selector/a"]),
        (f"{GOOD}nodes: {{selector: {{a b: c}}}}\n", ["TFC311 /nodes/selector/a b"]),
        (
            f"{GOOD}nodes: {{worker: {{tolerations: [{{key: a, operator: Exists, value: b}}]}}}}\n",
            ["TFC311 /nodes/worker/tolerations/0/value"],
        ),
        (
            f"{GOOD}nodes: {{selector: {{a: b}}}}\n"
            "extraValues: {pod: {nodeSelector: {a: c}}}\n",
            ["TFC310 /extraValues/pod/nodeSelector/a"],
        ),
        (
            f"{GOOD}serviceAccount: {{annotations: {{a: b}}}}\n",
            ["TFC345 /serviceAccount/annotations"],
        ),
        (
            f"{GOOD}serviceAccount: {{create: true, name: default}}\n",
            ["TFC346 /serviceAccount/name"],
        ),
        (
            f"{GOOD.replace('name: a', 'name: default')}serviceAccount: {{create: true}}\n",
            ["TFC346 /name"],
        ),
        (f"{GOOD}priority: A\n", ["TFC206 /priority"]),
        (f"{GOOD}tensorboard: {{logdir: /log/../data}}\n", ["TFC206 /tensorboard/logdir"]),
        (
            f"{GOOD}tensorboard: {{nodePort: 30000}}\nnotebook: {{nodePort: 30000}}\n",
            ["TFC367 /notebook/nodePort"],
        ),
        (
            f"{GOOD.replace('r/i:1', f'r/i@{DIGEST}')}notebook: true\n",
            ["TFC361 /notebook"],
        ),
        (
            f"{GOOD}notebook: true\nextraValues: {{notebook: {{enabled: true}}}}\n",
            ["TFC310 /extraValues/notebook/enabled"],
        ),
    ],
)
def test_what_is_wrong_with_a_key_is_told_at_it(text: str, findings: list[str]) -> None:
    assert told(text) == findings


@pytest.mark.parametrize(
    ("said", "right"),
    [
        ("gpu: 1", "gpus: 1"),
        ("numGpus: 1", "gpus: 1"),
        ("jupyter: true", "notebook: true"),
        ("nodeSelector: {a: b}", "nodes: {selector: {a: b}}"),
        ("tolerations: [{key: a}]", "nodes: {tolerations: [{key: a}]}"),
        ("nodes: {worker: {nodeSelector: {a: b}}}", "nodes: {worker: {selector: {a: b}}}"),
        ("priorityClassName: high", "priority: high"),
        ("serviceAccountName: mine", "serviceAccount: mine"),
        ("imagePullSecret: a", "imagePullSecrets: [a]"),
    ],
)
def test_the_words_of_others_are_read_as_ours(said: str, right: str) -> None:
    checked = check("p", f"{GOOD}{said}\n".encode())

    assert not checked.good
    assert checked.values.data == values_of(f"{GOOD}{right}\n")


def test_values_made_by_keys_are_rendered_by_the_real_helm(helm: str, tmp_path: Path) -> None:
    text = (
        f"{ALL_REDUCE}preset: medium\nevaluator: true\n"
        "gpus: {worker: 2, evaluator: 1, image: r/gpu:1}\n"
        "nodes: {selector: {pool: a}, worker: {selector: {pool: b}, tolerations: [{key: x}]}}\n"
        "priority: high\nserviceAccount: mine\nimagePullSecrets: [s]\nrun: {deadlineSeconds: 60}\n"
        "tensorboard: {nodePort: true}\nnotebook: {nodePort: 30001, secretName: t}\n"
    )
    checked = check("p.yaml", text.encode())
    assert checked.findings == ()
    (tmp_path / "v.yaml").write_text(values_text(checked.values, "p.yaml", "small"))

    ran = subprocess.run(
        (helm, "template", "r", str(CHART), "-f", str(tmp_path / "v.yaml")),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    pods: dict[str, Any] = {}
    for document in yaml.load_all(ran.stdout, Loader=yaml.CSafeLoader):
        if document and document["kind"] in ("Job", "Deployment"):
            role = document["metadata"]["labels"]["app.kubernetes.io/component"]
            pods[role] = document["spec"]["template"]["spec"]
    del pods["cleanup"]  # it has an account of its own, and runs anywhere
    assert pods.keys() == {"worker", "evaluator", "tensorboard", "notebook"}
    for role, pod in pods.items():
        limits = pod["containers"][0]["resources"]["limits"]
        gpus = {"worker": 2, "evaluator": 1}.get(role)
        assert limits.get("nvidia.com/gpu") == gpus, role
        assert pod["containers"][0]["image"] == {
            "notebook": "r/i:1-notebook",
            "tensorboard": "r/i:1",
        }.get(role, "r/gpu:1")
        assert pod["nodeSelector"] == {"pool": "b" if role == "worker" else "a"}
        assert ("tolerations" in pod) == (role == "worker")
        assert pod["priorityClassName"] == "high"
        assert pod["serviceAccountName"] == "mine"
        assert pod["imagePullSecrets"] == [{"name": "s"}]
