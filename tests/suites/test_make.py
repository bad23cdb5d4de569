"""An installation that was cut off is not built upon."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.suites.suite import ROOT


@pytest.mark.parametrize("is_going_on", [False, True])
def test_a_half_installed_venv_is_made_anew_unless_somebody_still_installs(
    is_going_on: bool, tmp_path: Path
) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    venv = tmp_path / ".venv"
    venv.mkdir()
    ended = subprocess.Popen(("true",))
    ended.wait()
    (venv / "installing").write_text(f"{os.getpid() if is_going_on else ended.pid}\n")

    said = subprocess.run(
        ("make", "help"), cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout

    assert venv.exists() == is_going_on
    assert ("the last installation was cut off" in said) != is_going_on


def test_a_whole_venv_stays(tmp_path: Path) -> None:
    shutil.copy(ROOT / "Makefile", tmp_path)
    (tmp_path / ".venv").mkdir()
    subprocess.run(("make", "help"), cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / ".venv").exists()
