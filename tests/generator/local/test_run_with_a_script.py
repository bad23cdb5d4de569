"""`tf-cluster run` with users' scripts, unchanged: the real trainer, TensorFlow, all processes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from dulwich.repo import MemoryRepo

from tests.generator.conftest import ROOT, RunParams
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import progress
from tests.slices import in_turn
from tests.trainer.sources.serving import commit, git_serving

pytestmark = pytest.mark.timeout(600)

MINUTES = 540  # seconds: a run of 18 s took 232 s where other suites had most of the machine
SCRIPTS = ROOT / "values-examples" / "scripts"
ONE_X = [
    "--ps_hosts=$(PS_HOSTS)",
    "--worker_hosts=$(WORKER_HOSTS)",
    "--job_name=$(JOB_NAME)",
    "--task_index=$(TASK_INDEX)",
    "--log_dir=$(LOG_DIR)",
]

Start = Callable[..., LocalRunInTest]


@pytest.fixture
def start(run_params: RunParams, tmp_path: Path) -> Start:
    """Run an example script, which stands beside the params file; keywords are keys of program."""

    def run(script: str, method: dict[str, Any], **program: Any) -> LocalRunInTest:
        if (SCRIPTS / script).exists():
            (tmp_path / script).write_text((SCRIPTS / script).read_text())
        params = {"name": "mine", "workers": 2, "program": {"script": script, **program}, **method}
        return run_params(yaml.safe_dump(params))

    return run


def log(run: LocalRunInTest, task: str) -> str:
    return (run.folder / f"runs/mine/logs/{task}.log").read_text()


def ended_well(run: LocalRunInTest) -> None:
    """Nothing is left, and the final state says so. What it knows of the run is not made up."""
    document = progress(run, "mine")
    assert (document["status"], document["final"], document["exitCode"]) == ("done", True, 0)
    assert (document["step"], document["total"]) == (None, None)
    assert run.processes() == []


@in_turn(0, of=2)
def test_a_script_whose_workers_and_ps_join_for_ever_ends_with_its_chief(start: Start) -> None:
    run = start("parameter_server.py", {}, args=["--steps=2000"], ps="script")

    assert run.wait(MINUTES) == 0, run.stderr
    numbers = (run.folder / "runs/mine/1/weights.txt").read_text().split()
    assert [round(float(number), 1) for number in numbers] == [1, 1, 1, 1, 0]
    assert "weights on /job:ps/replica:0/task:0" in log(run, "chief-0")
    assert "the script was killed by SIGTERM" in log(run, "worker-1")
    ended_well(run)


@pytest.mark.full
def test_a_scripts_ps_can_be_the_trainers_own_servers(start: Start) -> None:
    run = start("parameter_server.py", {"ps": 2}, args=["--steps=200"])

    assert run.wait(MINUTES) == 0, run.stderr
    assert "200 steps, loss" in log(run, "chief-0")
    ended_well(run)


@in_turn(1, of=2)
@pytest.mark.parametrize(
    ("update", "ps"),
    [
        pytest.param("async", "server", marks=pytest.mark.full),
        pytest.param("async", "script", marks=pytest.mark.full),
        pytest.param("sync", "server", marks=pytest.mark.full),
        ("sync", "script"),
    ],
)
def test_a_script_of_the_1x_style_ends_though_its_ps_join(
    start: Start, update: str, ps: str
) -> None:
    args = [*ONE_X, "--steps=300", *(["--sync"] if update == "sync" else [])]
    run = start(
        "replicas_1x.py", {"replication": "between-graph", "update": update}, args=args, ps=ps
    )

    assert run.wait(MINUTES) == 0, run.stderr
    # What a thread prints when Python ends may follow on the same line.
    losses = re.findall(r"loss ([0-9.]+)", log(run, "worker-0"))
    assert float(losses[-1]) < 0.01
    assert (run.folder / "runs/mine/1/checkpoint").is_file()
    ended_well(run)


@in_turn(0, of=2)
def test_a_keras_fit_script_trains_on_all_workers(start: Start) -> None:
    run = start("mirrored_keras.py", {"strategy": "all-reduce"}, args=["--epochs=3"])

    assert run.wait(MINUTES) == 0, run.stderr
    losses = json.loads((run.folder / "runs/mine/1/history.json").read_text())["loss"]
    assert losses[-1] < losses[0] / 2
    for task in ("worker-0", "worker-1"):
        assert "Epoch 3/3" in log(run, task)
    assert (run.folder / "runs/mine/1/model").exists()
    ended_well(run)


@in_turn(1, of=2)
def test_a_program_class_comes_from_a_file_beside_the_params(start: Start, tmp_path: Path) -> None:
    digits = ROOT / "trainer/src/tf_cluster_trainer/examples/digits.py"
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/mine.py").write_text(digits.read_text())
    params = {
        "name": "mine",
        "workers": 1,
        "train": {"steps": 50},
        "program": {"module": "mine:Digits", "path": "lib", "source": {"files": ["lib/mine.py"]}},
    }
    run = start("replicas_1x.py", params)

    assert run.wait(MINUTES) == 0, run.stderr
    assert "accuracy" in run.stdout
    assert "code: 1 file(s), here after" in log(run, "chief-0")
    assert "code:" not in log(run, "ps-0")


@pytest.mark.full
def test_a_script_comes_from_a_git_commit(start: Start) -> None:
    repository = MemoryRepo()
    script = (SCRIPTS / "parameter_server.py").read_bytes()
    made = commit(repository, {"train.py": (0o100644, script)})
    with git_serving(repository) as address:
        source = {"git": address, "commit": made}
        run = start("train.py", {}, args=["--steps=100"], source=source)
        assert run.wait(MINUTES) == 0, run.stderr
    assert "100 steps, loss" in log(run, "chief-0")
    ended_well(run)


def test_the_exit_code_of_a_script_is_told_with_its_last_words(
    start: Start, tmp_path: Path
) -> None:
    # It parses a copy of its arguments, so `tf-cluster run` can't see this before.
    (tmp_path / "own.py").write_text(
        "import argparse, sys\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--steps")\nparser.parse_args(list(sys.argv[1:]))\n'
    )

    run = start("own.py", {}, args=["--stepz=1"])

    assert run.wait(MINUTES) == 2
    # Every task runs the script; whichever was the first to end with it.
    assert re.search(r"failed: (chief|worker)-\d ended with exit code 2", run.stderr), run.stderr
    assert "unrecognized arguments: --stepz=1" in run.stderr
    assert run.processes() == []


def test_an_option_that_the_script_lacks_is_told_before_anything_starts(start: Start) -> None:
    run = start("parameter_server.py", {}, args=["--stepz=1"])

    assert run.wait(MINUTES) == 1
    assert 'TFC512: the script has no option "--stepz" (parameter_server.py:16)' in run.stderr
    assert not (run.folder / "runs").exists()
