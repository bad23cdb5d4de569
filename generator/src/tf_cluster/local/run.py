"""One local run from effective values to its exit code."""

import json
import os
import sys
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tf_cluster import exits
from tf_cluster.files import STDIO, write_whole
from tf_cluster.local.display import display_for
from tf_cluster.local.folders import make_folders
from tf_cluster.local.lock import held
from tf_cluster.local.logs import set_aside
from tf_cluster.local.plan import LocalPlan, plan_run, ports_needed
from tf_cluster.local.ports import PortRange, Reservation, default_range
from tf_cluster.local.process import TaskProcess
from tf_cluster.local.result import tell_ending
from tf_cluster.local.signals import StopRequest
from tf_cluster.local.supervise import Ending, LocalRun
from tf_cluster.local.trainer_command import trainer_command
from tf_cluster.progress.document import read_progress


def run_locally(
    values: Mapping[str, Any],
    *,
    params_file: str,
    runs: Path,
    data: Path | None,
    ports: PortRange | None = None,
) -> int:
    """Train with `values` (effective, checked) and return an exit code of exits.py.

    Raises RefusedError if this machine lacks the trainer, ports or folders.
    """
    command = trainer_command(os.environ)
    params_folder = Path.cwd() if params_file == STDIO else Path(params_file).absolute().parent
    folders = make_folders(values, runs, data)
    with held(folders.lock, folders.name):
        set_aside(folders.logs)
        reservation = Reservation(ports_needed(values), ports or default_range())
        try:
            plan = plan_run(
                values,
                attempt=uuid.uuid4().hex[:8],
                folders=folders,
                ports=reservation.ports,
                params_folder=params_folder,
            )
            _write_documents(plan)
        finally:
            reservation.release()
        return _train(plan, _processes(plan, command))


def _write_documents(plan: LocalPlan) -> None:
    for name, document in plan.documents.items():
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(plan.folders.config / name, text)


def _processes(plan: LocalPlan, command: str) -> list[TaskProcess]:
    job_uids = {kind: str(uuid.uuid4()) for kind in ("chief", "worker", "evaluator")}
    return [
        TaskProcess(
            planned.task,
            command=command,
            log=plan.folders.logs / f"{planned.task.name}.log",
            environment={
                **_environment(plan, planned.variables),
                "TF_CLUSTER_JOB_UID": job_uids.get(planned.task.type, ""),
            },
        )
        for planned in plan.tasks
    ]


def _environment(plan: LocalPlan, variables: Mapping[str, str]) -> dict[str, str]:
    """The caller's environment, overridden by the task's variables."""
    environment = {
        **os.environ,
        **variables,
        "TF_CLUSTER_CONFIG": str(plan.folders.config),
        "TF_CLUSTER_DIE_WITH_PARENT": str(os.getpid()),
    }
    for variable in ("no_proxy", "NO_PROXY"):  # gRPC would use a proxy even for the loopback
        hosts = [environment[variable]] if environment.get(variable) else []
        environment[variable] = ",".join([*hosts, "127.0.0.1", "localhost"])
    return environment


def _train(plan: LocalPlan, processes: list[TaskProcess]) -> int:
    stop = StopRequest()
    stop.install()
    folders = plan.folders
    display = display_for(folders.name, sys.stderr, time.monotonic)
    chief = "1 chief, " if plan.count("chief") else ""
    evaluator = ", 1 evaluator" if plan.count("evaluator") else ""
    display.say(
        f"training here with {chief}{plan.count('worker')} worker(s), {plan.count('ps')} ps"
        f"{evaluator}; "
        f"logs in {os.path.relpath(folders.logs)}/"
    )
    if plan.left_out:
        display.say(f"not set here, since Kubernetes would fill it in: {', '.join(plan.left_out)}")
    run = LocalRun(processes, attempt=plan.attempt, limits=plan.limits, display=display, stop=stop)
    try:
        ending = run.supervise()
    finally:
        run.end_all()
        stop.ignore()
        display.close()
    last = read_progress(folders.run, plan.attempt) or ending.progress
    ending = replace(ending, progress=last)
    return exit_code(ending, stop.signal, tell_ending(ending, folders))


def exit_code(ending: Ending, stop_signal: int | None, good: bool) -> int:
    """0 done; 2 configuration or program error; 1 failed; 128 + signal stopped.

    If the training is done but its evaluation failed, the code is the evaluator's.
    """
    if ending.kind == "done" and ending.evaluator is not None:
        if stop_signal and ending.evaluator.exit_code != 2:
            return 128 + stop_signal
        return exits.TROUBLE if ending.evaluator.exit_code == 2 else exits.FINDINGS
    if ending.kind == "done":
        return exits.GOOD if good else exits.FINDINGS
    if ending.kind == "stopped":
        return 128 + stop_signal if stop_signal else exits.TERMINATED
    return exits.TROUBLE if ending.exit_code == 2 else exits.FINDINGS
