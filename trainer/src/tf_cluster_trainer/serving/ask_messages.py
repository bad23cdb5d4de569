"""The messages of a model server's Predict, without TensorFlow and without its server's package.

Both are large, and of both only these few fields are needed. A test compares each field with that
of the official classes (tensorflow-serving-api, TensorFlow's tensor.proto).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, wrappers_pb2

PREDICT = "/tensorflow.serving.PredictionService/Predict"
Array = npt.NDArray[Any]

STRING, BFLOAT16, HALF = 7, 14, 19
KINDS = {
    "float32": 1,
    "float64": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 5,
    "int8": 6,
    "string": STRING,
    "complex64": 8,
    "int64": 9,
    "bool": 10,
    "bfloat16": BFLOAT16,
    "uint16": 17,
    "complex128": 18,
    "float16": HALF,
    "uint32": 22,
    "uint64": 23,
}
"""TensorFlow's numbers of the types that a tensor's values may have (DataType)."""
_VALUES = {
    1: "float_val",
    2: "double_val",
    **dict.fromkeys((3, 4, 5, 6, 17), "int_val"),
    8: "scomplex_val",
    9: "int64_val",
    10: "bool_val",
    BFLOAT16: "half_val",
    18: "dcomplex_val",
    HALF: "half_val",
    22: "uint32_val",
    23: "uint64_val",
}
_FIELDS: Mapping[str, Mapping[str, tuple[int, str]]] = {
    "tensorflow.TensorShapeProto.Dim": {"size": (1, "int64"), "name": (2, "string")},
    "tensorflow.TensorShapeProto": {
        "dim": (2, "repeated tensorflow.TensorShapeProto.Dim"),
        "unknown_rank": (3, "bool"),
    },
    "tensorflow.TensorProto": {
        "dtype": (1, "int32"),  # an enum's number
        "tensor_shape": (2, "tensorflow.TensorShapeProto"),
        "tensor_content": (4, "bytes"),
        "float_val": (5, "repeated float"),
        "double_val": (6, "repeated double"),
        "int_val": (7, "repeated int32"),
        "string_val": (8, "repeated bytes"),
        "scomplex_val": (9, "repeated float"),
        "int64_val": (10, "repeated int64"),
        "bool_val": (11, "repeated bool"),
        "dcomplex_val": (12, "repeated double"),
        "half_val": (13, "repeated int32"),
        "uint32_val": (16, "repeated uint32"),
        "uint64_val": (17, "repeated uint64"),
    },
    "tensorflow.serving.ModelSpec": {
        "name": (1, "string"),
        "version": (2, "google.protobuf.Int64Value"),
        "signature_name": (3, "string"),
    },
    "tensorflow.serving.PredictRequest": {
        "model_spec": (1, "tensorflow.serving.ModelSpec"),
        "inputs": (2, "map tensorflow.TensorProto"),
    },
    "tensorflow.serving.PredictResponse": {
        "outputs": (1, "map tensorflow.TensorProto"),
        "model_spec": (2, "tensorflow.serving.ModelSpec"),
    },
}


class MessageError(Exception):
    """A tensor that can't be sent or read; the message says why."""


def request_of(
    model: str, version: int, signature: str, inputs: Mapping[str, tuple[str, Array]]
) -> bytes:
    """A PredictRequest; `inputs` are type names (KINDS) and arrays. Raises MessageError."""
    made = classes()["tensorflow.serving.PredictRequest"]()
    made.model_spec.name = model
    made.model_spec.version.value = version
    made.model_spec.signature_name = signature
    for name, (kind, array) in inputs.items():
        tensor = made.inputs[name]
        tensor.dtype = KINDS[kind]
        for size in array.shape:
            tensor.tensor_shape.dim.add(size=size)
        if kind == "string":
            tensor.string_val.extend(array.reshape(-1).tolist())
        else:
            tensor.tensor_content = array.astype(array.dtype.newbyteorder("<")).tobytes()
    text: bytes = made.SerializeToString()
    return text


