"""The umbrella chart at the root of the repository."""

from __future__ import annotations

import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.chart.helm import (
    CHART,
    HELMS,
    LEAST,
    ROOT,
    RefusedError,
    Values,
    command,
    merged,
    notes,
    refusal,
    render,
    template,
)

PARTS = ("tf-cluster", "tf-storage", "tf-tenant", "tf-serving")


def without_sources(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("# Source:")]


def test_the_umbrella_renders_what_the_chart_renders_alone() -> None:
    umbrella = render(chart=ROOT)
    assert without_sources(umbrella.text) == without_sources(render().text)


@pytest.mark.parametrize("helm", HELMS)
def test_a_part_can_be_left_out(helm: str) -> None:
    nothing = render({"tf-cluster": {"enabled": False}}, chart=ROOT, helm=helm)
    assert nothing.objects == []


def test_the_notes_work_without_a_part() -> None:
    assert notes({"tf-cluster": {"enabled": False}}, chart=ROOT).strip() == ""


def test_the_notes_of_the_storage_name_the_key_of_the_file_that_the_user_has() -> None:
    values = {
        "classes": {"fast": {"provisioner": "csi.example.com"}},
        "volumes": {"old": {"nfs": {"server": "nfs.example.com", "path": "/a"}}},
    }
    said = [f"--set-json={key}={json.dumps(value)}" for key, value in values.items()]
    storage = str(ROOT / "charts" / "tf-storage")
    alone = command("install", "digits", storage, "--dry-run=client", *said).stdout
    assert "with storage.data.storageClassName and storage.log.storageClassName." in alone
    assert "with storage.log.volumeName and" in alone
    told = notes({"tf-storage": {"enabled": True, **values}}, chart=ROOT)
    names = [f"tf-cluster.storage.{volume}.storageClassName" for volume in ("data", "log")]
    assert f"fast. A training takes one with {' and '.join(names)}." in told
    assert "old. A training takes one with tf-cluster.storage.log.volumeName and" in told


def test_alone_a_chart_cant_be_left_out() -> None:
    assert "enabled is false: only an umbrella chart can leave this chart out" in refusal(
        {"enabled": False}
    )


@pytest.mark.parametrize("helm", HELMS)
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"worker": {"replicas": 2}}, "additional properties 'worker' not allowed"),
        ({"tf-clutser": {}}, "additional properties 'tf-clutser' not allowed"),
        ({"global": {"registry": "x"}}, "additional properties 'registry' not allowed"),
        ({"tf-cluster": {"wokrer": {}}}, "additional properties 'wokrer' not allowed"),
    ],
)
def test_what_no_part_reads_is_refused(wrong: Values, message: str, helm: str) -> None:
    assert message in refusal(wrong, chart=ROOT, helm=helm)


@pytest.mark.parametrize(
    ("wrong", "paths"),
    [
        ({"image": {"repository": ""}}, ["image.repository"]),
        (
            {"ps": {"preStopSeconds": 100}},
            ["ps.preStopSeconds", "ps.terminationGracePeriodSeconds"],
        ),
        ({"run": {"id": None}}, ["run.id"]),
        ({"storage": None}, ["storage.data.size"]),
        ({"storage": {"data": {"volumeName": "x"}}}, ["storage.data.storageClassName"]),
    ],
)
def test_a_message_names_the_key_of_the_file_that_the_user_has(
    wrong: Values, paths: list[str]
) -> None:
    alone, part = refusal(wrong), refusal({"tf-cluster": wrong}, chart=ROOT)
    for path in paths:
        assert path in alone
        assert f"tf-cluster.{path}" in part
    assert part.replace("tf-cluster.", "") == alone.replace("tf-cluster.", "")


def test_a_message_leaves_other_words_as_they_are() -> None:
    program = {"module": "", "script": "train.py"}
    assert "tf-cluster.program.script is train.py: where is it?" in refusal(
        {"tf-cluster": {"program": program}}, chart=ROOT
    )


def test_a_message_names_the_keys_of_umbrellas_in_umbrellas(tmp_path: Path) -> None:
    for name, part in (("middle", CHART), ("outer", tmp_path / "middle")):
        shutil.copytree(part, tmp_path / name / "charts" / part.name)
        (tmp_path / name / "Chart.yaml").write_text(
            f"{{apiVersion: v2, name: {name}, version: 0.1.0}}\n"
        )
    with pytest.raises(RefusedError, match=r"middle\.tf-cluster\.image\.repository is empty"):
        template("{}", "digits", "training", str(tmp_path / "outer"))


@pytest.mark.parametrize("helm", HELMS)
def test_two_trainings_of_an_umbrella_are_what_each_is_alone(tmp_path: Path, helm: str) -> None:
    """What a chart keeps for its other files is its own, also where it stands there twice."""
    values = {
        name: merged(LEAST, {"fullnameOverride": name, "worker": {"replicas": workers}})
        for name, workers in (("first", 2), ("second", 5))
    }
    umbrella = tmp_path / "both"
    shutil.copytree(CHART, umbrella / "charts" / CHART.name)
    twice = [{"name": CHART.name, "version": "*", "alias": name} for name in values]
    chart = {"apiVersion": "v2", "name": "both", "version": "0.1.0", "dependencies": twice}
    (umbrella / "Chart.yaml").write_text(json.dumps(chart))
    both = template(json.dumps(values), "digits", "training", str(umbrella), helm)
    alone = {name: render(one, helm=helm).attempt for name, one in values.items()}
    jobs = {job["metadata"]["name"] for job in both.all("Job", "worker")}
    assert jobs == {f"{name}-worker-{attempt}" for name, attempt in alone.items()}


def test_the_lock_is_in_step_with_the_dependencies() -> None:
    chart = yaml.safe_load((ROOT / "Chart.yaml").read_text())
    lock = yaml.safe_load((ROOT / "Chart.lock").read_text())
    parts = []
    for name in PARTS:
        part = yaml.safe_load((ROOT / "charts" / name / "Chart.yaml").read_text())
        parts.append({"name": name, "repository": "", "version": part["version"]})
    assert lock["dependencies"] == parts
    assert chart["dependencies"] == [
        {**one, "condition": f"{one['name']}.enabled"} for one in parts
    ]
    assert "unpacked" in command("dependency", "list", str(ROOT)).stdout


def test_the_locks_digest_is_helms(tmp_path: Path) -> None:
    """`helm dependency build` refuses another one."""
    for name in ("Chart.yaml", "Chart.lock", "values.yaml"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "charts", tmp_path / "charts")
    done = command("dependency", "build", str(tmp_path))
    assert done.returncode == 0, done.stderr


def test_the_package_holds_charts_and_nothing_else_of_the_repository(tmp_path: Path) -> None:
    names = packaged(ROOT, tmp_path)
    expected = {"Chart.yaml", "Chart.lock", "charts", "templates"}
    expected |= {"values.yaml", "values.schema.json"}
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


def test_all_charts_are_clean_for_helm_lint() -> None:
    parts = (ROOT / "charts" / name for name in PARTS)
    for chart in (ROOT, *parts):
        done = command("lint", "--strict", "--quiet", str(chart))
        assert done.returncode == 0, done.stdout
        assert done.stdout.strip() == ""
