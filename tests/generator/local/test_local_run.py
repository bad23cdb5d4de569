"""`tf-cluster run` with a stand-in for the trainer: starting, restarting, ending, telling."""

from __future__ import annotations

import json
import os
import pty
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from tf_cluster.local.plan import seconds_to_save
from tf_cluster.progress.line import newest

from tests.generator.conftest import ROOT, Command, RunParams
from tests.generator.local.local_run import LocalRunInTest, fake_trainer
from tests.support.processes import alive
from tests.support.waiting import eventually
from tests.tied import tied_to_us

Start = Callable[..., LocalRunInTest]


@pytest.fixture
def start(run_params: RunParams, tmp_path: Path) -> Start:
    """Start a run of `<tmp>/params.yaml`; keywords are keys of the params file."""
    trainer = fake_trainer(tmp_path)

    def run(*options: str, **params: Any) -> LocalRunInTest:
        document = {
            "name": "job",
            "program": {"module": "p.m:C"},
            "train": {"steps": 400},
            **params,
        }
        return run_params(yaml.safe_dump(document), *options, trainer=trainer)

    return run


def forever(*faults: str, **more: Any) -> dict[str, Any]:
    """Params of a run that does not end by itself."""
    return {
        "train": {"steps": 1_000_000},
        "flags": {"steps_per_second": 100, "faults": list(faults)},
        **more,
    }


def running(run: LocalRunInTest) -> Callable[[], bool]:
    """The client trains, and every task has started with its child."""

    def are() -> bool:
        config = run.folder / "runs/job/config/cluster.json"
        if "job: running" not in run.stderr:
            return False
        cluster = json.loads(config.read_text())["cluster"]
        tasks = [f"{kind}-{at}" for kind, hosts in cluster.items() for at in range(len(hosts))]
        return all((run.folder / f"runs/job/data/{task}.child").exists() for task in tasks)

    return are


def test_a_run_ends_with_metrics_export_and_logs_on_stdout(start: Start) -> None:
    run = start()

    assert run.wait() == 0, run.stderr
    assert run.stdout.splitlines() == [
        "name      job, run 1",
        "steps     400 of 400",
        "accuracy  0.9712",
        "export    runs/job/1/export/1",
        "run       runs/job/1/",
        "logs      runs/job/logs/",
    ]
    assert run.processes() == []


def test_the_files_for_the_trainer_fit_its_schemas(start: Start) -> None:
    run = start("--workers", "3", "--ps", "2", flags={"layers": 3})
    assert run.wait() == 0, run.stderr

    schemas = ROOT / "trainer" / "src" / "tf_cluster_trainer" / "schemas"
    for name in ("cluster", "training"):
        schema = json.loads((schemas / f"{name}.schema.json").read_text())
        document = json.loads((run.folder / "runs/job/config" / f"{name}.json").read_text())
        assert list(Draft7Validator(schema).iter_errors(document)) == []
    cluster = json.loads((run.folder / "runs/job/config/cluster.json").read_text())
    hosts = [host for kind in cluster["cluster"].values() for host in kind]
    hosts += [host for kind in cluster["status"].values() for host in kind]
    assert {kind: len(hosts) for kind, hosts in cluster["cluster"].items()} == {
        "ps": 2,
        "worker": 3,
        "chief": 1,
    }
    assert len(set(hosts)) == 12


def test_tasks_are_told_who_they_are(start: Start) -> None:
    run = start()
    assert run.wait() == 0, run.stderr

    chief, *others = [run.starts(name)[0] for name in ("chief-0", "worker-0", "worker-1", "ps-0")]
    assert chief["TF_CLUSTER_DIE_WITH_PARENT"] == str(run.process.pid)
    assert others[0]["TF_CLUSTER_JOB_UID"] == others[1]["TF_CLUSTER_JOB_UID"]
    assert others[0]["TF_CLUSTER_JOB_UID"] != chief["TF_CLUSTER_JOB_UID"]
    assert others[2]["TF_CLUSTER_JOB_UID"] == ""
    assert len({told["TF_CLUSTER_POD_UID"] for told in (chief, *others)}) == 4


