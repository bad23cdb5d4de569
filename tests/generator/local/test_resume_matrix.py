"""Every combination goes on from a checkpoint of every other, with other numbers of tasks.

Real processes: one run, trained a part by one combination and the rest by the other.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.generator.conftest import RunParams
from tests.generator.local.combinations import COMBINATIONS, DIGITS, Combination, last_steps
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import progress
from tests.slices import sliced

FIRST, TOTAL = 120, 400
# There nobody waits for a worker that comes late: it has steps left to make.
TOTALS = {"between-graph-async": 2000}
CALL = 9  # no divisor of a total: the last call has to be a shorter one
SECONDS = 240  # other suites may share the machine

PAIRS = [
    pytest.param(before, after, id=f"{before}-to-{after}")
    for before, after in itertools.product(COMBINATIONS, repeat=2)
]


def text_of(combination: Combination, *, steps: int, workers: int, ps: int) -> str:
    """A params file that trains the digits."""
    servers = "" if "all-reduce" in combination.settings else f"ps: {ps}\n"
    return (
        f"name: moved\nprogram: {DIGITS}\n"
        f"workers: {workers}\n{servers}"
        f"train: {{steps: {steps}, stepsPerCall: {CALL}}}\n{combination.settings}\n"
    )


def finished(run: LocalRunInTest) -> dict[str, Any]:
    """Its progress.json when it is done."""
    assert run.wait(SECONDS) == 0, run.stderr
    document = progress(run, "moved")
    assert (document["status"], document["final"]) == ("done", True)
    return document


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The folder in which a combination has trained the first part; once for all that go on."""
    folders: dict[str, Path] = {}

    def folder_of(name: str) -> Path:
        if name not in folders:
            folders[name] = folder = tmp_path_factory.mktemp("begun")
            text = text_of(COMBINATIONS[name], steps=FIRST, workers=2, ps=1)
            (folder / "params.yaml").write_text(text)
            run = LocalRunInTest(folder, trainer=None)
            try:
                assert finished(run)["step"] in last_steps(name, FIRST, per_call=CALL)
            finally:
                run.end()
        return folders[name]

    return folder_of


@pytest.mark.parametrize(("before", "after"), sliced(PAIRS, 1))
def test_a_run_goes_on_in_another_combination(
    run_params: RunParams,
    tmp_path: Path,
    begun: Callable[[str], Path],
    before: str,
    after: str,
) -> None:
    shutil.copytree(begun(before), tmp_path, dirs_exist_ok=True)
    first = json.loads((tmp_path / "runs/moved/1/progress.json").read_text())

    total = TOTALS.get(after, TOTAL)
    text = text_of(COMBINATIONS[after], steps=total, workers=3, ps=2)
    last = finished(run_params(text))
    assert last["step"] in last_steps(after, total, per_call=CALL, workers=3)
    assert last["examples"] > first["examples"]
    assert all(last["workers"][index] >= first["workers"][index] for index in first["workers"])
    assert last["workers"]["2"] > 0
    assert last["metrics"]["accuracy"] >= 0.95
    log = (tmp_path / f"runs/moved/logs/{COMBINATIONS[after].client}.log").read_text()
    assert f"going on from the checkpoint of step {first['step']}" in log
    assert "reset" not in log  # the optimizer's slots came along
    checkpoint = tmp_path / f"runs/moved/1/checkpoints/ckpt-{last['step']}"
    meta = json.loads((checkpoint / "meta.json").read_text())
    assert (meta["step"], meta["examples"]) == (last["step"], last["examples"])
