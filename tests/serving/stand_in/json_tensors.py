"""REST's JSON as tensors, and back (util/json_tensor.cc).

A number becomes what the signature says; that is how REST takes 1 for a float where gRPC refuses
it. For text that is no JSON the words are Python's, not RapidJSON's; the code is the same.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tests.serving.stand_in.status import StatusError, invalid
from tests.serving.stand_in.tensors import FIELDS

_NAMES = {
    1: "float",
    2: "double",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    19: "half",
    22: "uint32",
    23: "uint64",
}
_BOUNDS = {
    **dict.fromkeys((3, 4, 5, 6), (-(2**31), 2**31)),
    9: (-(2**63), 2**63),
    22: (0, 2**32),
    23: (0, 2**64),
}
_WORDS = 256  # of a value in an error

Inputs = Mapping[str, Any]  # TensorInfo by name


def fill(text: bytes, request: PredictRequest, inputs_of: Callable[[str], Inputs]) -> bool:
    """Fill the request; whether it came by rows (`instances`). Raises StatusError."""
    document = _parsed(text)
    if "signature_name" in document:
        if not isinstance(document["signature_name"], str):
            raise invalid(
                f"JSON Value: {_shown(document)} not formatted correctly. 'signature_name' key "
                "must be a string value."
            )
        request.model_spec.signature_name = document["signature_name"]
    inputs = inputs_of(request.model_spec.signature_name)
    if not inputs:
        name = request.model_spec.signature_name or "DEFAULT"
        raise invalid(f"Failed to get input map for signature: {name}")
    if "instances" in document and "inputs" in document:
        raise invalid(
            f"JSON Value: {_shown(document)} Not formatted correctly expecting only one of "
            "'inputs' or 'instances' keys to exist "
        )
    if "instances" in document:
        _rows(document, inputs, request)
        return True
    if "inputs" in document:
        _columns(document["inputs"], inputs, request)
        return False
    raise invalid("Missing 'inputs' or 'instances' key")


def _parsed(text: bytes) -> dict[str, Any]:
    if not text:
        raise invalid("JSON Parse error: The document is empty")
    try:
        document, _ = json.JSONDecoder().raw_decode(text.decode().lstrip())
    except json.JSONDecodeError as error:
        raise invalid(f"JSON Parse error: {error.msg} at offset: {error.pos}") from error
    except UnicodeDecodeError as error:
        raise invalid(f"JSON Parse error: {error.reason} at offset: {error.start}") from error
    if not isinstance(document, dict):
        raise invalid(f"JSON Value: {_shown(document)} Is not object")
    return document


def _rows(document: dict[str, Any], inputs: Inputs, request: PredictRequest) -> None:
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid(f"JSON Value: {_shown(document)} Expecting 'instances' to be an list/array")
    if not rows:
        raise invalid(f"JSON Value: {_shown(document)} No values in 'instances' array")
    if not isinstance(rows[0], dict) and len(inputs) > 1:
        raise invalid(
            "instances is a plain list, but expecting list of objects as multiple input tensors "
            "required as per tensorinfo_map"
        )
    named = _is_object(rows[0])
    shapes: dict[str, list[int]] = {}
    for number, row in enumerate(rows):
        if named != _is_object(row):
            words = "object but got list" if named else "value/list but got object"
            raise invalid(f"Expecting {words} at item {number} of input list")
        items = row if named else {next(iter(inputs)): row}
        for name, item in items.items():
            try:
                shape = _add(name, item, inputs, request)
                if shapes.setdefault(name, shape) != shape:
                    raise invalid(_sizes(shapes[name], shape))
            except StatusError as error:
                key = f" key: {name}" if named else ""
                raise invalid(
                    f"Failed to process element: {number}{key} of 'instances' list. Error: {error}"
                ) from error
        if set(items) != set(inputs):
            raise invalid(
                f"Failed to process element: {number} of 'instances' list. JSON object: "
                f"{_shown(row)} keys must be equal to: {','.join(sorted(inputs))}"
            )
    for name, shape in shapes.items():
        for size in (len(rows), *shape):
            request.inputs[name].tensor_shape.dim.add(size=size)


def _sizes(before: list[int], now: list[int]) -> str:
    if math.prod(before) != math.prod(now):
        return f"Expecting tensor size: {math.prod(before)} but got: {math.prod(now)}"
    before_words, words = (f"[{','.join(map(str, one))}]" for one in (before, now))
    return f"Expecting shape {before_words} but got: {words}"


def _columns(value: Any, inputs: Inputs, request: PredictRequest) -> None:
    if not _is_object(value):
        if len(inputs) > 1:
            raise invalid(
                "inputs is a plain value/list, but expecting an object as multiple input tensors "
                "required as per tensorinfo_map"
            )
        value = {next(iter(inputs)): value}
    for name in inputs:
        if name not in value:
            raise invalid(f"Missing named input: {name} in 'inputs' object.")
        for size in _add(name, value[name], inputs, request):
            request.inputs[name].tensor_shape.dim.add(size=size)


def _add(name: str, item: Any, inputs: Inputs, request: PredictRequest) -> list[int]:
    """Add an item's values to the tensor of that name; its shape. Raises StatusError."""
    if name not in inputs:
        raise invalid(f"JSON object: does not have named input: {name}")
    kind = inputs[name].dtype
    tensor = request.inputs[name]
    tensor.dtype = kind
    shape = _shape(item)
    values = [_value(one, kind) for one in _leaves(item, shape, 0)]
    if values:
        getattr(tensor, FIELDS[kind]).extend(values)
    return shape


