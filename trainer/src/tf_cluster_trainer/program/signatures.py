"""The program's own signatures of the export: the hook `signatures`, and what it may return."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context

_NAME = re.compile("[A-Za-z][A-Za-z0-9_.-]*")
_TAKEN = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY
_EXAMPLE = '@tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="text")])'


def more_signatures(program: Program, ctx: Context, model: Any) -> dict[str, Any]:
    """What the hook returns: functions by name, each of which was traced.

    They hold what they were made with, such as a table of the hook's. Raises HookError if the hook
    or the tracing of a function fails, and ProgramError for anything that no server could take.
    """
    if type(program).signatures is Program.signatures:
        return {}
    try:
        given = program.signatures(ctx, model)
    except Exception as error:
        raise HookError("signatures", error) from error
    if not isinstance(given, Mapping):
        raise ProgramError(
            f"signatures must return a mapping of names to functions; it returned {given!r}"
        )
    for name, function in given.items():
        _check_name(name)
        _check(f"signatures[{name!r}]", function)
    return dict(given)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ProgramError(
            f"signatures has the name {name!r}: a name begins with a letter, and has letters, "
            "digits and _ . - alone"
        )
    if name == _TAKEN:
        raise ProgramError(
            f"signatures has the name {name}, which is the model's own: take another"
        )


def _check(place: str, function: Any) -> None:
    if getattr(function, "input_signature", None) is None or not hasattr(
        function, "get_concrete_function"
    ):
        raise ProgramError(
            f"{place} is no tf.function with an input_signature; write {_EXAMPLE} before it"
        )
    try:
        concrete = function.get_concrete_function()
    except Exception as error:
        raise HookError(place, error) from error
    outputs = concrete.structured_outputs
    values = outputs.values() if isinstance(outputs, Mapping) else [outputs]
    if not values or not all(isinstance(value, tf.Tensor | tf.TensorSpec) for value in values):
        raise ProgramError(f"{place} must return tensors by name, or one; it returns {outputs!r}")
    if isinstance(outputs, Mapping) and not all(isinstance(key, str) for key in outputs):
        raise ProgramError(f"{place} must return tensors by name; it returns {[*outputs]}")
    for spec in tf.nest.flatten(concrete.structured_input_signature):
        if not isinstance(spec, tf.TensorSpec):
            raise ProgramError(f"{place} takes {spec!r}, which is no dense tensor")
