"""Tries the program's hooks on this machine alone, before it connects to any other task.

The trial finds a broken hook while the peers still start. It returns only descriptions: connecting
to the other tasks takes every earlier variable out of reach.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import tensorflow as tf
import tf_keras

from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.pieces import is_small
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.program import constraints, memory, precision, whole_reads
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context
from tf_cluster_trainer.program.first_call import leaves_only_variables
from tf_cluster_trainer.program.signatures import more_signatures
from tf_cluster_trainer.program.storageless import Storageless, read_in

Found = TypeVar("Found")


@dataclass(frozen=True)
class Trial:
    """What the program makes.

    `features` and `labels` are the specs of a batch, [None, ...]. `metrics` are the names that the
    `metrics` hook returns. `variables` are the model's full tensors by checkpoint key; `trained`
    are the keys of those that gradients change.
    """

    features: Any
    labels: Any
    metrics: tuple[str, ...]
    variables: Mapping[str, TensorSpec]
    trained: frozenset[str]


def run_trial(program: Program, ctx: Context) -> Trial:
    """Try the hooks. Raises ProgramError that names the first wrong hook and the reason."""
    features, labels = batch_specs(program, ctx)

    def tried(model: Any) -> Trial:
        check_variables(model)
        metrics, graph = _trace_loss(program, model, features, labels)
        constraints.check(program, model, features, labels)
        more_signatures(program, ctx, model)
        if ctx.settings.combination.has_ps and ctx.task.index == 0:  # once a run
            whole_reads.warn(model, graph)
        specs = checkpoint_variables.specs(model)
        trainable = {
            id(v) for v in model.trainable_variables
        }  # `v.trainable` knows no frozen layer
        trained = frozenset(
            k for k, v in zip(specs, model.variables, strict=True) if id(v) in trainable
        )
        return Trial(features, labels, metrics, specs, trained)

    return look_at_model(program, ctx, features, tried)


def look_at_model(
    program: Program,
    ctx: Context,
    features: Any,
    look: Callable[[Any], Found],
    create: Callable[..., Any] | None = None,
    *,
    with_values: bool = True,
) -> Found:
    """Return what `look` finds of the program's model, whose large variables take no memory.

    Where that fails (the program, or `look`, may read the value of one), the model's first call is
    traced instead of made; where that fails too, the model is made with all values, unless
    `with_values` is False. Raises ProgramError. `look` keeps nothing of the model. `create` makes
    every variable of the program, as tf.variable_creator_scope has it.
    """

    def each() -> AbstractContextManager[None]:
        return tf.variable_creator_scope(create) if create else nullcontext()

    read, without = "", 0
    failed: Exception | None = None
    # A call that is made gives the names that the real model has: in a trace, scopes are numbered.
    for first_call in (_call, _trace_call):
        storageless = Storageless()
        try:
            with storageless.scope(), each(), precision.policy(ctx.settings.precision):
                model = _built(program, ctx, features, first_call)
            return look(model)
        except Exception as error:
            # What is no hook's failure is known without values.
            known = isinstance(error, ProgramError) and not isinstance(error, HookError)
            if known or not storageless.used:
                raise
            read, without = read_in(error) or read, max(without, storageless.bytes)
            failed = error
    if failed and not with_values:
        raise failed
    memory.check_made(without, read, failed)
    if read:
        log(f"the program reads {read} while its model is built: here, too, all of it is made")
    with each():
        model = build_model(program, ctx, features)
    return look(model)


def build_filled(
    program: Program, ctx: Context, features: Any, fill: Callable[[Any], None], named: str
) -> Any:
    """Build the program's model as `build_model` does, and fill its variables.

    Large variables have no initial values before, which would take as much memory again; unless the
    program needs one.
    """
    model, storageless = build_without_values(program, ctx, features, named)
    if model is not None:
        fill(model)
        if storageless.has_filled(model):
            return model
    without = storageless.bytes
    del model, storageless  # and their memory
    memory.check_made(without, "", None)
    model = build_model(program, ctx, features, named)
    fill(model)
    return model


def build_without_values(
    program: Program, ctx: Context, features: Any, named: str = ""
) -> tuple[Any, Storageless]:
    """Build the program's model as `build_model` does, but its large variables without values.

    The model is None if the program needs one. A model that its first call makes looks rows up
    there. Where that call leaves nothing but variables, it reads zeros, which take no memory.
    """

    def build(empty: Storageless, first_call: Callable[[Any, Any], None]) -> Any:
        with empty.scope(), precision.policy(named or ctx.settings.precision):
            return _built(program, ctx, features, first_call)

    empty, lending = Storageless(), Storageless()

    def call_with_zeros(model: Any, features: Any) -> None:
        lending.lend_zeros()
        _call(model, features)

    try:
        return build(empty, _call), empty
    except Exception as error:
        if not empty.used:
            raise
        if is_small(empty.bytes) or not read_in(error):
            return None, empty
    if not leaves_only_variables(partial(build, Storageless()), _trace_call):
        return None, empty
    try:
        return build(lending, call_with_zeros), lending
    except Exception:
        return None, lending


def build_model(
    program: Program, ctx: Context, features: Any, named: str = "", *, traced: bool = False
) -> Any:
    """Build the program's model and its variables: the same names and initial values every time.

    The model computes in the precision `named`, or else in that of the settings. `traced`: a first
    call that makes the variables is traced, and reads none.
    """
    with precision.policy(named or ctx.settings.precision):
        return _built(program, ctx, features, _trace_call if traced else _call)


def _built(
    program: Program, ctx: Context, features: Any, first_call: Callable[[Any, Any], None]
) -> Any:
    tf_keras.backend.reset_uids()
    tf_keras.utils.set_random_seed(ctx.settings.seed)
    try:
        model = program.build_model(ctx)
    except Exception as error:
        raise HookError("build_model", error) from error
    if not isinstance(model, tf_keras.Model):
        raise ProgramError(
            f"build_model returned {_kind(model)}, not a tf_keras.Model"
            + ("; Keras 3 has no parameter servers" if _kind(model).startswith("keras.") else "")
        )
    if not model.built or not model.variables:
        try:
            first_call(model, features)
        except Exception as error:
            raise HookError("the model's first call", error) from error
    if not model.trainable_variables:
        raise ProgramError("build_model returned a model that has nothing to train")
    return model


def batched(spec: tf.TensorSpec) -> tf.TensorSpec:
    """The spec of a batch of such examples: [None, ...]."""
    return tf.TensorSpec([None, *spec.shape], spec.dtype, spec.name)


def batch_specs(program: Program, ctx: Context) -> tuple[Any, Any]:
    """The specs of a batch of the program's features and labels. Raises ProgramError."""
    return specs_of(make_dataset(program, ctx))


