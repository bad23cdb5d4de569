"""How to start a user's script: its command line, environment and directory.

A script runs unchanged, so it gets what such scripts expect: TF_CONFIG, which TensorFlow's cluster
resolvers read, and the host lists, job name and index that 1.x programs take as flags. Imports no
TensorFlow.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from .config import Config, ConfigError, Script

# `$$` is a dollar sign, `$(NAME)` a value, anything else is itself: as Kubernetes has it.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")


@dataclass(frozen=True)
class ScriptStart:
    """A script's command and environment; it runs in `directory`."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    directory: Path


def script_start(config: Config, environment: Mapping[str, str]) -> ScriptStart:
    """How this task starts its script; `environment` is what the script gets beside our variables.

    Raises ConfigError for a missing script and for a reference to an unknown name.
    """
    script = config.settings.script
    if script is None:
        raise ValueError("this program is not a script")
    values = variables(config)
    args = expanded(script.args, values)
    path, directory = _place(script, config.settings.program_path)
    own = {**environment, **values, "TF_CONFIG": tf_config(config)}
    own.setdefault("PYTHONUNBUFFERED", "1")  # what it prints is in the log when it prints it
    own.setdefault("GRPC_FAIL_FAST", "use_caller")  # else a chief waits for a killed task
    if config.settings.program_path:
        before = own.get("PYTHONPATH")
        own["PYTHONPATH"] = f"{directory}{os.pathsep}{before}" if before else str(directory)
    return ScriptStart((sys.executable, str(path), *args), own, directory)


def variables(config: Config) -> dict[str, str]:
    """The variables for scripts of the 1.x style, which its arguments may use too."""
    hosts = config.cluster.cluster
    return {
        "PS_HOSTS": ",".join(hosts.get("ps", ())),
        "WORKER_HOSTS": ",".join(hosts.get("worker", ())),
        "JOB_NAME": config.task.type,
        "TASK_INDEX": str(config.task.index),
        "DATA_DIR": str(config.settings.data_dir),
        "LOG_DIR": str(config.settings.run_dir),
    }


def tf_config(config: Config) -> str:
    """TF_CONFIG as TensorFlow reads it: the cluster without an evaluator, and this task."""
    task = {"type": config.task.type, "index": config.task.index}
    return json.dumps({"cluster": config.cluster.spec(), "task": task})


def expanded(args: tuple[str, ...], values: Mapping[str, str]) -> tuple[str, ...]:
    """Replace each $(NAME) in the arguments. Raises ConfigError for an unknown name."""

    def value(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return "$"
        if name not in values:
            raise ConfigError(
                f"training.json: /program/args: $({name}) is not known; these are: "
                f"{', '.join(f'$({known})' for known in values)}. $$({name}) is the text itself"
            )
        return values[name]

    return tuple(_REFERENCE.sub(value, arg) for arg in args)


def _place(script: Script, program_path: str) -> tuple[Path, Path]:
    """The script and the directory it runs in: program.path, else the script's own."""
    path = Path(program_path, script.path)
    if not path.is_absolute():
        raise ConfigError(
            f"program.script is {script.path}, which is neither absolute nor below a program.path: "
            "where is it?"
        )
    if not path.is_file():
        raise ConfigError(f"program.script: there is no file {path}")
    return path, Path(program_path) if program_path else path.parent
