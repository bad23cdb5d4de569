"""Numbers given on the command line, over those of the params file."""

import copy
from collections.abc import Mapping
from typing import Any

from tf_cluster.checks.run_id import RUN_FOLDERS
from tf_cluster.exits import RefusedError
from tf_cluster.expand.roles import absent_roles
from tf_cluster.params.schema_files import values_schema
from tf_cluster.params.schema_violations import violations
from tf_cluster.pointer import Pointer


def overridden(
    values: Mapping[str, Any],
    *,
    workers: int | None = None,
    ps: int | None = None,
    steps: int | None = None,
    run_id: str | None = None,
) -> dict[str, Any]:
    """Values with what is not None put in. Raises RefusedError for what the chart would refuse."""
    changed = copy.deepcopy(dict(values))
    given: dict[Pointer, Any] = {
        ("worker", "replicas"): workers,
        ("ps", "replicas"): ps,
        ("train", "steps"): steps,
        ("run", "id"): run_id,
    }
    for path, value in given.items():
        if value is not None:
            inner: Any = changed
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = value
    wrong = [violation.message for violation in violations(changed, values_schema())]
    if run_id in RUN_FOLDERS:
        wrong.append(f"the run id '{run_id}' names a folder of `tf-cluster run`: choose another")
    if ps is not None and "ps" in absent_roles(changed):
        wrong.append(f"--ps {ps}: {absent_roles(changed)['ps']}")
    if steps is not None and changed["program"]["script"]:
        wrong.append(f"--steps {steps}: a script counts for itself; tell it by program.args")
    if wrong:
        raise RefusedError("; ".join(wrong))
    return changed