def _shape(item: Any) -> list[int]:
    shape = []
    while isinstance(item, list):
        shape.append(len(item))
        if not item:
            break
        item = item[0]
    return shape


def _leaves(item: Any, shape: list[int], level: int) -> Iterator[Any]:
    if not isinstance(item, list):
        if level != len(shape):
            raise invalid(
                f"JSON Value: {_shown(item)} found at incorrect level: {level + 1} in the JSON "
                f"DOM. Expected at level: {len(shape)}"
            )
        yield item
        return
    if level >= len(shape):
        raise invalid(f"Encountered list at unexpected level: {level} expected < {len(shape)}")
    if len(item) != shape[level]:
        raise invalid(
            f"Encountered list at unexpected size: {len(item)} at level: {level} expected size: "
            f"{shape[level]}"
        )
    for one in item:
        yield from _leaves(one, shape, level + 1)


def _value(value: Any, kind: int) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if kind in (1, 2) and is_number:
        return float(np.float32(value)) if kind == 1 else float(value)
    if kind in _BOUNDS and isinstance(value, int) and not isinstance(value, bool):
        least, end = _BOUNDS[kind]
        if least <= value < end:
            return value
    if kind == 10 and isinstance(value, bool):
        return value
    if kind == 7 and isinstance(value, str):
        return value.encode()
    if kind == 7 and isinstance(value, dict):
        return _decoded(value)
    if kind not in (*_BOUNDS, 1, 2, 7, 10):
        raise StatusError(
            "UNIMPLEMENTED",
            f"Conversion of JSON Value: {_shown(value)} to type: {_NAMES.get(kind, kind)}",
        )
    raise invalid(
        f"JSON Value: {_shown(value)} Type: {_type(value)} is not of expected type: {_NAMES[kind]}"
    )


def _decoded(value: dict[str, Any]) -> bytes:
    if not _is_base64(value):
        raise invalid(f"JSON Value: {_shown(value)} not formatted correctly for base64 data")
    try:
        return base64.b64decode(value["b64"], validate=True)
    except binascii.Error as error:
        raise invalid("Unable to base64 decode") from error


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and len(value) == 1 and isinstance(value.get("b64"), str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return str(value)
    names = {type(None): "Null", dict: "Object", list: "Array", str: "String"}
    return names.get(type(value), "Number")


def _shown(value: Any) -> str:
    return json.dumps(value)[:_WORDS]


def text_of(outputs: Mapping[str, Any], by_rows: bool) -> str:
    """The answer as JSON, of TensorProtos by name. Raises StatusError."""
    if not outputs:
        raise invalid("Cannot convert empty tensor map to JSON")
    columns = {name: _nested(name, tensor) for name, tensor in sorted(outputs.items())}
    if not by_rows:
        return f'{{\n    "outputs": {_written(_alone(columns))}\n}}'
    sizes = {}
    for name, tensor in outputs.items():
        if not tensor.tensor_shape.dim:
            raise invalid(f"Tensor name: {name} has no shape information ")
        sizes[name] = tensor.tensor_shape.dim[0].size
        expected = next(iter(sizes.values()))
        if sizes[name] != expected:
            raise invalid(
                f"Tensor name: {name} has inconsistent batch size: {sizes[name]} expecting: "
                f"{expected}"
            )
    count = next(iter(sizes.values()))
    rows = [_alone({name: column[row] for name, column in columns.items()}) for row in range(count)]
    lines = ",\n        ".join(map(_written, rows))
    return f'{{\n    "predictions": [{lines}\n    ]\n}}'


def _alone(values: dict[str, Any]) -> Any:
    return values if len(values) > 1 else next(iter(values.values()))


def _nested(name: str, tensor: Any) -> Any:
    """A tensor's values in nested lists; a decimal is a _Number."""
    if tensor.dtype not in FIELDS or tensor.dtype not in _NAMES or tensor.dtype in (14, 19):
        kind = _NAMES.get(tensor.dtype, tensor.dtype)
        raise invalid(f"Failed to write JSON value for tensor type: {kind}")
    values: Any = iter(getattr(tensor, FIELDS[tensor.dtype]))
    if tensor.dtype in (1, 2):
        kind = np.float32 if tensor.dtype == 1 else np.float64
        values = (_Number(decimal(kind(value))) for value in values)
    elif tensor.dtype == 7 and name.endswith("_bytes"):
        values = ({"b64": base64.b64encode(value).decode()} for value in values)
    elif tensor.dtype == 7:
        values = (value.decode(errors="surrogateescape") for value in values)
    return _folded(values, [dim.size for dim in tensor.tensor_shape.dim])


def _folded(values: Iterator[Any], shape: list[int]) -> Any:
    if not shape:
        return next(values)
    return [_folded(values, shape[1:]) for _ in range(shape[0])]


class _Number(str):
    """A number as it is to be written."""


def _written(value: Any) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def decimal(value: Any) -> str:
    """A float as the true server writes it: six digits where they are enough."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "-Infinity" if value < 0 else "Infinity"
    text = f"{value:.6g}"
    if type(value)(text) != value:
        text = f"{value:.9g}" if isinstance(value, np.float32) else f"{value:.17g}"
    return text if "." in text or "e" in text else f"{text}.0"
