"""Tensors as JSON: what a recorded request and its answer are made of. Imports no TensorFlow.

    {"dtype": "float32", "shape": [1, 2], "values": [[0.5, "NaN"]]}

`values` are nested lists by the shape; a scalar's is one value. A string is {"b64": "…"}, as in
TensorFlow Serving's REST API. JSON has no NaN and no infinity, so these are words.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

STRING, BFLOAT16 = "string", "bfloat16"
FLOATS = ("float16", "float32", "float64", BFLOAT16)
_OTHERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *_OTHERS, STRING)
"""Those that can be recorded."""
WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
"""What stands for a float that JSON has not."""


def dtype_of(array: Any) -> str:
    """TensorFlow's name of an array's type; arrays of Python objects are strings."""
    return STRING if array.dtype.kind in "OSU" else str(array.dtype.name)


def as_json(array: Any) -> dict[str, Any]:
    """A NumPy array as JSON holds it. Raises ValueError for a type that is none of DTYPES."""
    dtype = dtype_of(array)
    if dtype not in DTYPES:
        raise ValueError(f"a tensor of type {dtype} can't be recorded")
    say = _string if dtype == STRING else _float if dtype in FLOATS else _plain
    return {"dtype": dtype, "shape": list(array.shape), "values": _nested(array, say)}


def as_array(told: Mapping[str, Any]) -> Any:
    """The NumPy array that JSON holds; bfloat16 as float32, which has all its values.

    Raises ValueError where dtype, shape and values do not go together.
    """
    dtype, shape = str(told["dtype"]), tuple(told["shape"])
    if dtype not in DTYPES:
        raise ValueError(f"a tensor of type {dtype} can't be read")
    flat = list(_flat(told["values"], len(shape)))
    if len(flat) != math.prod(shape):
        raise ValueError(f"{len(flat)} values are no tensor of shape {list(shape)}")
    if dtype == STRING:
        strings = np.empty(len(flat), dtype=object)
        for at, one in enumerate(flat):
            strings[at] = base64.b64decode(one["b64"], validate=True)
        return strings.reshape(shape)
    numbers = [WORDS[one] if isinstance(one, str) else one for one in flat]
    return np.array(numbers, np.float32 if dtype == BFLOAT16 else dtype).reshape(shape)


def _nested(array: Any, say: Callable[[Any], Any]) -> Any:
    if array.ndim == 0:
        return say(array[()])
    return [_nested(one, say) if array.ndim > 1 else say(one) for one in array]


def _flat(values: Any, rank: int) -> Iterator[Any]:
    if rank == 0:
        yield values
        return
    if not isinstance(values, list):
        raise ValueError("the values are nested less deep than the shape says")
    for one in values:
        yield from _flat(one, rank - 1)


def _string(value: Any) -> dict[str, str]:
    told = value if isinstance(value, bytes) else str(value).encode()
    return {"b64": base64.b64encode(told).decode()}


def _float(value: Any) -> float | str:
    """The shortest decimal that is this value in its own type."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    # ml_dtypes' bfloat16 is read back as float32, which would make another number of "0.1".
    return float(str(value)) if isinstance(value, np.floating) else float(value)


def _plain(value: Any) -> Any:
    return value.item()
