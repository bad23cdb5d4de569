"""The umbrella chart at the root of the repository."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import yaml

from tests.chart.helm import LEAST, ROOT, command, render


def umbrella_values() -> dict[str, Any]:
    # render() lays changes over the least values of tf-cluster, which the umbrella does not have.
    return {"image": None, "program": None, "tf-cluster": LEAST}


def without_sources(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("# Source:")]


def test_the_umbrella_renders_what_the_chart_renders_alone() -> None:
    umbrella = render(umbrella_values(), chart=ROOT)
    assert without_sources(umbrella.text) == without_sources(render().text)


def test_global_values_may_be_given() -> None:
    render({**umbrella_values(), "global": {"registry": "x"}}, chart=ROOT)


def test_the_lock_is_in_step_with_the_dependencies() -> None:
    chart = yaml.safe_load((ROOT / "Chart.yaml").read_text())
    lock = yaml.safe_load((ROOT / "Chart.lock").read_text())
    part = yaml.safe_load((ROOT / "charts" / "tf-cluster" / "Chart.yaml").read_text())
    assert lock["dependencies"] == [
        {"name": "tf-cluster", "repository": "", "version": part["version"]}
    ]
    assert chart["dependencies"] == lock["dependencies"]
    assert "unpacked" in command("dependency", "list", str(ROOT)).stdout


def test_the_package_holds_charts_and_nothing_else_of_the_repository(tmp_path: Path) -> None:
    done = command("package", str(ROOT), f"--destination={tmp_path}")
    assert done.returncode == 0, done.stderr
    (archive,) = tmp_path.glob("*.tgz")
    with tarfile.open(archive) as packed:
        names = {name.removeprefix("tf-platform/").split("/")[0] for name in packed.getnames()}
    expected = {"Chart.yaml", "Chart.lock", "values.yaml", "charts", "templates"}
    assert expected <= names <= expected | {"README.md", "LICENSE"}


def test_both_charts_are_clean_for_helm_lint() -> None:
    for chart in (ROOT, ROOT / "charts" / "tf-cluster"):
        done = command("lint", "--strict", "--quiet", str(chart))
        assert done.returncode == 0, done.stdout
        assert done.stdout.strip() == ""
