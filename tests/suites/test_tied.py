"""A test run that is killed leaves nothing behind: what it has started ends with it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import alive
from tests.support.waiting import eventually

ROOT = Path(__file__).resolve().parents[2]
# Each is to its processes what pytest is: starts them, prints their pids and waits.
SUPERVISORS = """
from tests.trainer.supervisor.supervisors import Supervisors
for task in Supervisors(here).start_all():
    print(task.process.pid, task.child(1))
"""
CHILDREN = """
from tests.support.children import Children
for child in Children(here, workers=1, ps=1).serve().values():
    print(child.process.pid)
"""
LOCAL_RUN = """
from tests.generator.local.local_run import LocalRunInTest, fake_trainer
params = "name: a\\nprogram: {module: 'p.m:C'}\\ntrain: {steps: 100000}\\n"
(here / "params.yaml").write_text(params)
run = LocalRunInTest(here, trainer=fake_trainer(here))
tasks = ("chief-0", "worker-0", "worker-1", "ps-0")
run.wait_until("all tasks", lambda: all(map(run.starts, tasks)))
print(run.process.pid, *(run.starts(task)[0]["pid"] for task in tasks))
"""


@pytest.mark.parametrize(
    "program", [SUPERVISORS, CHILDREN, LOCAL_RUN], ids=["supervisors", "children", "local-run"]
)
def test_what_a_killed_test_run_has_started_ends_with_it(program: str, tmp_path: Path) -> None:
    before = "import sys; from pathlib import Path; here = Path(sys.argv[1])"
    after = "print(flush=True); sys.stdin.read()"
    with subprocess.Popen(
        (sys.executable, "-c", "\n".join((before, program, after)), tmp_path),
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        pids = [int(pid) for line in iter(run.stdout.readline, "\n") for pid in line.split()]
        assert len(pids) > 1 and all(map(alive, pids))

        run.kill()

        eventually(f"the end of all of {pids}", lambda: not any(map(alive, pids)))
    # What stands for a process that a task has left behind is nobody's, and would end by itself.
    for left in tmp_path.glob("runs/*/data/*.child"):
        os.kill(int(left.read_text()), signal.SIGKILL)
