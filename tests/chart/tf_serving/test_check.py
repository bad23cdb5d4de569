"""The check before a start: what is wrong with a directory is said, not waited for."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.chart.tf_serving.helm import SERVING

SCRIPT = SERVING / "files" / "check.sh"
SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


def version(base: Path, name: str, *, variables: bool = True) -> Path:
    """A version as an export writes it: as much of it as the check looks at."""
    (base / name / "variables").mkdir(parents=True)
    (base / name / "saved_model.pb").write_text("")
    if variables:
        (base / name / "variables" / "variables.index").write_text("")
    return base / name


@pytest.fixture(params=SHELLS)
def shell(request: pytest.FixtureRequest) -> str:
    """As /bin/sh may be: Debian's, Ubuntu's and others'."""
    return str(request.param)


def check(shell: str, folder: Path, *lines: str) -> tuple[int, str]:
    paths = folder / "paths"
    paths.write_text("".join(f"{line}\n" for line in lines))
    command = (shell, str(SCRIPT), str(paths))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("policy", ["latest 1", "latest 5", "all", "specific 9 10"])
def test_a_whole_model_passes(policy: str, shell: str, tmp_path: Path) -> None:
    version(tmp_path / "m", "9")
    version(tmp_path / "m", "10")
    (tmp_path / "m" / "tmp-11").mkdir()
    assert check(shell, tmp_path, f"digits {tmp_path}/m {policy}") == (0, "")


def test_a_model_without_variables_passes(shell: str, tmp_path: Path) -> None:
    shutil.rmtree(version(tmp_path / "m", "1") / "variables")
    assert check(shell, tmp_path, f"digits {tmp_path}/m latest 1") == (0, "")


def test_a_directory_that_is_not_there_is_told(shell: str, tmp_path: Path) -> None:
    code, said = check(shell, tmp_path, f"digits {tmp_path}/m latest 1")
    assert code == 1
    words = "Has the training exported, and is the path right?"
    assert said == f"models.digits: {tmp_path}/m is not there. {words}\n"


def test_a_directory_without_a_version_is_told(shell: str, tmp_path: Path) -> None:
    (tmp_path / "m" / "one").mkdir(parents=True)
    (tmp_path / "m" / "2").write_text("")
    code, said = check(shell, tmp_path, f"digits {tmp_path}/m latest 1")
    assert code == 1
    words = "has no version: no directory whose name is a number."
    assert said == f"models.digits: {tmp_path}/m {words}\n"


def test_a_version_in_the_models_place_is_told(shell: str, tmp_path: Path) -> None:
    made = version(tmp_path, "m")
    code, said = check(shell, tmp_path, f"digits {made} latest 1")
    assert code == 1
    assert f"It is a version itself: put it into a directory {made}/1, or name" in said


def test_the_newest_by_number_is_looked_at(shell: str, tmp_path: Path) -> None:
    version(tmp_path / "m", "9")
    (tmp_path / "m" / "10").mkdir()
    line = f"digits {tmp_path}/m latest"
    code, said = check(shell, tmp_path, f"{line} 1")
    assert code == 1
    assert said.startswith(f"models.digits: {tmp_path}/m/10 has no saved_model.pb: it is half")
    version(tmp_path / "m", "11")
    assert check(shell, tmp_path, f"{line} 1") == (0, "")
    assert check(shell, tmp_path, f"{line} 2")[0] == 1


def test_half_a_copy_is_told(shell: str, tmp_path: Path) -> None:
    version(tmp_path / "m", "1", variables=False)
    code, said = check(shell, tmp_path, f"digits {tmp_path}/m all")
    assert code == 1
    assert f"{tmp_path}/m/1 has no variables/variables.index: it is half a copy." in said


def test_a_version_that_is_asked_for_and_not_there_is_told(shell: str, tmp_path: Path) -> None:
    version(tmp_path / "m", "1")
    version(tmp_path / "m", "2")
    code, said = check(shell, tmp_path, f"digits {tmp_path}/m specific 2 3")
    assert code == 1
    assert said == f"models.digits: {tmp_path}/m has no version 3. It has 1 2.\n"


def test_all_models_are_looked_at(shell: str, tmp_path: Path) -> None:
    version(tmp_path / "good", "1")
    lines = (f"{name} {tmp_path}/{name} latest 1" for name in ("bad", "good", "worse"))
    code, said = check(shell, tmp_path, *lines)
    assert code == 1
    assert [line.partition(":")[0] for line in said.splitlines()] == ["models.bad", "models.worse"]
