"""The two files that every task reads: cluster.json and training.json (docs/formats.md)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_cluster.expand.source import source_document
from tf_cluster.local.folders import Folders
from tf_cluster.local.task import LOOPBACK, Task, serves

PEERS_DEADLINE_SECONDS = 300
"""An upper limit. A cluster waits longer, because pods may have to wait for a node."""


def cluster_document(tasks: Sequence[Task], attempt: str, hint: str) -> dict[str, Any]:
    """cluster.json of these tasks, without the evaluator: no task waits for it."""
    tasks = [task for task in tasks if serves(task.type)]
    kinds = list(dict.fromkeys(task.type for task in tasks))
    return {
        "version": 1,
        "attempt": attempt,
        "cluster": {
            kind: [f"{LOOPBACK}:{task.port}" for task in tasks if task.type == kind]
            for kind in kinds
        },
        "status": {
            kind: [task.status_address for task in tasks if task.type == kind] for kind in kinds
        },
        "hint": hint,
    }


def training_document(
    values: Mapping[str, Any], folders: Folders, params_folder: Path
) -> dict[str, Any]:
    """training.json of effective values. Relative program paths are relative to the params file."""
    return {
        "version": 1,
        "run": {"name": folders.name, "id": folders.run_id},
        "program": _program(values, folders, params_folder),
        **{key: values[key] for key in ("strategy", "replication", "update")},
        "train": values["train"],
        "flags": values["flags"],
        "dirs": {"data": str(folders.data), "log": str(folders.runs)},
        "ps": {"logVolume": values["ps"].get("logVolume", "auto")},
        "peers": {
            "deadlineSeconds": min(values["peers"]["deadlineSeconds"], PEERS_DEADLINE_SECONDS)
        },
        "failure": dict(values["failure"]),
    }


def _program(values: Mapping[str, Any], folders: Folders, params_folder: Path) -> dict[str, Any]:
    program, source = values["program"], source_document(values)
    path, script = program.get("path"), program.get("script")
    if not source:
        if script and not path:
            script = str(_program_path(script, folders, params_folder))
        if path:
            path = str(_program_path(path, folders, params_folder))
    return {
        **(
            {"script": script, "args": program["args"], "ps": program["ps"]}
            if script
            else {"module": program["module"]}
        ),
        **({"path": path} if path else {}),
        **({"source": source} if source else {}),
    }


def _program_path(path: str, folders: Folders, params_folder: Path) -> Path:
    """In a pod the data volume is /data; here it is the data directory."""
    if path == "/data" or path.startswith("/data/"):
        return folders.data / path.removeprefix("/data").lstrip("/")
    return params_folder / path
