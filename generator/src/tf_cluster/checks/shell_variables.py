"""Variables in a script's arguments, written as a shell has them."""

import re
from collections.abc import Iterator

from tf_cluster.checks.script import VARIABLES
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

SHELL_VARIABLE = Code(
    "TFC413",
    "a variable that only a shell would fill in (advice)",
    why=(
        "No shell reads the arguments of a script: it gets the very characters $LOG_DIR. "
        "Kubernetes fills in $(LOG_DIR), and so does `tf-cluster run`."
    ),
    wrong="program: {script: /data/train.py, args: ['--log_dir=$LOG_DIR']}",
    right="program: {script: /data/train.py, args: ['--log_dir=$(LOG_DIR)']}",
)

_ARGS: Pointer = ("program", "args")
_NAME = "|".join(VARIABLES)
_SHELL = re.compile(rf"(?<!\$)\$(?:\{{({_NAME})\}}|({_NAME})(?![A-Za-z0-9_]))")


def check(params: Params) -> Iterator[Finding]:
    """Advice on each argument that has a variable as a shell writes it."""
    for index, arg in enumerate(params.value_at(_ARGS) or []):
        match = None if " " in arg else _SHELL.search(arg)  # with blanks: a shell's own line
        if match:
            where = (*params.origin_of(_ARGS), index)
            message = f"{match[0]} in {dotted(where)} stays as it is: no shell reads it"
            fix = f"write $({match[1] or match[2]})"
            yield params.finding(where, SHELL_VARIABLE, message, match[0], fix, "advice")
