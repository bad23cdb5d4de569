"""Trainings on an older Kubernetes: what is there before is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.suites import cluster, older
from tests.suites.suite import ROOT
from tools.machine.layout import STATE_VARIABLE


def test_a_test_cluster_that_is_up_is_neither_used_nor_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(STATE_VARIABLE, str(tmp_path))
    for name in ("up", "down"):
        monkeypatch.setattr(cluster, name, lambda: pytest.fail("it was touched"))

    assert older.main() == 2
    assert "make cluster-down" in capsys.readouterr().err


def test_its_files_are_there() -> None:
    assert all(Path(ROOT, file).is_file() for file in older.FILES)
