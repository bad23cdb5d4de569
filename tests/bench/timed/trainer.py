"""tf-trainer with a stopwatch in the chief: what its supervisor tells, and what its child does."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from stopwatch import Stopwatch
from tf_cluster_trainer.supervisor import main
from tf_cluster_trainer.supervisor.status import report
from tf_cluster_trainer.supervisor.status import server as status_server


def supervise() -> int:
    if os.environ.get("TF_CLUSTER_TASK_TYPE") != "chief":
        return main.supervise(os.environ, main.CHILD_COMMAND)
    stopwatch = Stopwatch("supervisor")
    stopwatch.watch(report.Report, "hear", "update", "publish")
    stopwatch.watch(status_server._Visit, "do_GET")
    child = str(Path(__file__).with_name("child.py"))
    return main.supervise(os.environ, (sys.executable, child))


sys.exit(supervise())
