"""Whatever the chart's guards refuse, `validate` has told before, through every key."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tf_cluster.check import check
from tf_cluster.checks.env import RESERVED_VARIABLE_PREFIX, RESERVED_VARIABLES
from tf_cluster.checks.labels import RESERVED_LABEL_PREFIX, RESERVED_LABELS
from tf_cluster.expand.values_file import values_text
from tf_cluster.pointer import json_pointer

from tests.generator.conftest import ROOT

CHART = ROOT / "charts" / "tf-cluster"
GUARDS = (CHART / "templates" / "_guards.tpl").read_text()
HEAD = "name: a\nprogram: {module: 'p.m:C'}\n"

CASES = [
    ("image", "flags: {}", "TFC308 /image"),
    ("image", "extraValues: {image: {repository: ''}}", "TFC308 /image"),
    (
        "image",
        "extraValues: {image: {repository: 'r/i:1'}}",
        "TFC206 /extraValues/image/repository",
    ),
    (
        "program",
        "image: i\nextraValues: {program: {module: ''}}",
        "TFC310 /extraValues/program/module",
    ),
    (
        "program",
        "image: i\nextraValues: {program: {script: /a.py}}",
        "TFC207 /extraValues/program/script",
    ),
    (
        "program",
        "image: i\nextraValues: {program: {args: [a]}}",
        "TFC207 /extraValues/program/args",
    ),
    (
        "source",
        "image: i\nextraValues: {program: {source: {url: 'http://a/b'}}}",
        "TFC202 /extraValues/program/source/url",
    ),
    (
        "source",
        f"image: i\nextraValues: {{program: {{source: {{git: 'http://a/b', commit: {'a' * 40}, "
        "files: {a.py: ''}}}}",
        "TFC207 /extraValues/program/source/git",
    ),
    (
        "source",
        "image: i\nextraValues: {program: {path: /x, source: {files: {a.py: ''}}}}",
        "TFC326 /extraValues/program/path",
    ),
    (
        "source",
        f"image: i\nextraValues: {{program: {{source: {{files: {{a.py: '{'&' * 90000}'}}}}}}}}",
        "TFC325 /extraValues/program/source/files",
    ),
    ("combination", "image: i\nstrategy: all-reduce\nupdate: async", "TFC303 /update"),
    (
        "combination",
        "image: i\nextraValues: {strategy: all-reduce, replication: in-graph}",
        "TFC303 /extraValues/replication",
    ),
    (
        "combination",
        "image: i\nreplication: in-graph\nextraValues: {strategy: all-reduce}",
        "TFC303 /replication",
    ),
    (
        "momentum",
        "image: i\ntrain: {optimizer: {momentum: 0.5}}",
        "TFC304 /train/optimizer/momentum",
    ),
    (
        "momentum",
        "image: i\nextraValues: {train: {optimizer: {momentum: 0}}}",
        "TFC304 /extraValues/train/optimizer/momentum",
    ),
    (
        "momentum",
        "image: i\ntrain: {optimizer: {name: Momentum}}",
        "TFC313 /train/optimizer/name",
    ),
    (
        "momentum",
        "image: i\nextraValues: {train: {optimizer: {name: Momentum}}}",
        "TFC313 /extraValues/train/optimizer/name",
    ),
    (
        "schedule",
        "image: i\ntrain: {optimizer: {schedule: {decaySteps: 9}}}",
        "TFC319 /train/optimizer/schedule/decaySteps",
    ),
    (
        "schedule",
        "image: i\nextraValues: {train: {optimizer: {schedule: {endFactor: 0}}}}",
        "TFC319 /extraValues/train/optimizer/schedule/endFactor",
    ),
    (
        "schedule",
        "image: i\ntrain: {optimizer: {schedule: {name: exponential}}}",
        "TFC320 /train/optimizer/schedule/name",
    ),
    (
        "schedule",
        "image: i\ntrain: {optimizer: {schedule: {name: exponential, endFactor: 0}}}",
        "TFC320 /train/optimizer/schedule/endFactor",
    ),
    (
        "preStop",
        "image: i\nextraValues: {ps: {preStopSeconds: 30}}",
        "TFC317 /extraValues/ps/preStopSeconds",
    ),
    (
        "preStop",
        "image: i\nextraValues: {ps: {terminationGracePeriodSeconds: 1}}",
        "TFC317 /extraValues/ps/terminationGracePeriodSeconds",
    ),
    *(
        (
            "gpus",
            f"image: i\nextraValues: {{{role}: {{{rest}resources: "
            f"{{{kind}: {{{name}: {amount}}}}}}}}}",
            f"TFC327 /extraValues/{role}/resources/{kind}/{name.replace('/', '~1')}",
        )
        for role, rest, kind, name, amount in (
            ("worker", "", "limits", "nvidia.com/gpu", 2),
            ("worker", "", "requests", "amd.com/gpu", '"4"'),
            ("evaluator", "enabled: true, ", "limits", "nvidia.com/gpu.shared", 2),
            ("chief", "", "limits", "nvidia.com/gpu", 1),
            ("ps", "", "limits", "nvidia.com/mig-1g.5gb", 1),
        )
    ),
    ("name", f"image: i\nextraValues: {{fullnameOverride: {'a' * 41}}}", "TFC310 "),
    *(
        ("claims", f"image: i\n{text}", f"TFC207 {place}")
        for volume in ("data", "log")
        for key, other, value in (
            ("volume", "volumeName", "pv"),
            ("class", "storageClassName", "nfs"),
            ("", "annotations", "{a: b}"),
        )
        for text, place in (
            (f"{volume}: {{claim: c, {key}: {value}}}", f"/{volume}/{key}"),
            (
                f"extraValues: {{storage: {{{volume}: {{existingClaim: c, {other}: {value}}}}}}}",
                f"/extraValues/storage/{volume}/{other}",
            ),
            (
                f"{volume}: {{claim: c}}\n"
                f"extraValues: {{storage: {{{volume}: {{{other}: {value}}}}}}}",
                f"/extraValues/storage/{volume}/{other}",
            ),
        )
        if key or not place.startswith(f"/{volume}")
    ),
    *(
        (
            "env",
            f"image: i\nevaluator: true\n"
            f"extraValues: {{{role}: {{extraEnv: [{{name: A}}, {{name: {name}}}]}}}}",
            f"{code} /extraValues/{role}/extraEnv/1/name",
        )
        for role in ("chief", "worker", "ps", "evaluator")
        for name, code in (
            *((name, "TFC314") for name in (*RESERVED_VARIABLES, "TF_CLUSTER_X")),
            ("A", "TFC315"),
        )
    ),
    *(
        (
            "labels",
            f"image: i\nevaluator: true\nextraValues: {{{role}: {{podLabels: {{{label}: x}}}}}}",
            f"TFC316 /extraValues/{role}/podLabels/{label.replace('/', '~1')}",
        )
        for role in ("chief", "worker", "ps", "evaluator", "cleanup")
        for label in (*RESERVED_LABELS, "tf-cluster.io/attempt")
    ),
    (
        "labels",
        "image: i\nextraValues: {commonLabels: {helm.sh/chart: x}}",
        "TFC316 /extraValues/commonLabels/helm.sh~1chart",
    ),
]


def nulled(path: str) -> str:
    *outer, last = path.split(".")
    return "".join(f"{key}: {{" for key in outer) + f"{last}: null" + "}" * len(outer)


def null_paths() -> list[str]:
    (listed,) = re.findall(r"range \$path := list\n(.*?) \}\}", GUARDS, re.DOTALL)
    return re.findall(r'"([\w.]+)"', listed)


@pytest.mark.parametrize(("guard", "text", "told"), CASES)
def test_what_a_guard_refuses_is_told_at_its_place(guard: str, text: str, told: str) -> None:
    findings = check("p.yaml", (HEAD + text).encode()).findings

    assert any(f"{f.code} {json_pointer(f.pointer)}".startswith(told) for f in findings), findings
    assert len(findings) == 1


@pytest.mark.parametrize("path", null_paths())
def test_a_null_that_the_chart_needs_is_told(path: str) -> None:
    findings = check("p.yaml", f"{HEAD}image: i\nextraValues: {{{nulled(path)}}}".encode()).findings

    assert {f.code for f in findings} & {"TFC310", "TFC311"}, findings


# tests/chart/refusals holds their cases, for the chart and the tool alike.
TOLD_THERE = {"resources", "annotations", "flags", "characters", "arguments", "volumes"}


def test_every_guard_of_the_chart_has_a_case() -> None:
    (listed,) = re.findall(r"range \$guard := list\s+([^}]*?) -?\}\}", GUARDS)

    told_here = {guard for guard, _, _ in CASES}
    assert set(re.findall(r'"(\w+)"', listed)) == {"null"} | told_here | TOLD_THERE


def test_the_reserved_words_are_the_charts() -> None:
    for word in (*RESERVED_VARIABLES, *RESERVED_LABELS):
        assert f'"{word}"' in GUARDS
    for prefix in (RESERVED_VARIABLE_PREFIX, RESERVED_LABEL_PREFIX):
        assert f'hasPrefix "{prefix}"' in GUARDS
    (labels,) = re.findall(r"\$reserved := list\s+([^}]*?) \}\}", GUARDS)
    assert set(re.findall(r'"(.*?)"', labels)) == set(RESERVED_LABELS)


# one case of each guard and code is enough here: a rendering takes helm longer than us
ONE_OF_EACH = list({(guard, told.split()[0]): text for guard, text, told in CASES}.values())


@pytest.mark.parametrize("text", ONE_OF_EACH)
def test_helm_refuses_what_is_told(text: str, helm: str, tmp_path: Path) -> None:
    refused(HEAD + text, helm, tmp_path)


def refused(text: str, helm: str, tmp_path: Path) -> None:
    """The chart's guards refuse what a params file makes."""
    values = check("p.yaml", text.encode()).values
    (tmp_path / "values.yaml").write_text(values_text(values, "p.yaml", "small"))

    ran = subprocess.run(
        (helm, "template", "r", str(CHART), "-f", str(tmp_path / "values.yaml")),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode != 0
    assert "execution error at" in ran.stderr


SCRIPT = "name: a\nimage: i\nprogram: {script: %s}\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SCRIPT % "train.py", "TFC309 /program/script"),
        (
            SCRIPT % "/a.py, ps: script" + "strategy: all-reduce\n",
            "TFC318 /program/ps",
        ),
        (
            SCRIPT % "/a.py" + "extraValues: {ps: {extraEnv: [{name: LOG_DIR}]}}\n",
            "TFC314 /extraValues/ps/extraEnv/0/name",
        ),
    ],
)
def test_what_is_told_of_a_script_is_refused_by_helm(
    text: str, told: str, helm: str, tmp_path: Path
) -> None:
    (finding,) = check("p.yaml", text.encode()).findings
    assert f"{finding.code} {json_pointer(finding.pointer)}" == told
    refused(text, helm, tmp_path)


