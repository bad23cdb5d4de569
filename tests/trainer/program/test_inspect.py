"""`tf-trainer inspect`: what it writes of a program, and where those variables then are."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import tensorflow as tf
from tf_cluster.planning import memory
from tf_cluster.planning.memory import (
    ProgramVariable,
    can_be_mapped,
    copied,
    part_sizes,
    placed,
    read_program,
)
from tf_cluster_trainer.checkpoint import pieces
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.config import Optimizer
from tf_cluster_trainer.inspect_program import OPTIMIZERS
from tf_cluster_trainer.program import memory as trainer_memory
from tf_cluster_trainer.strategies.step import optimizers, parts, state_memory

from tests.ports import free_port

PROGRAM = """
import tensorflow as tf, tf_keras
from tf_cluster_trainer import Program


class Mixed(Program):
    def build_model(self, ctx):
        return tf_keras.Sequential([
            tf_keras.layers.Input((3,), dtype=tf.int64),
            tf_keras.layers.Embedding(20_011, 33),
            tf_keras.layers.Flatten(),
            tf_keras.layers.Dropout(0.5),
            tf_keras.layers.Dense(700),
            tf_keras.layers.BatchNormalization(),
            tf_keras.layers.Dense(1000, use_bias=False),
            tf_keras.layers.Dense(300, kernel_constraint=tf_keras.constraints.MaxNorm(2)),
            tf_keras.layers.Dense(2, kernel_constraint=tf_keras.constraints.NonNeg()),
        ])

    def dataset(self, ctx, input_context):
        features = tf.zeros([5, 3], tf.int64)
        return tf.data.Dataset.from_tensor_slices((features, tf.zeros([5], tf.int32)))
"""

# The chief builds the model for ps that run, all in one process; prints each part's ps and bytes.
PLACES = """
import json, sys
import tensorflow as tf
from tf_cluster_trainer.config import Cluster
from tf_cluster_trainer.inspect_program import _arguments, _config, inspected
from tf_cluster_trainer.program import load
from tf_cluster_trainer.program.context import Context, Flags
from tf_cluster_trainer.program.trial import build_model, run_trial
from tf_cluster_trainer.strategies.between_graph import traced_step
from tf_cluster_trainer.strategies.between_graph.variables import spec_of, spread
from tf_cluster_trainer.strategies.in_graph.cluster import connected_strategy, scope
from tf_cluster_trainer.program import memory as trainer_memory
from tf_cluster_trainer.strategies.step import parts, state_memory
from tf_cluster_trainer.checkpoint.pieces import size

*ports, out = sys.argv[1:]
config = _config(_arguments(["mixed:Mixed", "--path", "."]))
with open(out, "w") as file:
    json.dump(inspected(config), file)
hosts = {"ps": ports[:3], "worker": ports[3:4], "chief": ports[4:]}
hosts = {kind: tuple(f"localhost:{port}" for port in ports) for kind, ports in hosts.items()}
servers = [
    tf.distribute.Server(hosts, job_name=kind, task_index=index, protocol="grpc")
    for kind in ("ps", "worker") for index in range(len(hosts[kind]))
]
program = load.load(config.settings)
ctx = Context(config.task, config.settings, Flags({}), *[config.settings.data_dir] * 3)
trial = run_trial(program, ctx)
found = {}
for least in (1 << 20, 1 << 30):
    parts.LARGE_SHARD_BYTES = least
    cut = parts.partitioner(3, trial.variables.values(), least)
    specs = [spec_of(one) for one in traced_step.trace(program, ctx, trial, 1, cut).variables]
    found[str(least)] = [[ps, size(spec)] for ps, spec in zip(spread(specs, 3), specs)]
strategy = connected_strategy(Cluster("a", hosts, {}, ""), "float32", trial.variables)
with scope(strategy):
    model = build_model(program, ctx, trial.features)
