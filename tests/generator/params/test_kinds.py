"""A file of another kind is told in one sentence, with who takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.convert.convert import convert
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.formats import Format, report

from tests.generator.conftest import ROOT

EXAMPLES = ROOT / "values-examples"
TFJOB = """\
# from the operator's examples
apiVersion: "kubeflow.org/v1"
kind: TFJob
metadata: {name: mnist}
spec:
  tfReplicaSpecs: {Worker: {replicas: 2}}
"""
APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: digits}
---
apiVersion: v1
kind: Namespace
"""


CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: results}
spec: {accessModes: [ReadWriteMany]}
"""
JOB = yaml.safe_load(TFJOB)


def items(*objects: Any, kind: str = "List", api: str = "v1") -> str:
    return json.dumps({"apiVersion": api, "kind": kind, "items": objects}, indent=1)


def found(text: str) -> list[str]:
    return report(check("p.yaml", text.encode()).findings, Format.TEXT).splitlines()


HELM = (
    "not a params file (helm takes it, as -f FILE, and so does `tf-cluster plan`; other commands "
    "take the params file that values are made of)"
)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        (
            TFJOB,
            "3:1: TFC110: a TFJob (kubeflow.org/v1), not a params file ("
            "`tf-cluster convert` makes a params file of it)",
        ),
        (
            APPLICATION,
            "2:1: TFC110: an Argo CD Application (argoproj.io/v1alpha1), not a params file (Argo "
            "CD takes it; tf-cluster takes the params file that its values are made of)",
        ),
        (
            '{"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}',
            "1:1: TFC110: a Kubernetes manifest, Job (batch/v1), not a params file (kubectl takes "
            "it, as apply -f FILE; `tf-cluster init` starts a params file)",
        ),
        (
            "worker: {replicas: 3}\nstorage: {}\n",
            f"1:1: TFC110: a values file of the chart, {HELM}",
        ),
        ("image: {repository: a}\n", f"1:1: TFC110: a values file of the chart, {HELM}"),
        (
            "name: a\n<<<<<<< HEAD\nworkers: 2\n=======\nworkers: 3\n>>>>>>> theirs\n",
            "2:1: TFC110: an unresolved merge conflict (keep one side, and take out the lines "
            "<<<<<<<, ======= and >>>>>>>)",
        ),
        *(
            (
                text,
                f"{place}: TFC110: a template of a params file, not one itself (render it first: "
                "tf-cluster takes the result)",
            )
            for text, place in (
                ("name: {{ name }}\nworkers: {{ n }}\n", "1:8"),
                ("name: a\n{% if x %}\nworkers: 3\n{% endif %}\n", "2:1"),
                ("name: a\n{{- range .x }}\nps: 1\n{{- end }}\n", "2:1"),
            )
        ),
    ],
)
def test_a_file_of_another_kind_is_told_in_one_sentence(text: str, finding: str) -> None:
    assert found(text) == ["p.yaml:" + finding]


ONE = "(`tf-cluster convert` makes a params file of it)"
EACH = "(`tf-cluster convert --name NAME` makes one of each)"


@pytest.mark.parametrize(
    ("text", "finding", "names"),
    [
        (
            f"{CLAIM}---\n{TFJOB}",
            f"8:1: TFC110: Kubernetes manifests with a TFJob, not a params file {ONE}",
            ["mnist"],
        ),
        (
            f"{APPLICATION}---\n{TFJOB}",
            f"10:1: TFC110: Kubernetes manifests with a TFJob, not a params file {ONE}",
            ["mnist"],
        ),
        (
            f"{TFJOB}---\n{TFJOB.replace('mnist', 'other')}",
            f"3:1: TFC110: Kubernetes manifests with 2 TFJobs, not a params file {EACH}",
            ["mnist", "other"],
        ),
        (
            items(yaml.safe_load(CLAIM), JOB),
            f"17:1: TFC110: a List (v1) with a TFJob, not a params file {ONE}",
            ["mnist"],
        ),
        (
            yaml.safe_dump(yaml.safe_load(items(JOB, {**JOB, "metadata": {"name": "other"}}))),
            f"3:1: TFC110: a List (v1) with 2 TFJobs, not a params file {EACH}",
            ["mnist", "other"],
        ),
        (
            items({"metadata": JOB["metadata"]}, kind="TFJobList", api="kubeflow.org/v1"),
            f"5:1: TFC110: a TFJobList (kubeflow.org/v1) with a TFJob, not a params file {ONE}",
            [],
        ),
    ],
)
def test_a_tfjob_among_other_manifests_is_told_and_convert_takes_it(
    text: str, finding: str, names: list[str]
) -> None:
    assert found(text) == ["p.yaml:" + finding]
    for name in names:
        chosen = name if len(names) > 1 else None
        assert convert("p.yaml", text.encode(), chosen).name == name


@pytest.mark.parametrize(
    "text",
    [
        items(yaml.safe_load(CLAIM)),
        items(),
        "apiVersion: v1\nkind: ConfigMap\ndata:\n  job: |\n    kind: TFJob\n",
    ],
)
def test_manifests_without_a_tfjob_are_not_said_to_have_one(text: str) -> None:
    (line,) = found(text)

    assert "TFC110: a Kubernetes manifest, " in line
    assert "convert" not in line


@pytest.mark.parametrize("name", ["digits", "everything"])
def test_our_own_values_are_told(name: str) -> None:
    text = (EXAMPLES / f"{name}.values.yaml").read_text()

    assert found(text) == [
        f"p.yaml:1:1: TFC110: a values file that tf-cluster wrote, {HELM}",
    ]


def test_what_generate_writes_is_known_again(tmp_path: Path) -> None:
    params = (EXAMPLES / "digits.params.yaml").read_bytes()
    text = values_text(check("p.yaml", params).values, "digits.params.yaml", "small")

    assert "TFC110" in found(text)[0]


@pytest.mark.parametrize("word", ["{{ name }}", "${NAME}"])
def test_a_text_that_a_template_left_is_told(word: str) -> None:
    good = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"

    (line,) = found(f"{good}workers: '{word}'")

    assert line.endswith("(this is a template: render it first) [/workers]")
    assert found(f"{good}flags: {{pattern: '{word}'}}") == []


def test_a_params_file_that_only_speaks_of_them_is_none_of_them() -> None:
    text = (
        "# Written by tf-cluster users; kind: TFJob\n"
        "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
        "flags:\n  kind: TFJob\n  apiVersion: v1\n  text: |\n"
        "    <<<<<<< a\n    =======\n    >>>>>>> b\n    {{ x }}\n"
    )

    assert found(text) == []
