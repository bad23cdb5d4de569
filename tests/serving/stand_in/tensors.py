"""Arrays as TensorProtos, with a field for each value: Tensor::AsProtoField of the true server."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.serving.stand_in.runtime import Array, number_of

FIELDS = {
    1: "float_val",
    2: "double_val",
    3: "int_val",
    4: "int_val",
    5: "int_val",
    6: "int_val",
    7: "string_val",
    8: "scomplex_val",
    9: "int64_val",
    10: "bool_val",
    14: "half_val",
    17: "int_val",
    18: "dcomplex_val",
    19: "half_val",
    22: "uint32_val",
    23: "uint64_val",
}
"""The field that holds the values of a DataType."""


def proto_of(array: Array) -> Any:
    """The TensorProto of an array."""
    from tensorflow.core.framework import tensor_pb2

    kind = number_of(array.dtype)
    made = tensor_pb2.TensorProto(dtype=kind)
    for size in array.shape:
        made.tensor_shape.dim.add(size=size)
    flat = array.reshape(-1)
    if kind in (14, 19):
        flat = flat.view(np.uint16)
    elif kind in (8, 18):
        flat = flat.view(np.float32 if kind == 8 else np.float64)
    getattr(made, FIELDS[kind]).extend(flat.tolist())
    return made
