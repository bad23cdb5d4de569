"""The program's step as a piece of graph, to be copied into a worker's 1.x graph.

The hooks are traced in TensorFlow 2, as with every other strategy, and the traced graph is copied.
Built directly in a 1.x graph, tf_keras takes other paths (batch normalization needs its updates run
by hand, a model's losses include those of other calls), and a program would mean something else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.config import Settings
from tf_cluster_trainer.errors import HookError, PeerLostError, ProgramError, with_causes
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.trial import Trial, look_at_model
from tf_cluster_trainer.strategies.step import sharded
from tf_cluster_trainer.strategies.step.gradients import Gradients
from tf_cluster_trainer.strategies.step.parts import Partitioner


@dataclass(frozen=True)
class VariableSpec:
    """The spec of a variable of the model; the graph that uses the step has its own variable.

    `name` is its key in a checkpoint, or of a part of a tensor that key and `/part_0`, ….
    """

    name: str
    shape: tuple[int, ...]
    dtype: Any
    trainable: bool
    constraint: Callable[[Any], Any] | None


@dataclass(frozen=True)
class StepOps:
    """The step in a graph: gradients of the trainable variables, measures, and updates to run."""

    gradients: Sequence[Any]
    measures: Any
    effects: Sequence[Any]


@dataclass(frozen=True)
class TracedStep:
    """The step of one worker. It holds no variable's memory.

    `kinds` says for each trainable variable whether its gradient is None, "dense" or "sparse".
    `captures` says what each captured placeholder stands for: the index of a variable, or a value.
    `own` are the values of variables outside the model (a random generator's), which each worker
    has for itself.
    """

    variables: tuple[VariableSpec, ...]
    kinds: tuple[str | None, ...]
    graph_def: Any
    arguments: tuple[str, ...]
    captures: Mapping[str, int]
    own: Mapping[str, Any]
    constants: Mapping[str, Any]
    outputs: tuple[str, ...]
    effects: tuple[str, ...]

    def put(
        self, arguments: Sequence[Any], variables: Sequence[Any], own: Mapping[str, Any]
    ) -> StepOps:
        """Copy the step into the current graph; `arguments` are features and labels.

        Raises HookError.
        """
        given = dict(zip(self.arguments, arguments, strict=True))
        given |= {name: variables[index].handle for name, index in self.captures.items()}
        given |= {name: variable.handle for name, variable in own.items()}
        given |= {name: tf.constant(value) for name, value in self.constants.items()}
        try:
            found = tf.graph_util.import_graph_def(
                self.graph_def,
                input_map={name: _here(value) for name, value in given.items()},
                return_elements=[*self.outputs, *self.effects],
                name="step",
            )
        except ValueError as error:  # the batch's true size does not fit
            raise HookError("the model, loss or metrics", error) from error
        tensors = list(found[: len(self.outputs)])
        effects = found[len(self.outputs) :]
        gradients: list[Any] = []
        for kind in self.kinds:
            if kind is None:
                gradients.append(None)
            elif kind == "dense":
                gradients.append(tensors.pop(0))
            else:
                gradients.append(tf.IndexedSlices(*(tensors.pop(0) for _ in range(3))))
        return StepOps(gradients, tensors.pop(0), effects)


def trace(
    program: Program, ctx: Context, trial: Trial, seed: int, cut: Partitioner | None = None
) -> TracedStep:
    """Build the model on this machine, trace the step, and release the model.

    `seed` is for the random operations of a step (dropout). `cut` cuts large variables in parts; if
    the model can't be built so, they are whole. Raises HookError.
    """

    def look(model: Any) -> TracedStep:
        return _traced(program, model, ctx, trial, seed)

    with tf.device("CPU:0"):
        if cut:
            sharded.install()
            found = _in_parts(program, ctx, trial, look, cut)
            if found:
                return found
        return look_at_model(program, ctx, trial.features, look)


def _in_parts(
    program: Program,
    ctx: Context,
    trial: Trial,
    look: Callable[[Any], TracedStep],
    cut: Partitioner,
) -> TracedStep | None:
    """The step with large variables in parts; None, and a log line, if the model can't be so.

    All workers have to come to the same answer, so what may be a passing fault is tried again, and
    what is of the machine is no answer: it raises PeerLostError, for a new start.
    """
    for last in (False, True):
        try:
            return look_at_model(
                program, ctx, trial.features, look, cut.create_in_parts, with_values=False
            )
        except Exception as error:
            if last and _is_of_the_machine(error):
                raise PeerLostError(
                    f"the model could not be built in parts: {error}", ()
                ) from error
            if last:
                log(f"each variable stays whole, on one ps, since in parts: {error}", WARNING)
    return None


def _is_of_the_machine(error: BaseException) -> bool:
    """Whether memory, a disk or a network is at fault."""
    kinds = (MemoryError, OSError, tf.errors.ResourceExhaustedError)
    return any(isinstance(one, kinds) for one in with_causes(error))


def _traced(program: Program, model: Any, ctx: Context, trial: Trial, seed: int) -> TracedStep:
    gradients = Gradients(program, model, trial.metrics, ctx.settings.micro_batches)
    kinds: list[str | None] = []

    def step(features: Any, labels: Any) -> Any:
        found, measures = gradients.of(features, labels)
        kinds[:] = [_kind(gradient) for gradient in found]
        flat = [_parts(gradient) for gradient in found if gradient is not None]
        return [part for parts in flat for part in parts], measures

    tf.random.set_seed(seed)
    try:
        concrete = tf.function(step).get_concrete_function(*_of_a_step(trial, ctx.settings))
    except ProgramError:
        raise
    except Exception as error:
        raise HookError("the model, loss or metrics", error) from error
    graph = concrete.graph
    model_at = {id(variable.handle): at for at, variable in enumerate(model.variables)}
    other = {id(v.handle): v for v in graph.variables if id(v.handle) not in model_at}
    captures, own, constants = {}, {}, {}
    for external, internal in graph.captures:
        if id(external) in model_at:
            captures[internal.name] = model_at[id(external)]
        elif id(external) in other:
            own[internal.name] = other[id(external)].numpy()
        elif external.dtype in (tf.resource, tf.variant):
            raise ProgramError(
                "the model, loss or metrics use a table, which between-graph replication can't "
                "share; look it up in dataset"
            )
        else:
            constants[internal.name] = external.numpy()
    taken = len(graph.inputs) - len(graph.captures)
    return TracedStep(
        variables=tuple(_described(model, trial.variables)),
        kinds=tuple(kinds),
        graph_def=_anywhere(graph.as_graph_def()),
        arguments=tuple(tensor.name for tensor in graph.inputs[:taken]),
        captures=captures,
        own=own,
        constants=constants,
        outputs=tuple(tensor.name for tensor in graph.outputs),
        effects=tuple(operation.name for operation in graph.control_outputs),
    )


def _of_a_step(trial: Trial, settings: Settings) -> Any:
    """The specs of features and labels as a step gets them, of known size, for a smaller graph."""
    several = [settings.micro_batches] if settings.micro_batches > 1 else []

    def sized(spec: tf.TensorSpec) -> tf.TensorSpec:
        shape = [*several, settings.batch_size, *spec.shape[1:]]
        return tf.TensorSpec(shape, spec.dtype, spec.name)

    return tf.nest.map_structure(sized, (trial.features, trial.labels))


def _here(tensor: Any) -> Any:
    """The tensor in the current graph, which may be a loop's body inside the tensor's graph."""
    graph = tf.compat.v1.get_default_graph()
    return tensor if tensor.graph is graph else graph.capture(tensor)


def _kind(gradient: Any) -> str | None:
    if gradient is None:
        return None
    return "sparse" if isinstance(gradient, tf.IndexedSlices) else "dense"


def _parts(gradient: Any) -> list[Any]:
    if not isinstance(gradient, tf.IndexedSlices):
        return [gradient]
    shape = gradient.dense_shape
    if shape is None:
        raise ProgramError("a gradient is sparse and of unknown shape")
    return [gradient.values, gradient.indices, tf.cast(shape, gradient.indices.dtype)]


def _described(model: Any, full: Mapping[str, TensorSpec]) -> Iterator[VariableSpec]:
    """Its variables in their order; `full` are the specs of whole tensors, by key."""
    trained = {id(variable) for variable in model.trainable_variables}
    for one in checkpoint_variables.of_model(full, model):
        for at, part in enumerate(one.parts):
            yield VariableSpec(
                one.key if len(one.parts) == 1 else f"{one.key}/part_{at}",
                tuple(part.shape.as_list()),
                part.dtype,
                id(part) in trained,
                part.constraint if id(part) in trained else None,
            )


def _anywhere(graph_def: Any) -> Any:
    """The node without device names from before this process was a task of a cluster."""
    functions = (function.node_def for function in graph_def.library.function)
    for nodes in (graph_def.node, *functions):
        for node in nodes:
            if "/job:" in node.device or node.device.upper().endswith("CPU:0"):
                node.device = ""
    return graph_def
