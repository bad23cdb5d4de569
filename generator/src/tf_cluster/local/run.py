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
from tf_cluster.exits import RefusedError
from tf_cluster.files import STDIO, write_whole
from tf_cluster.local.display import display_for
from tf_cluster.local.lock import held
from tf_cluster.local.logs import set_aside
from tf_cluster.local.plan import (
    Folders,
    Task,
    TaskType,
    cluster_document,
    evaluator_variables,
    extra_variables,
    plan_tasks,
    ports_needed,
    seconds_to_save,
    training_document,
    variables_left_out,
)
from tf_cluster.local.ports import PortRange, Reservation, default_range
from tf_cluster.local.process import TaskProcess
from tf_cluster.local.progress import read_progress
from tf_cluster.local.result import tell_ending
from tf_cluster.local.signals import StopRequest
from tf_cluster.local.supervise import Ending, Limits, LocalRun
from tf_cluster.local.trainer_command import trainer_command

PS_RESTARTS = 20
"""A cluster starts ps pods again without end."""


def run_locally(
    values: Mapping[str, Any],
    *,
    params_file: str,
    runs: Path,
    data: Path | None,
    ports: PortRange | None = None,
) -> int:
    """Train as `values` (effective, checked) say and return the exit code of exits.py.

    Raises RefusedError for what this machine lacks: trainer, ports, folders.
    """
    command = trainer_command(os.environ)
    folders = _folders(values, runs, data)
    with held(folders.lock, folders.name):
        set_aside(folders.logs)
        attempt = uuid.uuid4().hex[:8]
        reservation = Reservation(ports_needed(values), ports or default_range())
        try:
            tasks = plan_tasks(values, reservation.ports)
            params_folder = (
                Path.cwd() if params_file == STDIO else Path(params_file).absolute().parent
            )
            _write_config(values, folders, tasks, attempt, params_folder)
        finally:
            reservation.release()
        processes = _processes(values, tasks, command, folders)
        return _train(values, folders, processes, attempt)


def _folders(values: Mapping[str, Any], runs: Path, data: Path | None) -> Folders:
    name = values["fullnameOverride"]
    root = runs.absolute() / name
    if data is not None and not data.is_dir():
        raise RefusedError(f"--data {data}: there is no such directory")
    folders = Folders(
        runs=runs.absolute(),
        name=name,
        run_id=values["run"]["id"],
        data=root / "data" if data is None else data.absolute(),
    )
    for folder in (folders.config, folders.logs, folders.data):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RefusedError(f"{folder}: can't be made: {error.strerror}") from error
    return folders


def _write_config(
    values: Mapping[str, Any],
    folders: Folders,
    tasks: list[Task],
    attempt: str,
    params_folder: Path,
) -> None:
    hint = f"each task's log is in {folders.logs}"
    documents = {
        "cluster.json": cluster_document(tasks, attempt, hint),
        "training.json": training_document(values, folders, params_folder),
    }
    for name, document in documents.items():
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        write_whole(folders.config / name, text)


def _environment(folders: Folders, extra: Mapping[str, str]) -> dict[str, str]:
    environment = {
        **os.environ,
        **extra,
        "TF_CLUSTER_CONFIG": str(folders.config),
        "TF_CLUSTER_DIE_WITH_PARENT": str(os.getpid()),
    }
    for variable in ("no_proxy", "NO_PROXY"):  # gRPC would ask a proxy for the loopback, too
        hosts = [environment[variable]] if environment.get(variable) else []
        environment[variable] = ",".join([*hosts, "127.0.0.1", "localhost"])
    return environment


def _processes(
    values: Mapping[str, Any],
    tasks: list[Task],
    command: str,
    folders: Folders,
) -> list[TaskProcess]:
    job_uids = {kind: str(uuid.uuid4()) for kind in ("chief", "worker", "evaluator")}
    return [
        TaskProcess(
            task,
            command=command,
            log=folders.logs / f"{task.name}.log",
            environment={
                **_environment(folders, extra_variables(values, task.type)),
                "TF_CLUSTER_JOB_UID": job_uids.get(task.type, ""),
                **(evaluator_variables(values, task) if task.type == "evaluator" else {}),
            },
        )
        for task in tasks
    ]


def _train(
    values: Mapping[str, Any], folders: Folders, processes: list[TaskProcess], attempt: str
) -> int:
    stop = StopRequest()
    stop.install()
    display = display_for(folders.name, sys.stderr, time.monotonic)
    kinds = [process.task.type for process in processes]
    chief = "1 chief, " if "chief" in kinds else ""
    evaluator = ", 1 evaluator" if "evaluator" in kinds else ""
    display.say(
        f"training here with {chief}{kinds.count('worker')} worker(s), {kinds.count('ps')} ps"
        f"{evaluator}; "
        f"logs in {os.path.relpath(folders.logs)}/"
    )
    left_out = variables_left_out(values)
    if left_out:
        display.say(f"not set here, since Kubernetes would fill it in: {', '.join(left_out)}")
    limits: dict[TaskType, int] = {
        "chief": values["chief"]["backoffLimit"],
        "worker": values["worker"]["backoffLimit"],
        "ps": PS_RESTARTS,
        "evaluator": values["evaluator"]["backoffLimit"],
    }
    run = LocalRun(
        processes,
        attempt=attempt,
        limits=Limits(
            limits,
            client_seconds=seconds_to_save(values),
            workers_seconds=values["cleanup"]["workersTimeoutSeconds"],
        ),
        display=display,
        stop=stop,
    )
    try:
        ending = run.supervise()
    finally:
        run.end_all()
        stop.ignore()
        display.close()
    last = read_progress(folders.run, attempt) or ending.progress
    ending = replace(ending, progress=last)
    return exit_code(ending, stop.signal, tell_ending(ending, folders))


def exit_code(ending: Ending, stop_signal: int | None, good: bool) -> int:
    """0 done; 2 configuration or program error; 1 failed; 128 + signal stopped.

    A training that is done, but whose evaluator is not, has the exit code of that.
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