found["float32"] = sorted(
    [int(v.device.rpartition("task:")[2].partition("/")[0]), v.shape.num_elements() * v.dtype.size]
    for v in model.variables
)
print(json.dumps(found), flush=True)
import os
os._exit(0)
"""


START = "from tf_cluster_trainer.supervisor.main import main; main()"


def trainer(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (
            sys.executable,
            "-c",
            "from tf_cluster_trainer.supervisor.main import main; main()",
            *words,
        ),
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_the_tool_knows_where_the_trainer_puts_each_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mixed.py").write_text(PROGRAM)
    ports = [str(free_port()) for _ in range(5)]
    done = subprocess.run(
        (sys.executable, "-c", PLACES, *ports, "program.json"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    program = read_program((tmp_path / "program.json").read_bytes(), "program.json")

    def places(*, in_graph: bool, cut: bool) -> list[list[int]]:
        return [[ps, size] for ps, size, _ in placed(program.variables, 3, in_graph, cut)]

    assert sorted(places(in_graph=True, cut=True)) == found["float32"]
    for least in (1 << 20, 1 << 30):
        monkeypatch.setattr(memory, "LARGE_SHARD_BYTES", least)
        assert places(in_graph=False, cut=True) == found[str(least)]
    assert places(in_graph=False, cut=False) == found[str(1 << 30)]
    _is_as_the_schema_says(json.loads((tmp_path / "program.json").read_text()))


@pytest.mark.parametrize("least", ["SHARD_BYTES", "LARGE_SHARD_BYTES"])
@pytest.mark.parametrize("ps", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "shape",
    [
        (),
        (1,),
        (65_536,),
        (65_537,),
        (2, 65_536),
        (1_000, 700),
        (3, 1 << 28),
        (1 << 22, 64),
        ((1 << 22) + 1, 64),
        (50_000_000, 64),
    ],
)
def test_the_tool_and_the_trainer_cut_variables_alike(
    shape: tuple[int, ...], ps: int, least: str
) -> None:
    spec = TensorSpec(shape, "float32")
    size = 4 * math.prod(shape)
    cut = parts.partitioner(ps, [spec], getattr(parts, least))
    rows = shape[0] if shape else 1
    count = min(cut(tf.TensorShape(shape), tf.float32)[0], rows) if cut and shape else 1

    sizes = part_sizes(ProgramVariable("a", shape, size, True, 0), ps, getattr(memory, least))

    assert (len(sizes), sum(sizes)) == (count, size)
    assert max(sizes) <= max(parts.PART_BYTES, math.ceil(size / rows))


@pytest.mark.parametrize("whole", [257 << 20, 5_000 << 20, 1 << 40])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16", "int32", "bool", "string"])
@pytest.mark.parametrize("rows", [1, (1 << 20) - 1, 1 << 20, 2 << 20, 1 << 30])
def test_the_tool_and_the_trainer_map_variables_alike(dtype: str, rows: int, whole: int) -> None:
    spec = TensorSpec((rows,), dtype)
    variable = ProgramVariable("a", (rows,), pieces.size(spec), True, 0, dtype)
    assert can_be_mapped(variable, whole) == pieces.can_be_mapped("model/a", spec, whole)


@pytest.mark.parametrize("whole", [257 << 20, 5_000 << 20, 1 << 40])
@pytest.mark.parametrize("width", [0, 1, 37, 64, 2_730, 2_731, 2_750, 50_256, 50_257, 4 << 20])
@pytest.mark.parametrize("rows", [1, 20, 1024, 20_000, 1 << 20])
def test_the_tool_and_the_trainer_map_wide_rows_alike(rows: int, width: int, whole: int) -> None:
    spec = TensorSpec((rows, width), "float32")
    variable = ProgramVariable("a", spec.shape, pieces.size(spec), True, 0)
    assert can_be_mapped(variable, whole) == pieces.can_be_mapped("model/a", spec, whole)
    for count in (1, 2, 9):
        found = memory.beside_pages(variable, count)
        assert found == pieces.beside_pages(spec, count)
        assert found <= pieces.size(spec)
        assert count > 1 or pieces.size(spec) > parts.PART_BYTES or not found


@pytest.mark.parametrize("in_graph", [True, False])
@pytest.mark.parametrize("ps", [1, 2, 3, 7])
@pytest.mark.parametrize(
    "shape", [(20_000, 37), (1_003, 2_750), (200_001, 2_730), (3_000_001, 700), (1 << 26, 65)]
)
def test_what_of_a_mapped_variable_is_copied_is_reckoned_in(
    shape: tuple[int, ...], ps: int, in_graph: bool
) -> None:
    """As in checkpoint/reading.py: slices of each part, the first of which begin within pages."""
    spec = TensorSpec(shape, "float32")
    variable = ProgramVariable("a", shape, pieces.size(spec), True, 0)
    sizes = part_sizes(variable, ps, memory.SHARD_BYTES if in_graph else memory.LARGE_SHARD_BYTES)
    most, row_bytes = pieces.PIECE_BYTES // 3, variable.row_bytes
    begins = copied_bytes = 0
    for size in sizes:
        ends = begins + size // row_bytes
        for first, rows in pieces.slices(begins, ends, row_bytes, most):
            if first * row_bytes % pieces.PAGE_BYTES:
                copied_bytes += rows * row_bytes
        begins = ends
    assert begins == shape[0]
    assert copied_bytes <= memory.beside_pages(variable, ps if in_graph else 1)


def test_no_optimizer_has_more_slots_than_are_reckoned_with() -> None:
    assert pieces.MOST_SLOTS == memory._MOST_SLOTS
    assert pieces.PART_BYTES == parts.PART_BYTES == memory.PART_BYTES
    for name in OPTIMIZERS:
        assert len(optimizers.slots(Optimizer(name, 0.1, None))) <= pieces.MOST_SLOTS


@pytest.mark.parametrize("count", [1, 5])
@pytest.mark.parametrize("state", [1, 256 << 20, (256 << 20) + 1, 5 << 30, 1 << 40])
def test_the_tool_and_the_trainer_reckon_memory_alike(state: int, count: int) -> None:
    specs = {
        "model/table": TensorSpec((1 << 22, 64), "float32"),
        "model/wide": TensorSpec((1024, 50_257), "float32"),
        "model/ids": TensorSpec((1 << 22,), "int32"),
        "model/bias": TensorSpec((700,), "float32"),
        "model/scale": TensorSpec((), "float32"),
    }
    variables = [
        ProgramVariable(key, spec.shape, pieces.size(spec), True, 0, spec.dtype)
        for key, spec in specs.items()
    ]
    assert copied(variables, state, count) == trainer_memory.copied(specs, state, count)
    assert memory.ROLES == trainer_memory.ROLES
    assert memory.PS == state_memory.PS


def test_without_a_task_the_command_says_what_it_is_for(tmp_path: Path) -> None:
    told = trainer("--help", cwd=tmp_path)
    refused = trainer("bash", cwd=tmp_path)

    assert (told.returncode, told.stdout[:17]) == (0, "usage: tf-trainer")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("tf-trainer: there is no command 'bash'\nusage: ")


def test_an_example_is_inspected_by_the_command(tmp_path: Path) -> None:
    example = "tf_cluster_trainer.examples.text:Text"
    flags = '{"words": 100, "units": 8}'
    done = trainer("inspect", example, "--flags", flags, "-o", "a.json", cwd=tmp_path)

    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads((tmp_path / "a.json").read_text())
    _is_as_the_schema_says(found)
    # A GRU makes the state of its random numbers first, which is no variable of the model.
    made = [one.pop("made") for one in found["variables"]]
    assert len(set(made)) == len(made)
    assert found["variables"][0] == {
        "name": "embedding/embeddings",
        "shape": [100, 8],
        "dtype": "float32",
        "bytes": 3200,
        "trainable": True,
        "whole": False,
    }
    assert found["slots"] == {
        "SGD": [],
        "Momentum": ["momentum"],
        "Adam": ["m", "v"],
        "Adagrad": ["accumulator"],
    }
    assert found["flags"] == {"file": None, "words": 100, "units": 8}
    assert found["exampleBytes"] > 0


def test_what_a_program_prints_stands_beside_program_json_and_it_runs_once(tmp_path: Path) -> None:
    loud = PROGRAM.replace("        return", "        print('one of my hooks')\n        return")
    loud = loud.replace("        features =", "        print('my data')\n        features =")
    (tmp_path / "mixed.py").write_text(loud)

    done = trainer("inspect", "mixed:Mixed", "--path", ".", cwd=tmp_path)

    assert done.returncode == 0, done.stderr[-2000:]
    _is_as_the_schema_says(json.loads(done.stdout))
    assert done.stderr.count("one of my hooks") == 2
    assert done.stderr.count("my data") == 1


def test_slots_are_told_of_every_optimizer_that_a_training_may_have() -> None:
    schema = resources.files("tf_cluster_trainer").joinpath("schemas/training.schema.json")
    train = json.loads(schema.read_text())["properties"]["train"]["properties"]

    assert [*OPTIMIZERS] == train["optimizer"]["properties"]["name"]["enum"]


def test_a_wrong_program_is_exit_2_in_words(tmp_path: Path) -> None:
    none = trainer("inspect", "nowhere:Nobody", cwd=tmp_path)
    no_json = trainer("inspect", "a:B", "--flags", "{units", cwd=tmp_path)

    assert (none.returncode, none.stdout) == (2, "")
    assert "no module named nowhere" in none.stderr.splitlines()[-1]
    assert no_json.returncode == 2
    assert no_json.stderr.startswith("tf-trainer inspect: --flags is no JSON")
    assert list(tmp_path.iterdir()) == []


def _is_as_the_schema_says(document: Any) -> None:
    schema = resources.files("tf_cluster_trainer").joinpath("schemas/program.schema.json")
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(document)
