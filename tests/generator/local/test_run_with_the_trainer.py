"""`tf-cluster run` with the real trainer: TensorFlow, four processes, the digits."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.progress.line import newest

from tests.generator.conftest import ROOT, RunParams
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import progress, supervisor_of
from tests.slices import in_turn


@pytest.fixture
def digits(run_params: RunParams) -> Any:
    """Start the digits example in an empty directory."""
    example = (ROOT / "values-examples" / "digits.params.yaml").read_text()

    def run(*options: str, change: tuple[str, str] = ("", "")) -> LocalRunInTest:
        return run_params(example.replace(*change), *options)

    return run


def step_on_screen(run: LocalRunInTest) -> int:
    told = newest(run.stderr.splitlines())
    return (told.step or 0) if told else 0


@in_turn(0, of=2)
def test_the_digits_train_to_the_end_though_a_worker_is_killed_on_the_way(digits: Any) -> None:
    run = digits("--steps", "3000")
    run.wait_until("some steps", lambda: step_on_screen(run) > 0)

    os.kill(supervisor_of(run, "worker-1"), signal.SIGKILL)

    assert run.wait() == 0, run.stderr
    assert "worker-1 was killed by SIGKILL; it is started again (1 of at most 20)" in run.stderr
    assert "chief-0 was" not in run.stderr
    told = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    assert float(told["accuracy"]) >= 0.95
    assert (run.folder / told["export"] / "saved_model.pb").is_file()
    assert (run.folder / told["logs"] / "chief-0.log").is_file()
    document = progress(run)
    assert (document["status"], document["final"]) == ("done", True)
    assert document["step"] >= 3000
    assert document["placement"]
    assert all(device.startswith("/job:ps/") for device in document["placement"].values())
    assert run.processes() == []


@in_turn(1, of=2)
def test_every_line_of_a_real_training_is_a_record_if_asked(
    digits: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_CLUSTER_LOG_FORMAT", "json")
    # So that TensorFlow's C++ talks, too.
    talkative = "extraValues: {pod: {extraEnv: [{name: TF_CPP_MIN_LOG_LEVEL, value: '0'}]}}"
    often = "train:\n  reportSeconds: 0.3\n"
    run = digits("--steps", "600", change=("train:\n", f"{talkative}\n{often}"))
    assert run.wait() == 0, run.stderr

    attempt = progress(run)["attempt"]
    logs = sorted((run.folder / "runs/digits/logs").glob("*.log"))
    assert [log.stem for log in logs] == ["chief-0", "ps-0", "worker-0", "worker-1"]
    by_task = {}
    for log in logs:
        header, *lines = log.read_text().splitlines()
        assert header.startswith("=== ")
        records = by_task[log.stem] = [json.loads(line) for line in lines]
        for record in records:
            whose = [record[key] for key in ("release", "run", "attempt", "task")]
            assert whose == ["digits", "1", attempt, log.stem]
        steps = [record["step"] for record in records if "step" in record]
        assert steps == sorted(steps)
    chief = by_task["chief-0"]
    told = [record for record in chief if record.get("event") == "progress"]
    assert told[0]["step"] == 0 and told[-1]["step"] >= 600
    losses = [record["loss"] for record in told if "loss" in record]
    assert 0 < losses[-1] < losses[0]
    (ours,) = [one for one in chief if one["message"].startswith("training from step 0")]
    assert (ours["severity"], ours["stream"]) == ("INFO", "stderr")
    tensorflows = [one for one in by_task["ps-0"] if "grpc_server_lib.cc" in one["message"]]
    assert {(one["severity"], one["stream"]) for one in tensorflows} == {("INFO", "stderr")}


def test_an_evaluator_measures_on_the_way_and_exports_the_best(digits: Any) -> None:
    evaluator = "evaluator: {exportBest: {metric: accuracy, mode: max}}"
    train = "train:\n  steps: 1500\n  checkpoint: {seconds: 2, steps: 500}"
    run = digits(change=("train:\n  steps: 2000", f"{evaluator}\n{train}"))

    assert run.wait() == 0, run.stderr

    told = dict(line.split(maxsplit=1) for line in run.stdout.splitlines())
    record = json.loads((run.folder / "runs/digits/1/evaluations.json").read_text())
    *_, last = record["evaluations"]
    assert last["step"] == progress(run)["step"]
    assert last["metrics"] == progress(run)["metrics"]
    best = record["best"]
    assert best["value"] == max(one["metrics"]["accuracy"] for one in record["evaluations"])
    assert told["best"].startswith(f"accuracy {best['value']:.4f} at step {best['step']}, runs/")
    assert (Path(best["export"]) / "saved_model.pb").is_file()
    uids = progress(run)["jobUids"]
    assert len({*uids.values()}) == 3
    assert None not in uids.values()
    assert run.processes() == []


def test_ctrl_c_saves_leaves_no_process_and_the_next_run_goes_on(digits: Any) -> None:
    first = digits("--steps", "1000000")
    first.wait_until("some steps", lambda: step_on_screen(first) > 100)
    first.send(signal.SIGINT)
    assert first.wait() == 130, first.stderr
    assert first.processes() == []
    saved = progress(first)["checkpointStep"]
    assert saved > 100

    second = digits("--steps", str(saved + 200), "--workers", "1")

    assert second.wait() == 0, second.stderr
    assert saved + 200 <= progress(second)["step"] < saved + 500
    log = (second.folder / "runs/digits/logs/chief-0.log").read_text()
    assert str(saved) in log


def test_a_program_that_does_not_exist_is_told_before_anything_starts(digits: Any) -> None:
    run = digits(change=("examples.digits:Digits", "examples.digits:Digit"))

    assert run.wait() == 1
    assert "TFC503: tf_cluster_trainer/examples/digits.py has no Digit;" in run.stderr
    assert not (run.folder / "runs").exists()


def test_a_program_that_fails_in_its_class_fails_at_once_and_is_named(
    run_params: RunParams, tmp_path: Path
) -> None:
    """What only running it can tell: the trainer says so."""
    (tmp_path / "made.py").write_text("Net = type('Net', (), {})\n")

    run = run_params("name: digits\nprogram: {module: 'made:Net', path: .}\n")

    assert run.wait() == 2
    assert "digits: failed: chief-0 ended with exit code 2" in run.stderr
    assert "Net is no subclass of" in run.stderr.partition("failed:")[2]
    assert run.processes() == []