def answer_of(data: bytes) -> tuple[int, dict[str, tuple[str, Array]]]:
    """The version that answered, and its outputs as type names and arrays. Raises MessageError."""
    found = classes()["tensorflow.serving.PredictResponse"].FromString(data)
    outputs = {name: _array(name, tensor) for name, tensor in found.outputs.items()}
    return found.model_spec.version.value, outputs


def _array(name: str, tensor: Any) -> tuple[str, Array]:
    """One output. A list of values that is too short repeats its last one (tensor.proto)."""
    kind = next((word for word, number in KINDS.items() if number == tensor.dtype), None)
    if kind is None:
        raise MessageError(f"output {name!r} has TensorFlow's type number {tensor.dtype}")
    shape = [dim.size for dim in tensor.tensor_shape.dim]
    count = int(np.prod(shape))
    if kind == "string":
        words = np.empty(len(tensor.string_val), np.object_)
        words[:] = list(tensor.string_val)
        return kind, _filled(name, words, count).reshape(shape)
    dtype = dtype_of(kind)
    if tensor.tensor_content:
        flat = np.frombuffer(tensor.tensor_content, dtype)
    else:
        values = list(getattr(tensor, _VALUES[tensor.dtype]))
        if tensor.dtype in (BFLOAT16, HALF):
            flat = np.array(values, np.uint16).view(dtype)
        elif kind.startswith("complex"):
            flat = np.array(values, np.float32 if kind == "complex64" else np.float64).view(dtype)
        else:
            flat = np.array(values, dtype)
    return kind, _filled(name, flat, count).reshape(shape)


def _filled(name: str, flat: Array, count: int) -> Array:
    if len(flat) < count and len(flat):
        return np.concatenate([flat, np.repeat(flat[-1:], count - len(flat))])
    if len(flat) != count:
        raise MessageError(f"output {name!r} has {len(flat)} values for {count} places")
    return flat


def dtype_of(kind: str) -> Any:
    """NumPy's type of a type name (KINDS)."""
    if kind == "bfloat16":
        import ml_dtypes  # TensorFlow brings it

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(np.object_ if kind == "string" else kind)


@functools.cache
def classes() -> Mapping[str, Any]:
    """The message classes by their full names, in a pool of their own."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    for package in ("tensorflow", "tensorflow.serving"):
        pool.AddSerializedFile(_file(package).SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(name)) for name in _FIELDS
    }


def _file(package: str) -> Any:
    """The description of a package's messages."""
    names = [name for name in _FIELDS if _package(name) == package]
    file = descriptor_pb2.FileDescriptorProto(
        name=f"{package}.proto",
        package=package,
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name, "tensorflow.proto"][
            : 1 + (package != "tensorflow")
        ],
    )
    made: dict[str, Any] = {}
    for name in sorted(names, key=len):
        outer, _, own = name.rpartition(".")
        inside = made[outer].nested_type if outer in made else file.message_type
        made[name] = inside.add(name=own)
    for name in names:
        for field, (number, kind) in _FIELDS[name].items():
            _add(made[name], name, field, number, kind)
    return file


def _package(name: str) -> str:
    return "tensorflow.serving" if name.startswith("tensorflow.serving.") else "tensorflow"


def _add(made: Any, message: str, field: str, number: int, kind: str) -> None:
    words = descriptor_pb2.FieldDescriptorProto
    many, _, kind = kind.rpartition(" ")
    one = made.field.add(name=field, number=number, label=words.LABEL_OPTIONAL)
    if many:
        one.label = words.LABEL_REPEATED
    if many == "map":
        entry = "".join(word.capitalize() for word in field.split("_")) + "Entry"
        pair = made.nested_type.add(name=entry)
        pair.options.map_entry = True
        _add(pair, message, "key", 1, "string")
        _add(pair, message, "value", 2, kind)
        kind = f"{message}.{entry}"
    if "." in kind:
        one.type, one.type_name = words.TYPE_MESSAGE, f".{kind}"
    else:
        one.type = getattr(words, f"TYPE_{kind.upper()}")
