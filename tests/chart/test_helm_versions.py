"""Helm 3 and Helm 4 make the same objects of the same values."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, HELMS, ROOT, command, render, template
from tools.machine import tools

EXAMPLES = sorted((ROOT / "values-examples").glob("*.values.yaml"))


@pytest.mark.parametrize("feature", FEATURES)
def test_a_feature_renders_to_equal_objects(feature: str) -> None:
    one, other = (render(FEATURES[feature], helm=helm).objects for helm in HELMS)
    assert one == other


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_renders_to_equal_objects(path: Path) -> None:
    values = json.dumps(yaml.safe_load(path.read_text()))
    one, other = (
        template(values, "digits", "training", str(CHART), helm).objects for helm in HELMS
    )
    assert one == other


@pytest.mark.parametrize("helm", HELMS)
def test_the_umbrella_is_clean_for_helm_lint(helm: str) -> None:
    done = command("lint", "--strict", "--quiet", str(ROOT), helm=helm)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stdout


def test_the_versions_that_readme_promises_are_those_that_are_tested() -> None:
    promised = re.search(
        r"`helm` \(3\.(\d+)\.(\d+) or later, or 4\)", (ROOT / "README.md").read_text()
    )
    assert promised
    assert f"3.{promised[1]}.{promised[2]}" == tools.HELM_3_VERSION
    assert tools.HELM_3_VERSION in command("version", helm="helm3").stdout