def make_dataset(program: Program, ctx: Context) -> tf.data.Dataset:
    """The program's dataset, whole, of which batches can be made. Raises ProgramError."""
    try:
        dataset = program.dataset(ctx, tf.distribute.InputContext())
    except Exception as error:
        raise HookError("dataset", error) from error
    if not isinstance(dataset, tf.data.Dataset):
        raise ProgramError(f"dataset returned {_kind(dataset)}, not a tf.data.Dataset")
    spec = dataset.element_spec
    if not (isinstance(spec, tuple) and len(spec) == 2):
        raise ProgramError(f"dataset must give pairs (features, labels); it gives {spec}")
    if any(not isinstance(part, tf.TensorSpec) for part in tf.nest.flatten(spec)):
        raise ProgramError(f"dataset must give dense tensors; it gives {spec}")
    if any(part.shape.rank is None for part in tf.nest.flatten(spec)):
        raise ProgramError(f"dataset must give tensors of known rank; it gives {spec}")
    return dataset


def specs_of(dataset: tf.data.Dataset) -> tuple[Any, Any]:
    """The specs of a batch of a dataset's features and labels."""
    features, labels = (tf.nest.map_structure(batched, part) for part in dataset.element_spec)
    return features, labels


def check_variables(model: Any) -> None:
    """Raise ProgramError for variables that a checkpoint can't hold."""
    for held in model.variables:
        if not isinstance(held, tf.Variable):
            # tf_keras lists the vocabulary of such a layer, which is no tensor, with the weights.
            raise ProgramError(
                "a layer of the model got its vocabulary by adapt or set_vocabulary; find that "
                "before, and make the layer with vocabulary=..."
            )
        if not held.shape.is_fully_defined():
            raise ProgramError(
                f"the model has a variable of unknown shape, {held.name} {held.shape} (a layer "
                "with output_mode='tf_idf' makes one); no checkpoint of it could be read"
            )


def _trace_loss(
    program: Program, model: Any, features: Any, labels: Any
) -> tuple[tuple[str, ...], Any]:
    """The names of the metrics, and the graph of the loss with the model's own losses."""

    def measures(features: Any, labels: Any) -> tuple[Any, Any]:
        outputs = precision.outputs(model(features, training=True))
        for loss in model.losses:
            tf.identity(loss)
        return program.loss(labels, outputs), dict(program.metrics(labels, outputs))

    try:
        graph = tf.function(measures).get_concrete_function(features, labels)
    except Exception as error:
        raise HookError("the model, loss or metrics", error) from error
    loss, metrics = graph.structured_outputs
    for name, value in {"loss": loss, **{f"metrics[{n!r}]": v for n, v in metrics.items()}}.items():
        if value is None or value.shape.rank != 1:
            raise ProgramError(
                f"{name} must give one value for each example, shape [batch]; "
                f"it gives {'nothing' if value is None else f'shape {value.shape}'}"
            )
    return tuple(sorted(metrics)), graph.graph


def _call(model: Any, features: Any) -> None:
    """Call the model with one example of zeros."""
    ones = tf.nest.map_structure(_of_one, features)
    model(
        tf.nest.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), ones), training=False
    )


def _trace_call(model: Any, features: Any) -> Any:
    """Trace the same call: that makes the variables, and reads none. Returns the graph."""

    def call(given: Any) -> Any:
        return model(given, training=False)

    ones = tf.nest.map_structure(_of_one, features)
    return tf.function(call, autograph=False).get_concrete_function(ones).graph


def _of_one(spec: tf.TensorSpec) -> tf.TensorSpec:
    return tf.TensorSpec([1 if size is None else size for size in spec.shape], spec.dtype)


def _kind(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"
