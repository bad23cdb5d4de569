"""Finds the program that every task runs."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from tf_cluster.exits import RefusedError

COMMAND = "tf-trainer"
VARIABLE = "TF_CLUSTER_TRAINER"
"""Path of a trainer to use instead of the installed one."""


def trainer_command(environment: Mapping[str, str]) -> str:
    """$TF_CLUSTER_TRAINER, else `tf-trainer` beside this Python, else on PATH.

    Raises RefusedError if there is none.
    """
    chosen = environment.get(VARIABLE)
    if chosen:
        if not os.access(chosen, os.X_OK):
            raise RefusedError(f"{VARIABLE} is {chosen}, which is not a program")
        return str(Path(chosen).absolute())
    beside = Path(sys.executable).parent / COMMAND
    if os.access(beside, os.X_OK):
        return str(beside)
    found = shutil.which(COMMAND, path=environment.get("PATH"))
    if found:
        return found
    raise RefusedError(
        f"the trainer is not installed: no {COMMAND} in {beside.parent} or on PATH. "
        f"{sys.executable} -m pip install tf-cluster-trainer installs it; in a checkout of "
        "tf-cluster `make run` does"
    )
