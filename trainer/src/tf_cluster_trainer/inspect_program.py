"""`tf-trainer inspect`: what a program's model is made of, for `tf-cluster plan --program`.

It runs the program's own code: its class, `dataset` and `build_model`, once, on this machine alone.
What it writes is program.json (schemas/program.schema.json).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import Config, ConfigError, load
from tf_cluster_trainer.errors import HookError, ProgramError

OPTIMIZERS = ("SGD", "Momentum", "Adam", "Adagrad")
"""Those of schemas/training.schema.json."""


def main(arguments: Sequence[str]) -> int:
    """Inspect the program that the arguments name; return the exit code."""
    given = _arguments(arguments)
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout may be program.json
            found = inspected(_config(given))
        _write(json.dumps(found, indent=2) + "\n", given.output)
    except (ConfigError, ProgramError, OSError) as error:
        print(f"tf-trainer inspect: {error}", file=sys.stderr)
        return exit_codes.CONFIG
    return 0


def inspected(config: Config) -> dict[str, Any]:
    """program.json of the configured program. Raises ProgramError."""
    from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
    from tf_cluster_trainer.program import constraints
    from tf_cluster_trainer.program import flags as program_flags
    from tf_cluster_trainer.program.prepare import loaded
    from tf_cluster_trainer.program.trial import (
        check_variables,
        look_at_model,
        make_dataset,
        specs_of,
    )
    from tf_cluster_trainer.strategies.step import parts

    program, ctx = loaded(config)
    dataset = make_dataset(program, ctx)
    features, labels = specs_of(dataset)
    made: list[Any] = []

    def create(create_next: Callable[..., Any], **given: Any) -> Any:
        made.append(create_next(**given))
        return made[-1]

    def variables(model: Any) -> list[dict[str, Any]]:
        check_variables(model)
        constraints.check(program, model, features, labels)
        places = {id(variable): place for place, variable in enumerate(made)}
        return [
            {
                "name": key.removeprefix("model/"),
                "shape": list(spec.shape),
                "dtype": spec.dtype,
                "bytes": variable.shape.num_elements() * variable.dtype.size,
                "trainable": bool(variable.trainable),
                "whole": parts.needs_all_rows(variable.constraint, len(variable.shape)),
                "made": places.get(id(variable), len(made)),
            }
            for (key, spec), variable in zip(
                checkpoint_variables.specs(model).items(), model.variables, strict=True
            )
        ]

    found = look_at_model(program, ctx, features, variables, create)
    example_bytes, examples = _of_the_data(dataset)
    return {
        "version": 1,
        "program": config.settings.module,
        "flags": program_flags.as_json(ctx.flags),
        "variables": found,
        "slots": {name: _slots(name) for name in OPTIMIZERS},
        "exampleBytes": example_bytes,
        "examples": examples,
    }


def _slots(name: str) -> list[str]:
    from tf_cluster_trainer.config import Optimizer
    from tf_cluster_trainer.strategies.step import optimizers

    return optimizers.slots(Optimizer(name, 0.1, None))


def _of_the_data(dataset: Any) -> tuple[int | None, int | None]:
    """Bytes of one example, and how many there are; None for what is not known."""
    import tensorflow as tf

    try:
        count = int(dataset.cardinality().numpy())
        parts = tf.nest.flatten(dataset.element_spec)
        if all(one.shape.is_fully_defined() and one.dtype.size for one in parts):
            size = sum(one.shape.num_elements() * one.dtype.size for one in parts)
        else:
            first = next(iter(dataset.take(1)), None)
            size = None if first is None else sum(map(_bytes, tf.nest.flatten(first)))
    except Exception as error:
        raise HookError("dataset", error) from error
    return size, count if count >= 0 else None


def _bytes(tensor: Any) -> int:
    value = tensor.numpy()
    if isinstance(value, bytes):
        return len(value)
    if tensor.dtype.size:
        return int(value.nbytes)
    return sum(len(one) for one in value.ravel())


def _arguments(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="tf-trainer inspect",
        description="Build a program's model once, and write down what it is made of. "
        "It runs the program's code.",
    )
    parser.add_argument("program", metavar="MODULE:CLASS")
    parser.add_argument("--path", default="", help="directory of the code (program.path)")
    parser.add_argument("--data", default="/data", help="directory of the data (default /data)")
    parser.add_argument("--flags", default="{}", help="the run's flags, as JSON")
    parser.add_argument("-o", "--output", default="-", help="program.json; - is stdout")
    return parser.parse_args(arguments)


def _config(given: argparse.Namespace) -> Config:
    """The configuration of a run with these words, as a task would read it. Raises ConfigError."""
    try:
        flags = json.loads(given.flags)
    except ValueError as error:
        raise ConfigError(
            f"--flags is no JSON ({error}): write --flags '{{\"units\": 64}}'"
        ) from None
    path = {"path": str(Path(given.path).resolve())} if given.path else {}
    address = ["localhost:1"]
    cluster = {"worker": address}
    training = {
        "version": 1,
        "run": {"name": "inspect", "id": "1"},
        "program": {"module": given.program, **path},
        "strategy": "all-reduce",
        "replication": "between-graph",
        "update": "sync",
        "train": {
            "steps": 1,
            "batchSize": 1,
            "seed": 1,
            "optimizer": {"name": "SGD", "learningRate": 0.1},
            "checkpoint": {"seconds": 60, "keep": 1},
            "reportSeconds": 2,
        },
        "flags": flags,
        "dirs": {"data": str(Path(given.data).resolve()), "log": tempfile.gettempdir()},
        "peers": {"deadlineSeconds": 60},
        "failure": {"restarts": 0, "finalStateSeconds": 0},
    }
    documents: Mapping[str, Any] = {
        "cluster": {"version": 1, "attempt": "inspect", "cluster": cluster, "status": cluster},
        "training": training,
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, document in documents.items():
            Path(folder, f"{name}.json").write_text(json.dumps(document))
        place = {"TF_CLUSTER_TASK_TYPE": "worker", "TF_CLUSTER_TASK_INDEX": "0"}
        own = {"TF_CLUSTER_JOB_UID": "inspect", "TF_CLUSTER_POD_UID": "inspect"}
        return load({"TF_CLUSTER_CONFIG": folder, **place, **own})


def _write(text: str, output: str) -> None:
    if output == "-":
        sys.stdout.write(text)
        return
    beside = Path(f"{output}.tmp-{os.getpid()}")
    try:
        beside.write_text(text)
        beside.replace(output)
    finally:
        beside.unlink(missing_ok=True)
