"""The run's state on the ps in one worker's graph: every worker makes the same names.

Each variable, or part of a large one, is on the ps with the fewest bytes so far; the slots of an
optimizer are beside it. A resource container of the attempt holds all of it, so that no other
attempt's state is taken for ours.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.pieces import can_be_cut, size
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.checkpoint.variables import StoredTensor
from tf_cluster_trainer.config import Cluster, Settings
from tf_cluster_trainer.strategies.between_graph.traced_step import VariableSpec
from tf_cluster_trainer.strategies.step import devices, optimizers, same_model

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.\\/-]")


@dataclass(frozen=True)
class Model:
    """The model's variables on the ps, in the order of the plain model's."""

    variables: tuple[Any, ...]
    trainable_variables: tuple[Any, ...]


@dataclass(frozen=True)
class PsVariables:
    """The run's whole state on the ps.

    `generation` [3] is the generation's number, the step at which it began, and the optimizer's
    count there; the number is 0 during a fill. `counters` has a row for each task that counts:
    steps, sum of losses, sums of metrics. `members` has a number for each worker's present session.
    `fingerprints` [2] stand for the model, and for its variables' names and parts, as worker-0 has
    them; `own_fingerprints` for this worker's. `stored` are the tensors of a checkpoint.
    """

    model: Model
    optimizer: Any
    generation: Any
    counters: Any
    members: Any
    fingerprints: Any
    own_fingerprints: tuple[int, int]
    stored: tuple[StoredTensor, ...]

    def variables(self) -> list[Any]:
        """Every variable, `generation` first."""
        kept = [part for one in self.stored for part in one.parts]
        return [self.generation, self.counters, self.members, self.fingerprints, *kept]


@dataclass(frozen=True)
class PsState:
    """The state as a session read it: its generation, the step where that began, the counters."""

    generation: int
    origin_step: int
    counters: Any

    @property
    def step(self) -> int:
        """The run's step."""
        return self.origin_step + int(self.counters[:, 0].sum())


def container(cluster: Cluster, settings: Settings) -> str:
    """The name of the resource container with this attempt's state."""
    words = f"{cluster.attempt}/{settings.run_name}/{settings.run_id}"
    return "run-" + hashlib.sha256(words.encode()).hexdigest()[:16]


def make(
    described: Sequence[VariableSpec],
    specs: Mapping[str, TensorSpec],
    trained: Collection[str],
    settings: Settings,
    *,
    ps: int,
    rows: int,
    workers: int,
    metrics: int,
) -> PsVariables:
    """Build it in the current graph. `specs` are of the whole tensors, by key; `trained`: keys."""
    with tf.device(devices.ps(0)):
        generation = _variable("life", np.zeros([3], np.int64))
        members = _variable("members", np.zeros([workers], np.int64))
        counters = _variable("tallies", np.zeros([rows, 2 + metrics], np.float64))
        own_fingerprints = (
            same_model.fingerprint(specs, trained),
            same_model.number_of([(one.name, one.shape) for one in described]),
        )
        fingerprints = _variable("fingerprints", np.array(own_fingerprints, np.int64))
        optimizer = optimizers.make(settings.optimizer, lambda: _optimizer_lag(generation))
        _ = optimizer.iterations
    variables = []
    for one, task in zip(described, spread(map(spec_of, described), ps), strict=True):
        with tf.device(devices.ps(task)):
            name = _NOT_IN_A_NAME.sub("_", one.name.removeprefix("model/"))
            variables.append(
                tf.Variable(
                    _zeros(one),
                    name=name,
                    trainable=one.trainable,
                    constraint=one.constraint,
                    dtype=one.dtype,
                )
            )
    slotted = tuple(v for v, one in zip(variables, described, strict=True) if one.trainable)
    model = Model(tuple(variables), slotted)
    optimizer._create_all_weights(list(slotted))
    full = checkpoint_variables.of_model(specs, model)
    slots = checkpoint_variables.of_optimizer(optimizer, full, model)
    stored = (*full, *slots)
    return PsVariables(
        model, optimizer, generation, counters, members, fingerprints, own_fingerprints, stored
    )


def spec_of(one: VariableSpec) -> TensorSpec:
    """The tensor that this variable or part holds."""
    return TensorSpec(one.shape, one.dtype.name)


def spread(specs: Iterable[TensorSpec], ps: int) -> list[int]:
    """Choose a ps for each variable: the one with the fewest bytes so far."""
    bytes_at = [0] * ps
    tasks = []
    for spec in specs:
        task = bytes_at.index(min(bytes_at))
        bytes_at[task] += size(spec)
        tasks.append(task)
    return tasks


def initializer(variable: Any) -> Any:
    """The operation that gives a variable of one graph its first value, in memory of its own.

    TensorFlow makes a constant of a large tensor that repeats one value. The graph on the ps keeps
    it, variables that begin alike share it, and the first update of some rows copies it. So such a
    tensor is made by an operation of which it makes no constant.
    """
    if not can_be_cut(checkpoint_variables.spec_of(variable)):
        return variable.initializer
    value = _repeated(variable.initial_value)
    if value is None or variable.dtype.is_bool:
        return variable.initializer
    with tf.device(variable.device):
        first = tf.raw_ops.Empty(shape=variable.shape, dtype=variable.dtype, init=True)  # zeros
        if value:
            first = tf.add(first, value)  # in place
        return variable.assign(first, read_value=False)


def beside(worker: str) -> Callable[[Any], str]:
    """A device function: the worker computes; operations on a ps' resource run on that ps.

    The placer puts operations without a device beside their resource.
    """

    def choose(operation: Any) -> str:
        touches = any(tensor.dtype == tf.resource for tensor in operation.inputs)
        return "" if touches or operation.type == "Placeholder" else worker

    return choose


def _repeated(tensor: Any) -> Any:
    """The scalar that it repeats, as `tf.fill` and `tf.constant` do; None where that is unknown."""
    operation = tensor.op
    if operation.type == "Fill":
        return tf.get_static_value(operation.inputs[1])
    if operation.type != "Const":
        return None
    described = operation.get_attr("value")
    if described.tensor_content:
        return None  # every value
    described.tensor_shape.Clear()  # of a copy: a scalar now, which needs one value
    try:
        return tf.make_ndarray(described)[()]
    except ValueError:
        return None  # several, of which the last one is repeated


def _optimizer_lag(generation: Any) -> Any:
    """`ResumePoint.optimizer_lag`, in the graph."""
    began = tf.convert_to_tensor(generation)
    return began[1] - began[2]


def _variable(name: str, value: Any) -> Any:
    return tf.Variable(value, name=name, trainable=False)


def _zeros(one: VariableSpec) -> Callable[[], Any]:
    return lambda: tf.zeros(one.shape, one.dtype)
