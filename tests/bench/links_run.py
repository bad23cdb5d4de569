"""Trainings whose tasks each have a link of their own: ours, and by hand."""

from __future__ import annotations

import json
import os
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_cluster.check import check
from tf_cluster.local.folders import make_folders
from tf_cluster.local.plan import LocalPlan, plan_run, ports_needed
from tf_cluster.local.trainer_command import trainer_command

from tests.bench import processes
from tests.bench.hand_run import PORT, ByHand, Program
from tests.bench.links import Links
from tests.bench.ours_run import Ours
from tests.bench.training import quiet_environment


class ByHandOnLinks(ByHand):
    """A program by hand."""

    def __init__(self, program: Program) -> None:
        self.links = Links(program.tasks)
        super().__init__(program, self.links)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.links.remove()


class OursOnLinks(Ours):
    """The tasks that `tf-cluster run` would start for these params; none is started again."""

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        self.links.remove()

    def tasks(self) -> dict[str, list[int]]:
        return {
            planned.task.name: processes.tree(process.pid)
            for planned, process in zip(self._plan.tasks, self.processes(), strict=True)
        }

    def _start(self, trainer: Path | None, data: Path | None) -> Sequence[subprocess.Popen[bytes]]:
        self._plan = plan = planned_run(self.folder)
        self.links = Links([planned.task.name for planned in plan.tasks])
        for name, document in on_hosts(plan, self.links).items():
            (plan.folders.config / name).write_text(json.dumps(document))
        command = trainer_command(os.environ)
        jobs = {planned.task.type: str(uuid.uuid4()) for planned in plan.tasks}
        started = []
        for planned in plan.tasks:
            task = planned.task
            with (plan.folders.logs / f"{task.name}.log").open("wb") as log:
                started.append(
                    subprocess.Popen(
                        self.links.inside(task.name, command),
                        cwd=self.folder,
                        env={
                            **quiet_environment(),
                            **planned.variables,
                            "TMPDIR": str(self.folder),
                            "TF_CLUSTER_CONFIG": str(plan.folders.config),
                            "TF_CLUSTER_DIE_WITH_PARENT": str(os.getpid()),
                            "TF_CLUSTER_TASK_TYPE": task.type,
                            "TF_CLUSTER_TASK_INDEX": str(task.index),
                            "TF_CLUSTER_JOB_UID": jobs[task.type],
                            "TF_CLUSTER_POD_UID": str(uuid.uuid4()),
                        },
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
        return started


def planned_run(folder: Path) -> LocalPlan:
    """The run of params.yaml there, each task on the same two ports: each has its own host."""
    raw = (folder / "params.yaml").read_bytes()
    checked = check("params.yaml", raw, for_cluster=False)
    if not checked.good:
        raise ValueError("; ".join(finding.words for finding in checked.findings))
    values = checked.values.effective
    return plan_run(
        values,
        attempt=uuid.uuid4().hex[:8],
        folders=make_folders(values, folder / "runs", None),
        ports=[PORT, PORT + 1] * (ports_needed(values) // 2),
        params_folder=folder,
    )


def on_hosts(plan: LocalPlan, links: Links) -> Mapping[str, Mapping[str, Any]]:
    """The plan's documents, with the address of each task's link for the loopback."""
    cluster = dict(plan.documents["cluster.json"])
    for section, port in (("cluster", PORT), ("status", PORT + 1)):
        cluster[section] = {
            kind: [f"{links.host(f'{kind}-{index}')}:{port}" for index in range(len(addresses))]
            for kind, addresses in cluster[section].items()
        }
    return {**plan.documents, "cluster.json": cluster}
