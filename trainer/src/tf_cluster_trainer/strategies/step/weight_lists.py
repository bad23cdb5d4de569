"""Has Keras' lists of values take a variable in parts as one, as a program knows it.

tf_keras counts each part as a weight of its own. `get_weights` gave the rows of one ps in the place
of a table, and a file of weights, or `Embedding(weights=[...])`, had too few values for a layer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, wraps
from itertools import islice
from typing import Any

import tf_keras
from tensorflow.python.distribute.sharded_variable import ShardedVariable
from tf_keras.src import backend
from tf_keras.src.engine.base_layer_utils import TrackableWeightHandler
from tf_keras.src.saving.legacy import hdf5_format

_Layer = tf_keras.layers.Layer
_set_weights = _Layer.set_weights
_save_own, _load_own = _Layer.save_own_variables, _Layer.load_own_variables
_of_files = hdf5_format._legacy_weights


@cache
def install() -> None:
    """From now on, in this process."""
    _Layer.get_weights = _get
    _Layer.set_weights = _set
    _Layer.save_own_variables = _save
    _Layer.load_own_variables = _load
    hdf5_format._legacy_weights = lambda layer: _named(_of_files(layer))
    for name in ("save_weights_to", "load_weights_from"):
        _have_wholes_of_the_model(f"{name}_hdf5_group")
    _have_wholes_of_the_model("load_weights_from_hdf5_group_by_name")


def wholes(weights: Iterable[Any]) -> list[Any]:
    """The same weights, and in the place of a variable's parts the variable."""
    found: list[Any] = []
    for one in weights:
        container = getattr(one, "_sharded_container", None)
        whole = container() if container else None
        if whole is None:
            found.append(one)
        elif not found or found[-1] is not whole:
            found.append(whole)
    return found


def _get(self: Any) -> list[Any]:
    values: list[Any] = []
    for one in wholes(self.weights):
        if isinstance(one, TrackableWeightHandler):
            values.extend(one.get_tensors())
        else:
            values.append(one)
    return list(backend.batch_get_value(values))


def _set(self: Any, weights: Sequence[Any]) -> None:
    found = wholes(self.weights)
    if not _any_in_parts(found):
        _set_weights(self, weights)
        return
    due = sum(one.num_tensors if isinstance(one, TrackableWeightHandler) else 1 for one in found)
    if len(weights) != due:
        raise ValueError(
            f'You called `set_weights(weights)` on layer "{self.name}" with a weight list of '
            f"length {len(weights)}, but the layer was expecting {due} weights."
        )
    given, by_part = iter(weights), list[Any]()
    for one in found:
        if isinstance(one, TrackableWeightHandler):
            by_part.extend(islice(given, one.num_tensors))
        elif isinstance(one, ShardedVariable):
            by_part.extend(_cut(self, one, next(given)))
        else:
            by_part.append(next(given))
    _set_weights(self, by_part)


def _cut(layer: Any, whole: Any, value: Any) -> list[Any]:
    """The value of each part. Raises ValueError, as Keras does, if it has another shape."""
    if not whole.shape.is_compatible_with(getattr(value, "shape", ())):
        raise ValueError(
            f"Layer {layer.name} weight shape {whole.shape} is not compatible with provided "
            f"weight shape {getattr(value, 'shape', ())}."
        )
    begins, found = 0, []
    for part in whole.variables:
        found.append(value[begins : begins + part.shape[0]])
        begins += part.shape[0]
    return found


def _have_wholes_of_the_model(function_name: str) -> None:
    """Have this function of Keras for files take a model's own variables as wholes, too."""
    function = getattr(hdf5_format, function_name)

    @wraps(function)
    def with_wholes(file: Any, model: Any, *given: Any, **more: Any) -> Any:
        lists = {
            name: getattr(model, name) for name in ("_trainable_weights", "_non_trainable_weights")
        }
        try:
            for name, own in lists.items():
                object.__setattr__(model, name, _named(own))  # without Keras' tracking
            return function(file, model, *given, **more)
        finally:
            for name, own in lists.items():
                object.__setattr__(model, name, own)

    setattr(hdf5_format, function_name, with_wholes)


def _named(weights: Iterable[Any]) -> list[Any]:
    """Wholes, with the names that they have in a model that is whole."""
    found = wholes(weights)
    for one in found:
        if isinstance(one, ShardedVariable):  # TensorFlow gives it the name without the layer's
            one._name = re.sub(r"/part_\d+(?=:\d+$)", "", one.variables[0].name)
    return found


def _own(self: Any) -> list[Any]:
    """What Keras' own files have of a layer; [] if no variable of it is in parts."""
    own = self._trainable_weights + self._non_trainable_weights
    found = wholes(own)
    return found if _any_in_parts(found) else []


def _any_in_parts(found: Iterable[Any]) -> bool:
    return any(isinstance(one, ShardedVariable) for one in found)


def _save(self: Any, store: Any) -> None:
    own = _own(self)
    if not own:
        _save_own(self, store)
        return
    for at, value in enumerate(backend.batch_get_value(own)):
        store[f"{at}"] = value


def _load(self: Any, store: Any) -> None:
    self._update_trackables()  # as Keras' own: of variables in lists
    own = _own(self)
    if not own or len(own) != len(store.keys()):
        _load_own(self, store)  # which raises ValueError if there are too few or too many
        return
    for at, one in enumerate(own):
        one.assign(store[f"{at}"][...])
