"""Reads cluster.json, training.json and this task's place in them.

docs/formats.md describes the formats; the schemas define them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from pathlib import Path, PurePosixPath
from typing import Any, get_args

import jsonschema

from .combination import COMBINATIONS, Combination, TaskType, combination
from .settings import (
    CheckpointCadence,
    Cluster,
    Config,
    ConfigError,
    Download,
    ExportBest,
    Files,
    GitCommit,
    Mode,
    Optimizer,
    Schedule,
    Script,
    Settings,
    Source,
    Task,
)

# From a supervisor to its child: the directory that program.source was fetched into.
CODE_VARIABLE = "TF_CLUSTER_CODE"
DEFAULT_CONFIG_DIR = "/etc/tf-cluster"


def load(environment: Mapping[str, str]) -> Config:
    """Read the two files that the environment names, and this task's place in them.

    Raises ConfigError for a missing or malformed file, or for a task that is not in the cluster.
    """
    directory = Path(environment.get("TF_CLUSTER_CONFIG", DEFAULT_CONFIG_DIR))
    cluster = read_cluster(directory)
    training = _document(directory / "training.json", "training")
    task = _task(environment, cluster)
    export_best = None
    if task.type == "evaluator":
        cluster = _with_evaluator(cluster, environment.get("TF_CLUSTER_STATUS", ""))
        export_best = _export_best(environment.get("TF_CLUSTER_EXPORT_BEST", ""))
    settings = _settings(training, environment.get(CODE_VARIABLE, ""))
    return Config(task, cluster, settings, training["flags"], training, export_best)


def read_cluster(directory: Path) -> Cluster:
    """The tasks of the cluster.json in a directory. Raises ConfigError."""
    return _cluster(_document(directory / "cluster.json", "cluster"))


def _document(path: Path, schema_name: str) -> Any:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path}: {error.strerror}; the chart mounts it, `tf-cluster run` writes it, "
            "TF_CLUSTER_CONFIG names its directory"
        ) from None
    except ValueError as error:
        raise ConfigError(f"{path}: not JSON: {error}") from None
    schema = json.loads(
        resources.files("tf_cluster_trainer")
        .joinpath(f"schemas/{schema_name}.schema.json")
        .read_text(encoding="utf-8")
    )
    errors = sorted(
        jsonschema.Draft7Validator(schema).iter_errors(document), key=lambda e: e.json_path
    )
    if errors:
        lines = (
            f"{path}: /{'/'.join(str(p) for p in e.absolute_path)}: "
            # The validator has no readable message for a choice of forms, so the schema has one.
            f"{e.schema['x-form'] if e.validator == 'oneOf' else e.message}"
            for e in errors
        )
        raise ConfigError("\n".join(lines))
    return document


def _cluster(document: Any) -> Cluster:
    hosts = {
        key: {kind: _addresses(said) for kind, said in document[key].items()}
        for key in ("cluster", "status")
    }
    for kind, addresses in hosts["cluster"].items():
        if len(hosts["status"].get(kind, ())) != len(addresses):
            raise ConfigError(
                f"cluster.json: /status/{kind}: one address for each of /cluster/{kind}"
            )
    return Cluster(document["attempt"], hosts["cluster"], hosts["status"], document.get("hint", ""))


def _addresses(said: Any) -> tuple[str, ...]:
    """A list as it is; a count and a pattern as the address of each index."""
    if isinstance(said, list):
        return tuple(said)
    addresses = [said["address"].replace("{}", str(index)) for index in range(said["count"])]
    if "first" in said:
        addresses[0] = said["first"]
    return tuple(addresses)


def _settings(document: Any, fetched: str) -> Settings:
    run, program, train = document["run"], document["program"], _given(document["train"])
    optimizer, checkpoint = train["optimizer"], train["checkpoint"]
    log_on_ps = document.get("ps", {}).get("logVolume", "auto")
    return Settings(
        run_name=run["name"],
        run_id=run["id"],
        module=program.get("module", ""),
        script=_script(program),
        source=_source(program.get("source")),
        program_path=_program_path(program, fetched),
        idle_seconds=program.get("interactive", {}).get("idleSeconds"),
        combination=_combination(document),
        steps=train["steps"],
        batch_size=train["batchSize"],
        micro_batches=train.get("microBatches", 1),
        steps_per_call=train.get("stepsPerCall"),
        seed=train["seed"],
        precision=train.get("precision", "float32"),
        xla=train.get("xla", False),
        optimizer=Optimizer(
            optimizer["name"],
            float(optimizer["learningRate"]),
            optimizer.get("momentum"),
            _schedule(optimizer.get("schedule"), train["steps"]),
        ),
        checkpoint=CheckpointCadence(
            float(checkpoint["seconds"]), checkpoint.get("steps"), checkpoint["keep"]
        ),
        report_seconds=float(train["reportSeconds"]),
        data_dir=Path(document["dirs"]["data"]),
        log_dir=Path(document["dirs"]["log"]),
        ps_log_volume={"auto": None}.get(log_on_ps, log_on_ps),
        peer_deadline_seconds=float(document["peers"]["deadlineSeconds"]),
        restarts=document["failure"]["restarts"],
        final_state_seconds=float(document["failure"]["finalStateSeconds"]),
    )


def _given(section: Mapping[str, Any]) -> dict[str, Any]:
    """A section without its nulls, at any depth: null means that the key is not given."""
    return {
        key: _given(value) if isinstance(value, Mapping) else value
        for key, value in section.items()
        if value is not None
    }


def _combination(document: Any) -> Combination:
    words = (document["strategy"], document["replication"], document["update"])
    row = combination(*words)
    if row is None:
        raise ConfigError(
            f"training.json: /strategy, /replication, /update: {'/'.join(words)} do not go "
            f"together; these do: {', '.join(valid.name for valid in COMBINATIONS)}"
        )
    return row


def _script(program: Mapping[str, Any]) -> Script | None:
    if "script" not in program:
        return None
    args = tuple(program.get("args", ()))
    return Script(program["script"], args, program.get("ps", "server") == "script")


def _source(document: Any) -> Source | None:
    if document is None:
        return None
    if "files" in document:
        return Files(document["files"])
    secret = document.get("secretName", "")
    if "url" in document:
        return Download(document["url"], document["sha256"], secret)
    return GitCommit(document["git"], document["commit"], secret)


def _program_path(program: Mapping[str, Any], fetched: str) -> str:
    path: str = program.get("path", "")
    if "source" not in program:
        return path
    inside = PurePosixPath(path)
    if inside.is_absolute() or ".." in inside.parts:
        raise ConfigError(
            f"training.json: /program/path is {path}, but with a source it is a directory in that"
        )
    return str(Path(fetched, inside)) if fetched else path


def _schedule(document: Any, total: int) -> Schedule | None:
    """Defaults: the decay takes the rest of the run and ends at 0."""
    if document is None:
        return None
    warmup = document.get("warmupSteps", 0)
    if document["name"] == "constant" and not warmup:
        return None
    return Schedule(
        name=document["name"],
        decay_steps=document.get("decaySteps", max(1, total - warmup)),
        end_factor=float(document.get("endFactor", 0.0)),
        warmup_steps=warmup,
    )


def _task(environment: Mapping[str, str], cluster: Cluster) -> Task:
    kind = environment.get("TF_CLUSTER_TASK_TYPE", "")
    if kind not in get_args(TaskType):
        raise ConfigError(
            f"TF_CLUSTER_TASK_TYPE is {kind!r}, not one of {', '.join(get_args(TaskType))}"
        )
    text = environment.get("TF_CLUSTER_TASK_INDEX", environment.get("JOB_COMPLETION_INDEX", "0"))
    if kind == "evaluator" and text != "0":
        raise ConfigError(f"task {kind} {text}: there is one evaluator, 0")
    if kind != "evaluator" and (not text.isdecimal() or int(text) >= cluster.size(kind)):
        raise ConfigError(
            f"task {kind} {text}: cluster.json has {cluster.size(kind)} of this type, from 0"
        )
    return Task(
        kind,  # type: ignore[arg-type]  # checked above
        int(text),
        environment.get("TF_CLUSTER_JOB_UID", ""),
        environment.get("TF_CLUSTER_POD_UID", ""),
    )


def _with_evaluator(cluster: Cluster, address: str) -> Cluster:
    """Add the evaluator: it is in no cluster.json, so it can come and go beside a training."""
    if not re.fullmatch(r"[A-Za-z0-9.-]+:[0-9]{1,5}", address):
        raise ConfigError(
            f"TF_CLUSTER_STATUS is {address!r}: the evaluator's status server needs a host:port"
        )
    return replace(cluster, status={**cluster.status, "evaluator": (address,)})


def _export_best(text: str) -> ExportBest | None:
    if not text:
        return None
    mode, _, metric = text.partition(":")
    if mode not in get_args(Mode) or not metric:
        raise ConfigError(f"TF_CLUSTER_EXPORT_BEST is {text!r}, not max:<metric> or min:<metric>")
    return ExportBest(metric, mode)  # type: ignore[arg-type]  # checked above
