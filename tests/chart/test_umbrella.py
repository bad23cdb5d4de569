"""The umbrella chart at the root of the repository."""

from __future__ import annotations

import subprocess
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
    names = packaged(ROOT, tmp_path)
    expected = {"Chart.yaml", "Chart.lock", "values.yaml", "charts", "templates"}
    assert expected <= names <= expected | {"README.md", "LICENSE"} | users_own()


def test_the_package_leaves_out_what_the_readme_has_its_reader_make(tmp_path: Path) -> None:
    chart = tmp_path / "chart"
    for folder in ("export", "log"):
        (chart / folder).mkdir(parents=True)
    (chart / "Chart.yaml").write_text("{apiVersion: v2, name: tf-platform, version: 0.1.0}\n")
    (chart / ".helmignore").write_text((ROOT / ".helmignore").read_text())
    for name in (
        "values.yaml",
        "digits.params.yaml",
        "values.yaml.orig",
        "digits.values.yaml",
        "export/model",
        "log/model",
    ):
        (chart / name).write_text("{}\n")
    assert packaged(chart, tmp_path) == {"Chart.yaml", "values.yaml"}


def packaged(chart: Path, place: Path) -> set[str]:
    """What `helm package` puts at the top of the chart's archive."""
    done = command("package", str(chart), f"--destination={place}")
    assert done.returncode == 0, done.stderr
    (archive,) = place.glob("*.tgz")
    with tarfile.open(archive) as packed:
        return {name.removeprefix("tf-platform/").split("/")[0] for name in packed.getnames()}


def users_own() -> set[str]:
    """Files of the repository's directory that are not of the repository."""
    others = ("git", "ls-files", "--others", "--exclude-standard", "--directory")
    found = subprocess.run(others, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line.split("/")[0] for line in found.splitlines()}


def test_both_charts_are_clean_for_helm_lint() -> None:
    for chart in (ROOT, ROOT / "charts" / "tf-cluster"):
        done = command("lint", "--strict", "--quiet", str(chart))
        assert done.returncode == 0, done.stdout
        assert done.stdout.strip() == ""