def test_a_momentum_out_of_range_is_one_finding() -> None:
    text = HEAD + "image: i\ntrain: {optimizer: {name: Momentum, momentum: 2}}"

    assert [f.code for f in check("p.yaml", text.encode()).findings] == ["TFC205"]


@pytest.mark.parametrize(
    "text",
    [
        "train: {optimizer: {name: Momentum, momentum: 0}}",
        "train: {optimizer: {schedule: {name: cosine, warmupSteps: 10, endFactor: 0}}}",
        "train: {optimizer: {schedule: {name: exponential, endFactor: 0.1, decaySteps: 5}}}",
        "train: {optimizer: {schedule: {warmupSteps: 10}}}",
        "extraValues: {ps: {preStopSeconds: 0, terminationGracePeriodSeconds: 0}}",
        "extraValues: {worker: {resources: {limits: {nvidia.com/gpu: 1}}}}",
        "extraValues: {worker: {resources: {limits: {gpu.intel.com/memory.max: 8}}}}",
        "strategy: all-reduce\nextraValues: {worker: {resources: {limits: {nvidia.com/gpu: 8}}}}",
        "extraValues: {commonLabels: {app.kubernetes.io/part-of: research}}",
        "data: {claim: c, accessModes: [ReadWriteMany]}",
        "extraValues: {strategy: parameter-server}",
        "extraValues: {strategy: all-reduce}",
        "strategy: all-reduce\nextraValues: {replication: between-graph}",
        "strategy: all-reduce\nreplication: between-graph\nupdate: sync",
        "replication: between-graph",
        "replication: between-graph\nupdate: sync\nps: 3",
        "strategy: all-reduce\nextraValues: {chief: {terminationGracePeriodSeconds: 300}}",
        "extraValues: {image: {repository: 'r.io:5000/i'}}",
    ],
)
def test_what_the_chart_takes_has_no_finding(text: str) -> None:
    image = "" if "repository" in text else "image: i\n"

    assert check("p.yaml", (HEAD + image + text).encode()).findings == ()


def test_a_relative_path_in_extra_values_is_told_there() -> None:
    text = "name: a\nimage: i\nprogram: {module: 'p:C'}\nextraValues: {program: {path: code}}\n"

    (finding,) = check("p.yaml", text.encode()).findings

    assert finding.code == "TFC309"
    assert json_pointer(finding.pointer) == "/extraValues/program/path"