def test_tasks_have_the_extra_variables_of_their_role_which_win_over_the_shells(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TF_KIND", "of the shell")
    monkeypatch.setenv("no_proxy", "of.the.shell")
    extra = [{"name": "TF_KIND", "value": "extra"}, {"name": "no_proxy", "value": "example.com"}]
    run = start(extraValues={"worker": {"extraEnv": extra}})
    assert run.wait() == 0, run.stderr

    told = {task: run.starts(task)[0] for task in ("chief-0", "ps-0", "worker-0", "worker-1")}
    kinds = {task: variables["TF_KIND"] for task, variables in told.items()}
    shell = "of the shell"
    assert kinds == {"chief-0": shell, "ps-0": shell, "worker-0": "extra", "worker-1": "extra"}
    assert told["worker-0"]["no_proxy"] == "example.com,127.0.0.1,localhost"
    assert told["chief-0"]["no_proxy"] == "of.the.shell,127.0.0.1,localhost"


def test_variables_that_only_kubernetes_can_fill_in_are_left_out_and_named(start: Start) -> None:
    secret = {"secretKeyRef": {"name": "s", "key": "k"}}
    extra = [{"name": "TF_TOKEN", "valueFrom": secret}, {"name": "TF_HOME", "value": "$(HOME)/x"}]
    run = start(extraValues={"ps": {"extraEnv": extra}})
    assert run.wait() == 0, run.stderr

    assert (
        "job: not set here, since Kubernetes would fill it in: ps.extraEnv TF_TOKEN, "
        "ps.extraEnv TF_HOME"
    ) in run.stderr
    assert not {"TF_TOKEN", "TF_HOME"} & set(run.starts("ps-0")[0])


@pytest.mark.parametrize("name", ["TF_CLUSTER_CONFIG", "TF_CONFIG"])
def test_what_tasks_are_told_can_not_be_replaced(start: Start, name: str) -> None:
    run = start(extraValues={"worker": {"extraEnv": [{"name": name, "value": "/tmp"}]}})

    assert run.wait() == 1
    assert f"worker.extraEnv sets {name}, which the chart or Kubernetes sets" in run.stderr
    assert run.starts("worker-0") == []


def test_piped_progress_is_plain_lines_with_percent_speed_eta_and_loss(start: Start) -> None:
    run = start(**forever())
    run.wait_until("a line of progress", running(run))

    told = newest(run.stderr.splitlines())
    assert told is not None
    assert (told.status, told.total, told.steps_per_second) == ("running", 1_000_000, 100.0)
    assert (told.eta_seconds, told.loss) == (1.0, 0.5)
    assert told.workers and told.step and told.percent is not None
    assert "\x1b" not in run.stderr


def test_each_task_has_a_log_and_the_run_before_is_kept_aside(start: Start) -> None:
    assert start().wait() == 0
    run = start("--id", "2")
    assert run.wait() == 0

    logs = run.folder / "runs/job/logs"
    names = {f"{task}.log" for task in ("chief-0", "ps-0", "worker-0", "worker-1")}
    assert {log.name for log in logs.iterdir()} == names | {f"{name}.1" for name in names}
    for name in names:
        lines = (logs / name).read_text().splitlines()
        assert lines[0].startswith(f"=== {name.removesuffix('.log')} started 20")
        assert lines[1].endswith("says hello")


@pytest.mark.parametrize("task", ["ps-0", "worker-1", "chief-0"])
def test_a_task_that_is_killed_is_started_again_with_the_same_address(
    start: Start, task: str
) -> None:
    run = start(**forever())
    run.wait_until("running", running(run))
    before = json.loads((run.folder / "runs/job/config/cluster.json").read_text())

    os.kill(run.starts(task)[0]["pid"], signal.SIGKILL)
    run.wait_until("a second start", lambda: len(run.starts(task)) == 2)

    assert f"{task} was killed by SIGKILL; it is started again (1 of at most " in run.stderr
    one, two = run.starts(task)
    assert one["TF_CLUSTER_JOB_UID"] == two["TF_CLUSTER_JOB_UID"]
    assert one["TF_CLUSTER_POD_UID"] != two["TF_CLUSTER_POD_UID"]
    assert json.loads((run.folder / "runs/job/config/cluster.json").read_text()) == before
    others = {"ps-0", "worker-0", "worker-1", "chief-0"} - {task}
    assert all(len(run.starts(other)) == 1 for other in others)


def test_what_a_killed_supervisor_leaves_behind_is_ended(start: Start) -> None:
    run = start(**forever())
    run.wait_until("running", running(run))
    child = int((run.folder / "runs/job/data/worker-0.child").read_text())

    os.kill(run.starts("worker-0")[0]["pid"], signal.SIGKILL)
    run.wait_until("a second start", lambda: len(run.starts("worker-0")) == 2)

    assert not alive(child)


def test_exit_2_of_the_chief_fails_at_once_with_its_last_words(start: Start) -> None:
    run = start(**forever("chief-0:1:exit=2"))

    assert run.wait() == 2
    assert len(run.starts("chief-0")) == 1
    assert "job: failed: chief-0 ended with exit code 2" in run.stderr
    assert "the last lines of runs/job/logs/chief-0.log:" in run.stderr
    assert "  chief-0: the words before the end" in run.stderr
    assert run.stderr.rstrip().endswith("all logs are in runs/job/logs/")
    assert run.stdout == ""
    assert run.processes() == []


def test_a_worker_that_is_given_up_lets_the_chief_say_why(start: Start) -> None:
    run = start(
        **forever(
            "worker-0:1:exit=1", "chief-0:1:exit=2", extraValues={"worker": {"backoffLimit": 0}}
        )
    )

    assert run.wait() == 2
    assert "job: failed: chief-0 ended" in run.stderr


def test_exit_2_of_a_worker_shows_its_own_log(start: Start) -> None:
    run = start(**forever("worker-0:1:exit=2"))

    assert run.wait() == 2
    assert "job: failed: worker-0 ended with exit code 2" in run.stderr
    assert "the last lines of runs/job/logs/worker-0.log" in run.stderr


def test_a_chief_that_blames_a_worker_shows_the_workers_log_first(start: Start) -> None:
    # Both may have ended when the runner looks: then it takes the chief's end.
    run = start(**forever("chief-0:1:blames=worker-1"))

    assert run.wait() == 2
    told = run.stderr.partition("job: failed: chief-0 ended with exit code 2\n")[2]
    assert [line for line in told.splitlines() if not line.startswith("  ")] == [
        "worker-1 failed: no such option",
        "the last lines of runs/job/logs/worker-1.log:",
        "the last lines of runs/job/logs/chief-0.log:",
        "all logs are in runs/job/logs/",
    ]
    assert "  worker-1 says hello" in told


def test_a_chief_that_fails_again_and_again_ends_the_run_with_1(start: Start) -> None:
    run = start(**forever("chief-0:*:exit=1", extraValues={"chief": {"backoffLimit": 2}}))

    assert run.wait() == 1
    assert len(run.starts("chief-0")) == 3
    assert "it is started again (2 of at most 2)" in run.stderr


def test_a_task_that_was_asked_to_end_is_started_again_without_being_counted(start: Start) -> None:
    run = start(**forever("worker-0:1:exit=42", extraValues={"worker": {"backoffLimit": 0}}))

    run.wait_until("a second start", lambda: len(run.starts("worker-0")) == 2)
    run.wait_until("running", running(run))


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_a_signal_saves_ends_everything_and_says_so(
    start: Start, number: signal.Signals, code: int
) -> None:
    run = start(**forever())
    run.wait_until("running", running(run))

    run.send(number)

    assert run.wait() == code
    assert int((run.folder / "runs/job/1/step").read_text()) > 0
    assert "job: stopped at step " in run.stderr
    assert ": saved. The same command goes on from there." in run.stderr
    assert run.processes() == []


def test_a_run_that_was_stopped_goes_on_from_its_step(start: Start) -> None:
    first = start(train={"steps": 400}, flags={"steps_per_second": 100})
    first.wait_until("running", running(first))
    first.send(signal.SIGINT)
    first.wait()
    saved = int((first.folder / "runs/job/1/step").read_text())

    second = start(train={"steps": 400}, flags={"steps_per_second": 100})

    assert second.wait() == 0
    seen = [line for line in second.stderr.splitlines() if "running" in line]
    assert int(seen[0].partition("step ")[2].split()[0]) >= saved > 0


def test_a_chief_that_is_asked_to_stop_from_outside_ends_the_run_as_stopped(start: Start) -> None:
    run = start(**forever())
    run.wait_until("running", running(run))

    os.kill(run.starts("chief-0")[0]["pid"], signal.SIGTERM)

    assert run.wait() == 143
    assert "job: stopped at step" in run.stderr
    assert run.processes() == []


def test_a_chief_that_does_not_hear_is_killed_after_its_grace(start: Start) -> None:
    quick = {"chief": {"terminationGracePeriodSeconds": 1}}
    run = start(**forever("chief-0:1:deaf", extraValues=quick))
    run.wait_until("running", running(run))

    run.send(signal.SIGINT)

    assert run.wait(30) == 130
    assert "the chief did not say that it saved" in run.stderr
    assert run.processes() == []


WAYS = [{"strategy": "all-reduce"}, {"replication": "between-graph"}]
without_a_chief = pytest.mark.parametrize("way", WAYS, ids=["all-reduce", "between-graph"])


@without_a_chief
def test_a_run_without_a_chief_ends_with_worker_0s_result(
    start: Start, way: dict[str, str]
) -> None:
    run = start(workers=3, **way)

    assert run.wait() == 0, run.stderr
    assert "accuracy  0.9712" in run.stdout.splitlines()
    ps = int("strategy" not in way)
    assert f"job: training here with 3 worker(s), {ps} ps; logs in" in run.stderr
    cluster = json.loads((run.folder / "runs/job/config/cluster.json").read_text())
    wanted = {"worker": 3, **({"ps": 1} if ps else {})}
    for key in ("cluster", "status"):
        assert {kind: len(hosts) for kind, hosts in cluster[key].items()} == wanted
    training = json.loads((run.folder / "runs/job/config/training.json").read_text())
    assert training["replication"] == "between-graph"
    assert run.starts("chief-0") == []
    assert run.processes() == []


@without_a_chief
@pytest.mark.parametrize("task", ["worker-0", "worker-1"])
def test_a_worker_that_is_killed_is_started_again_without_a_chief(
    start: Start, way: dict[str, str], task: str
) -> None:
    run = start(**forever(**way))
    run.wait_until("running", running(run))

    os.kill(run.starts(task)[0]["pid"], signal.SIGKILL)
    run.wait_until("a second start", lambda: len(run.starts(task)) == 2)

    assert f"{task} was killed by SIGKILL; it is started again (1 of at most 20)" in run.stderr
    other = {"worker-0", "worker-1"} - {task}
    assert len(run.starts(other.pop())) == 1


@without_a_chief
def test_ctrl_c_lets_worker_0_save(start: Start, way: dict[str, str]) -> None:
    run = start(**forever(**way))
    run.wait_until("running", running(run))

    run.send(signal.SIGINT)

    assert run.wait() == 130
    assert int((run.folder / "runs/job/1/step").read_text()) > 0
    assert "stopping: worker-0 saves first" in run.stderr
    assert ": saved. The same command goes on from there." in run.stderr
    assert run.processes() == []


def test_worker_0_that_is_asked_to_stop_from_outside_ends_the_run_as_stopped(start: Start) -> None:
    run = start(**forever(strategy="all-reduce"))
    run.wait_until("running", running(run))

    os.kill(run.starts("worker-0")[0]["pid"], signal.SIGTERM)

    assert run.wait() == 143
    assert "job: stopped at step" in run.stderr
    assert len(run.starts("worker-0")) == 1


def test_another_worker_that_was_asked_to_end_is_started_again(start: Start) -> None:
    run = start(**forever("worker-1:1:exit=42", strategy="all-reduce"))

    run.wait_until("a second start", lambda: len(run.starts("worker-1")) == 2)
    run.wait_until("running", running(run))


def test_a_worker_that_is_given_up_lets_worker_0_say_why(start: Start) -> None:
    run = start(
        **forever(
            "worker-1:1:exit=1",
            "worker-0:1:exit=2",
            strategy="all-reduce",
            extraValues={"worker": {"backoffLimit": 0}},
        )
    )

    assert run.wait() == 2
    assert "job: failed: worker-0 ended" in run.stderr


def test_worker_0_that_does_not_hear_is_killed_after_its_grace(start: Start) -> None:
    quick = {role: {"terminationGracePeriodSeconds": 1} for role in ("chief", "worker")}
    run = start(**forever("worker-0:1:deaf", strategy="all-reduce", extraValues=quick))
    run.wait_until("running", running(run))

    run.send(signal.SIGINT)

    assert run.wait(30) == 130
    assert "worker-0 did not say that it saved" in run.stderr
    assert run.processes() == []


@pytest.mark.parametrize(
    ("replication", "chief", "worker", "seconds"),
    [("in-graph", 60, 90, 60), ("between-graph", 60, 90, 90), ("between-graph", 60, 30, 60)],
)
def test_worker_0_has_the_longer_of_the_two_times_to_save(
    replication: str, chief: int, worker: int, seconds: int
) -> None:
    grace = {"chief": chief, "worker": worker}
    values = {role: {"terminationGracePeriodSeconds": number} for role, number in grace.items()}

    assert seconds_to_save({"replication": replication, **values}) == seconds


def test_a_second_ctrl_c_ends_everything_at_once(start: Start) -> None:
    run = start(**forever("chief-0:1:deaf"))
    run.wait_until("running", running(run))
    run.send(signal.SIGINT)
    run.wait_until("the first is heard", lambda: "stopping:" in run.stderr)
    before = run.process.poll()

    def press_again() -> bool:
        run.send(signal.SIGINT)  # a wrapper may pass one press on twice: only later ones count
        return run.process.poll() is not None

    run.wait_until("the second is heard", press_again, 15)

    assert before is None
    assert run.wait() == 130
    assert run.processes() == []


def test_nothing_is_left_when_the_command_itself_is_killed(start: Start) -> None:
    run = start(**forever())
    run.wait_until("running", running(run))
    names = ("chief-0", "worker-0", "worker-1", "ps-0")
    run.wait_until("every task has started", lambda: all(map(run.starts, names)))

    run.process.kill()
    run.process.wait()

    tasks = [run.starts(name)[0]["pid"] for name in names]
    eventually("every task ends", lambda: not any(map(alive, tasks)))


def test_a_second_run_of_the_name_is_refused_with_the_first_ones_process(
    start: Start, tf_cluster: Command
) -> None:
    run = start(**forever())
    run.wait_until("running", running(run))

    second = tf_cluster(
        "run", "params.yaml", TF_CLUSTER_TRAINER=str(run.folder / "fake-tf-trainer")
    )

    assert second.returncode == 2
    assert f"job is being trained here already, by process {run.process.pid}" in second.stderr
    assert run.process.poll() is None
    assert len(run.starts("chief-0")) == 1


def test_no_free_port_is_told_and_starts_nothing(start: Start) -> None:
    run = start("--ports", "20000-20003")

    assert run.wait() == 2
    assert "no free port: 8 are needed, " in run.stderr
    assert "--ports FIRST-LAST" in run.stderr
    assert run.starts("chief-0") == []


def test_a_taken_port_is_passed_over(start: Start) -> None:
    with socket.socket() as holder:
        holder.bind(("", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        run = start("--ports", f"{taken}-{min(taken + 60, 65535)}")
        assert run.wait() == 0, run.stderr

    assert str(taken) not in (run.folder / "runs/job/config/cluster.json").read_text()


def test_a_missing_trainer_is_told_with_the_command_that_installs_it(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "params.yaml").write_text("name: job\nprogram: {module: 'p:C'}\n")
    lonely = tmp_path / "bin" / "python"
    lonely.parent.mkdir()
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.executable = {str(lonely)!r}\n")

    ran = tf_cluster("run", "params.yaml", PYTHONPATH=str(tmp_path), PATH="/nowhere")

    assert ran.returncode == 2
    assert "the trainer is not installed: no tf-trainer in" in ran.stderr
    assert "pip install tf-cluster-trainer" in ran.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--data", "nowhere"), "--data nowhere: there is no such directory"),
        (("--data", "params.yaml"), "--data params.yaml: it is a file: name the directory that"),
        (("--id", "logs"), "--id is 'logs', which `tf-cluster run` uses for a folder"),
        (("--id", "a b"), '--id is "a b", not letters'),
        (("--ports", "80"), "--ports is '80'"),
        (("--workers", "0"), "--workers"),
    ],
)
def test_an_option_that_can_not_be_used_exits_2(
    start: Start, options: tuple[str, str], message: str
) -> None:
    run = start(*options)

    assert run.wait() == 2
    assert message in run.stderr
    assert "Traceback" not in run.stderr


def test_ps_of_a_strategy_without_ps_are_refused(start: Start) -> None:
    run = start("--ps", "2", strategy="all-reduce")

    assert run.wait() == 2
    assert "--ps is set, but strategy all-reduce has no parameter servers" in run.stderr


def test_a_file_with_findings_starts_nothing_and_exits_1(start: Start) -> None:
    run = start(wrokers=3)

    assert run.wait() == 1
    assert "TFC201: unknown key 'wrokers'" in run.stderr
    assert not (run.folder / "runs").exists()


def test_program_paths_are_beside_the_params_file_or_in_the_data_directory(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    for path, place in [("code", tmp_path / "code"), ("/data/code", tmp_path / "mine" / "code")]:
        run = start(
            "--data", "mine", "--id", str(len(path)), program={"module": "p:C", "path": path}
        )
        assert run.wait() == 0, run.stderr
        training = json.loads((tmp_path / "runs/job/config/training.json").read_text())
        assert training["program"]["path"] == str(place)
        assert training["dirs"] == {"data": str(tmp_path / "mine"), "log": str(tmp_path / "runs")}


def test_the_run_ends_when_the_evaluator_has(start: Start) -> None:
    run = start(
        evaluator={"exportBest": {"metric": "loss: total", "mode": "min"}},
        flags={"evaluates": 3},
        preset="medium",
    )
    assert run.wait() == 0, run.stderr

    assert (
        "job: training is done; waiting for evaluator-0: evaluating the checkpoint of step 400"
    ) in run.stderr
    assert "accuracy  0.9712" in run.stdout
    (told,) = run.starts("evaluator-0")
    assert told["TF_CLUSTER_EXPORT_BEST"] == "min:loss: total"
    assert told["TF_CLUSTER_JOB_UID"] not in ("", run.starts("chief-0")[0]["TF_CLUSTER_JOB_UID"])
    cluster = json.loads((run.folder / "runs/job/config/cluster.json").read_text())
    assert set(cluster["cluster"]) == set(cluster["status"]) == {"ps", "worker", "chief"}
    assert told["TF_CLUSTER_STATUS"] not in str(cluster)
    assert run.processes() == []


def test_the_best_checkpoint_is_told(start: Start, tmp_path: Path) -> None:
    record = tmp_path / "runs/job/1/evaluations.json"  # the fake trainer writes none
    record.parent.mkdir(parents=True)
    export = str(tmp_path / "runs/job/1/best/3")
    best = {"metric": "accuracy", "mode": "max", "step": 300, "value": 0.97, "export": export}
    record.write_text(json.dumps({"version": 1, "evaluations": [], "best": best}))
    run = start(evaluator=True)
    assert run.wait() == 0, run.stderr
    assert "best      accuracy 0.9700 at step 300, runs/job/1/best/3" in run.stdout


@pytest.mark.parametrize(
    ("fault", "code", "how"), [("exit=2", 2, "exit code 2"), ("exit=1", 1, "exit code 1")]
)
def test_an_evaluator_that_fails_costs_the_run_its_exit_code_and_not_its_result(
    start: Start, fault: str, code: int, how: str
) -> None:
    run = start(
        evaluator=True,
        flags={"faults": [f"evaluator-0:*:{fault}"]},
        extraValues={"evaluator": {"backoffLimit": 0}},
    )
    assert run.wait() == code

    assert "accuracy  0.9712" in run.stdout
    assert f"evaluator-0 ended with {how}; training is not affected" in run.stderr
    assert run.stderr.splitlines()[-4:] == [
        f"job: the training is done, but evaluator-0 ended with {how}: not every checkpoint is "
        "evaluated. The same command evaluates what is left.",
        "the last lines of runs/job/logs/evaluator-0.log:",
        "  evaluator-0 says hello",
        "  evaluator-0: the words before the end",
    ]
    assert run.processes() == []


def test_an_evaluator_that_is_lost_after_the_training_is_started_again(start: Start) -> None:
    run = start(evaluator=True, flags={"evaluates": 600})
    run.wait_until("the wait", lambda: "waiting for evaluator-0" in run.stderr)
    os.kill(run.starts("evaluator-0")[0]["pid"], signal.SIGKILL)
    assert run.wait() == 0, run.stderr
    assert "evaluator-0 was killed by SIGKILL; it is started again (1 of at most 6)" in run.stderr
    assert len(run.starts("evaluator-0")) == 2
    assert len(run.starts("ps-0")) == 1


def test_ctrl_c_while_the_evaluator_is_awaited_keeps_the_result(start: Start) -> None:
    run = start(evaluator=True, flags={"evaluates": 600})
    run.wait_until("the wait", lambda: "waiting for evaluator-0" in run.stderr)
    run.send(signal.SIGINT)
    assert run.wait() == 130
    assert "accuracy  0.9712" in run.stdout
    assert "the training is done, but evaluator-0 was stopped" in run.stderr
    assert run.processes() == []


def test_a_script_is_beside_the_params_file_or_where_its_path_says(
    start: Start, tmp_path: Path
) -> None:
    (tmp_path / "mine").mkdir()
    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"script": "train.py"}, {"script": str(tmp_path / "train.py")}),
        ({"script": "/data/train.py"}, {"script": str(tmp_path / "mine" / "train.py")}),
        (
            {"script": "train.py", "path": "code", "args": ["-x"], "ps": "script"},
            {
                "script": "train.py",
                "path": str(tmp_path / "code"),
                "args": ["-x"],
                "ps": "script",
            },
        ),
    ]
    for number, (program, expected) in enumerate(cases):
        run = start("--data", "mine", "--id", str(number), program=program, train={})
        assert run.wait() == 0, run.stderr
        training = json.loads((tmp_path / "runs/job/config/training.json").read_text())
        assert training["program"] == {"args": [], "ps": "server", **expected}


def test_steps_are_no_option_of_a_script(start: Start) -> None:
    run = start("--steps", "5", program={"script": "train.py"}, train={})

    assert run.wait() == 2
    assert "--steps is set, but a script has settings of its own" in run.stderr


def test_a_terminal_gets_a_live_block_and_the_result_stays(start: Start, tmp_path: Path) -> None:
    start("--id", "2").wait()  # writes params.yaml
    leader, follower = pty.openpty()
    environment = {
        **os.environ,
        "TF_CLUSTER_TRAINER": str(tmp_path / "fake-tf-trainer"),
        "TERM": "xterm-256color",
        "COLUMNS": "120",
    }
    process = subprocess.Popen(
        tied_to_us(sys.executable, "-m", "tf_cluster", "run", "params.yaml"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=follower,
        env=environment,
    )
    os.close(follower)
    drawn = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        drawn += chunk
    os.close(leader)
    out, _ = process.communicate()

    assert process.returncode == 0
    assert b"accuracy  0.9712" in out
    text = drawn.decode()
    assert "━" in text
    assert "\x1b[" in text
    assert "of 400" in text
