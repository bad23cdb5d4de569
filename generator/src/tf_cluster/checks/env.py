"""Variables of `extraEnv`. Reserved ones cannot be overridden, locally either."""

from collections.abc import Iterator

from tf_cluster.checks.script import VARIABLES as SCRIPT_VARIABLES
from tf_cluster.expand.roles import POD_SECTIONS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer

RESERVED_VARIABLE = Code(
    "TFC314",
    "an environment variable that the chart or Kubernetes sets",
    why=(
        "The chart or Kubernetes sets it, and one of the two values would be lost. These are "
        "TF_CONFIG, GRPC_FAIL_FAST, JOB_COMPLETION_INDEX, JUPYTER_TOKEN, NOTEBOOK_DIR and "
        "TF_CLUSTER_*; of a script also PS_HOSTS and the other variables that it is told by."
    ),
    wrong="extraValues: {worker: {extraEnv: [{name: TF_CONFIG, value: '{}'}]}}",
    right="extraValues: {worker: {extraEnv: [{name: MY_CONFIG, value: '{}'}]}}",
)
VARIABLE_TWICE = Code(
    "TFC315",
    "an environment variable stands twice",
    why="Kubernetes takes the last one and says nothing.",
    wrong="extraValues: {ps: {extraEnv: [{name: MODE, value: a}, {name: MODE, value: b}]}}",
    right="extraValues: {ps: {extraEnv: [{name: MODE, value: b}]}}",
)

RESERVED_VARIABLES = ("TF_CONFIG", "JOB_COMPLETION_INDEX", "GRPC_FAIL_FAST")
RESERVED_VARIABLE_PREFIX = "TF_CLUSTER_"
NOTEBOOK_VARIABLES = {
    "JUPYTER_TOKEN": "put the token into a Secret, and name that in notebook.token.existingSecret",
    "NOTEBOOK_DIR": "leave it out: notebooks and their token are kept on the log volume",
}
"""What the chart tells JupyterLab, and what to do instead. A token in a manifest is no secret."""


def check(params: Params) -> Iterator[Finding]:
    """Findings on reserved names and on duplicate names."""
    reserved = {*RESERVED_VARIABLES, *NOTEBOOK_VARIABLES}
    if params.value_at(("program", "script")):
        reserved |= set(SCRIPT_VARIABLES)
    for role in POD_SECTIONS:
        path: Pointer = (role, "extraEnv")
        seen = set()
        for i, entry in enumerate(params.value_at(path) or []):
            name = entry["name"]
            where = (*params.origin_of(path), i, "name")
            if name in reserved or name.startswith(RESERVED_VARIABLE_PREFIX):
                message = f"{role}.extraEnv sets {name}, which the chart or Kubernetes sets"
                fix = NOTEBOOK_VARIABLES.get(name, "take another name")
                code = RESERVED_VARIABLE
                yield params.finding(where, code, message, name, fix)
            elif name in seen:
                message = f"{role}.extraEnv has {name} twice"
                fix = "keep one of them"
                yield params.finding(where, VARIABLE_TWICE, message, name, fix)
            seen.add(name)
