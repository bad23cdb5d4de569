"""The run's id, which is the name of a folder."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import dotted

RESERVED_RUN_ID = Code(
    "TFC312",
    "a run id that `tf-cluster run` uses for its own folders",
    why=(
        "The run's directory would be the one that `tf-cluster run` keeps its logs, its data "
        "or its settings in."
    ),
    wrong="run: {id: logs}",
    right="run: {id: '2'}",
)

RUN_FOLDERS = ("config", "data", "lock", "logs")
"""Other entries of runs/<name>/, beside the directories of the runs."""


def check(params: Params) -> Iterator[Finding]:
    """A finding on an id that is the name of another folder."""
    run_id = params.value_at(("run", "id"))
    if run_id in RUN_FOLDERS:
        path = params.origin_of(("run", "id"))
        message = (
            f"{dotted(path)} is '{run_id}', which `tf-cluster run` uses for a folder of its own"
        )
        fix = "choose another id"
        yield params.finding(path, RESERVED_RUN_ID, message, run_id, fix)
