"""What other repositories use: the hooks, by pre-commit itself, and the steps of the workflow."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.generator.conftest import ROOT

GOOD = "name: {}\nimage: r/i:1\nprogram: {{module: 'p.m:C'}}\n"
HOOKS = ROOT / ".pre-commit-hooks.yaml"
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "params.yaml").read_text())
INPUTS = WORKFLOW[True]["workflow_call"]["inputs"]  # YAML 1.1 reads `on` so
STEPS = {one["name"]: one for one in WORKFLOW["jobs"]["params"]["steps"] if "run" in one}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with two good trainings and a folder of others' values."""
    for name in ("a", "t/b"):
        file = tmp_path / f"{name}.params.yaml"
        file.parent.mkdir(exist_ok=True)
        file.write_text(GOOD.format(Path(name).name))
    (tmp_path / "other.values.yaml").write_text("x: 1\n")
    return tmp_path


def _run(command: list[str], folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    tools = Path(sys.executable).parent
    return subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", **environment},
    )


@pytest.fixture
def hooks(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """A repository with our hooks, and its commit: what else is in ours, they do not need."""
    folder = tmp_path_factory.mktemp("hooks")
    (folder / HOOKS.name).write_text(HOOKS.read_text())
    return str(folder), _committed(folder)


def _committed(folder: Path) -> str:
    """Commit all that is in a folder; returns the commit."""
    who = ("-c", "user.name=someone", "-c", "user.email=someone@example.com")
    for command in (["init", "--quiet"], ["add", "-A"], [*who, "commit", "--quiet", "-m", "all"]):
        _run(["git", *command], folder).check_returncode()
    return _run(["git", "rev-parse", "HEAD"], folder).stdout.strip()


Hook = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def hook(
    repository: Path, hooks: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Hook:
    """Runs one of our hooks on the repository, as `git commit` would."""
    home = tmp_path_factory.mktemp("pre-commit")
    url, commit = hooks

    def run(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        one = {"id": name, **({"args": [*arguments]} if arguments else {})}
        config = {"repos": [{"repo": url, "rev": commit, "hooks": [one]}]}
        (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
        for words in (["init", "--quiet"], ["add", "-A"]):
            _run(["git", *words], repository).check_returncode()
        return _run(["pre-commit", "run", "--all-files"], repository, PRE_COMMIT_HOME=str(home))

    return run


def test_the_hooks_check_write_and_compare(repository: Path, hook: Hook) -> None:
    assert hook("tf-cluster-validate").returncode == 0
    assert hook("tf-cluster-generate-check").returncode == 1
    assert hook("tf-cluster-generate").returncode == 0
    assert (repository / "t" / "b.values.yaml").exists()
    assert hook("tf-cluster-generate-check").returncode == 0

    (repository / "a.values.yaml").write_text("worker: {replicas: 9}\n")
    drifted = hook("tf-cluster-generate-check")
    assert drifted.returncode == 1
    assert "\na.values.yaml:1:1: TFC601" in drifted.stdout
    (repository / "a.params.yaml").write_text(GOOD.format("a") + "run: {id: 1.10}\n")
    assert hook("tf-cluster-validate").returncode == 1
    hook("tf-cluster-validate", "--fix")
    assert "run: {id: '1.10'}" in (repository / "a.params.yaml").read_text()


def test_a_commit_stops_when_its_values_were_written_anew(repository: Path, hook: Hook) -> None:
    (repository / "t" / "b.params.yaml").unlink()
    assert hook("tf-cluster-generate").returncode == 0
    (repository / "a.params.yaml").write_text(GOOD.format("a") + "workers: 7\n")

    ran = hook("tf-cluster-generate")

    assert (ran.returncode, "files were modified by this hook" in ran.stdout) == (1, True)
    assert "replicas: 7" in (repository / "a.values.yaml").read_text()
    assert hook("tf-cluster-generate").returncode == 0


def _step(name: str, repository: Path, **inputs: Any) -> subprocess.CompletedProcess[str]:
    """A step's script, as a runner starts it: bash -e, in the clone, with what `env` says."""
    values = {key: inputs.get(key, one.get("default", "")) for key, one in INPUTS.items()}

    def filled(text: str) -> str:
        return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda of: str(values[of[1]]), text)

    step = STEPS[name]
    assert "${{" not in step["run"]  # an input in a script would be run
    environment = {key: filled(text) for key, text in step.get("env", {}).items()}
    script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return _run(script, repository, GITHUB_WORKSPACE=str(repository), **environment)


def test_the_workflow_is_to_be_called_and_asks_for_no_rights() -> None:
    assert set(WORKFLOW[True]) == {"workflow_call"}
    assert all(one["type"] == "string" for one in INPUTS.values())
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert [*STEPS] == ["Install", "Params and values files"]


def test_the_workflow_annotates_each_finding_in_the_files_of_the_clone_once(
    repository: Path,
) -> None:
    def annotated(**inputs: Any) -> tuple[int, list[str]]:
        steps = [_step(name, repository, **inputs) for name in STEPS if name != "Install"]
        lines = [line for step in steps for line in step.stdout.splitlines()]
        return max(step.returncode for step in steps), lines

    _run(["tf-cluster", "generate", "."], repository)
    assert annotated() == (0, [])

    (repository / "t" / "b.params.yaml").write_text(GOOD.format("b") + "workers: 0\n")
    code, (line,) = annotated(folder="t")
    assert code == 1
    assert line.startswith("::error file=t/b.params.yaml,line=4,col=10,title=TFC205::")
    (repository / "a.values.yaml").write_text("")
    code, lines = annotated()
    assert code == 1
    assert sorted(one.partition(",")[0] for one in lines) == [
        "::error file=a.values.yaml",
        "::error file=t/b.params.yaml",
    ]


def test_a_job_in_a_folder_of_the_clone_names_files_as_the_repository_does(
    repository: Path,
) -> None:
    (repository / "t" / "b.params.yaml").write_text(GOOD.format("b") + "workers: 0\n")
    there = {"GITHUB_WORKSPACE": str(repository)}

    for file, cwd in (("b.params.yaml", "t"), (".", "t"), ("../t/b.params.yaml", "t"), ("t", ".")):
        command = ["tf-cluster", "validate", file, "--format"]
        github = _run([*command, "github"], repository / cwd, **there).stdout
        assert github.startswith("::error file=t/b.params.yaml,line=4,")
        (run,) = json.loads(_run([*command, "sarif"], repository / cwd, **there).stdout)["runs"]
        place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
        assert place == {"uri": "t/b.params.yaml", "uriBaseId": "SRCROOT"}
        base = run["originalUriBaseIds"]["SRCROOT"]["uri"]
        assert base == f"{repository.resolve().as_uri()}/"


def test_a_file_outside_of_the_clone_has_its_whole_name(repository: Path, tmp_path: Path) -> None:
    (repository / "t" / "b.params.yaml").write_text("name: 3\n")
    clone = repository / "clone"
    clone.mkdir()

    ran = _run(
        ["tf-cluster", "validate", "../t/b.params.yaml", "--format", "sarif"],
        clone,
        GITHUB_WORKSPACE=str(clone),
    )

    (run,) = json.loads(ran.stdout)["runs"]
    place = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"].endswith("t/b.params.yaml")
