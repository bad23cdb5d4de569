"""The workflow for the true server, which can't run here: that what it calls is there."""

from __future__ import annotations

import re
import subprocess
import sys

import yaml

from tests.cluster.model_server import STAND_IN
from tools import ROOT
from tools.machine.__main__ import parser

WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "serving.yaml").read_text())
RUNS = "\n".join(step.get("run", "") for step in WORKFLOW["jobs"]["serving"]["steps"])


def test_the_images_are_those_that_the_cases_look_for() -> None:
    calls = re.findall(r"-m tools\.machine (.+)", RUNS)
    told = [parser().parse_args(call.split()) for call in calls]
    assert [(one.command, one.target, one.load) for one in told] == [
        ("image", "cpu", "kind:serving"),
        ("image", "serving-stand-in", "kind:serving"),
    ]
    assert "serving-stand-in" in STAND_IN


def test_its_cases_are_found() -> None:
    (call,) = re.findall(r"-m pytest (.+) --kubeconfig", RUNS)
    done = subprocess.run(
        (sys.executable, "-m", "pytest", *call.split(), "--collect-only", "--quiet"),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "::test_promote_moves_stable_and_rollback_moves_it_back" in done.stdout


def test_the_server_is_the_one_that_the_chart_has() -> None:
    values = yaml.safe_load((ROOT / "charts" / "tf-serving" / "values.yaml").read_text())
    chart = yaml.safe_load((ROOT / "charts" / "tf-serving" / "Chart.yaml").read_text())
    repository, tag = values["image"]["repository"], values["image"]["tag"] or chart["appVersion"]
    default = WORKFLOW[True]["workflow_dispatch"]["inputs"]["image"]["default"]
    assert default in (f"{repository}:{tag}", f"docker.io/{repository}:{tag}")
