"""What saved_model.pb says of a model, read without TensorFlow: its signatures, who wrote it.

The fields are those of tensorflow/core/protobuf/saved_model.proto and meta_graph.proto.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.wire import WireError, all_bytes, fields, signed

SERVE = "serve"
"""The tag of the graph that a server takes."""
SIGNATURE = "serving_default"
# tensorflow/core/framework/types.proto
DTYPES: Mapping[int, str] = {
    **{1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string"},
    **{8: "complex64", 9: "int64", 10: "bool", 14: "bfloat16", 17: "uint16", 18: "complex128"},
    **{19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64"},
}
_META_GRAPHS, _INFO, _SIGNATURES, _OBJECTS = 2, 1, 5, 7
_TAGS, _TENSORFLOW = 4, 5
_KEY, _VALUE = 1, 2
_INPUTS, _OUTPUTS = 1, 2
_NAME, _DTYPE, _SHAPE = 1, 2, 3
_DIMENSIONS, _SIZE, _UNKNOWN_RANK = 2, 1, 3


class NoSavedModelError(Exception):
    """The directory has no model that a server could take; the message says why."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or an output: the tensor's name in the graph, its type and its shape.

    A dimension of any size is None, and so is a shape of any rank.
    """

    tensor: str
    dtype: str
    shape: tuple[int | None, ...] | None

    def as_json(self) -> dict[str, Any]:
        """As `check-exports` prints it."""
        return {"dtype": self.dtype, "shape": None if self.shape is None else list(self.shape)}


@dataclass(frozen=True)
class Signature:
    """The inputs and outputs of a signature by name."""

    inputs: Mapping[str, TensorInfo] = field(default_factory=dict)
    outputs: Mapping[str, TensorInfo] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """As `check-exports` prints it."""
        return {
            "inputs": {name: one.as_json() for name, one in sorted(self.inputs.items())},
            "outputs": {name: one.as_json() for name, one in sorted(self.outputs.items())},
        }


@dataclass(frozen=True)
class MetaGraph:
    """One graph of a SavedModel. `tensorflow` is the version that wrote it.

    `is_2`: TensorFlow 2 wrote it, which writes variables/variables.index even if there are none.
    """

    tags: tuple[str, ...]
    tensorflow: str
    signatures: Mapping[str, Signature]
    is_2: bool


def read(version: Path) -> MetaGraph:
    """The graph that a server takes. Raises NoSavedModelError and OSError."""
    try:
        content = (version / layout.SAVED_MODEL).read_bytes()
    except FileNotFoundError:
        raise NoSavedModelError(
            f"it has no {layout.SAVED_MODEL}: it is half copied, or no SavedModel"
        ) from None
    try:
        graphs = [meta_graph(bytes(each)) for each in all_bytes(content, _META_GRAPHS)]
    except (WireError, UnicodeDecodeError) as error:
        raise NoSavedModelError(
            f"its {layout.SAVED_MODEL} can't be read ({error}): it is half copied, or damaged"
        ) from None
    for graph in graphs:
        if SERVE in graph.tags:
            return graph
    raise NoSavedModelError(f"it has no graph with the tag {SERVE}, which a server takes")


def meta_graph(content: bytes) -> MetaGraph:
    """A MetaGraphDef. Raises WireError."""
    tags: list[str] = []
    tensorflow = ""
    for info in all_bytes(content, _INFO):
        tags += [_text(tag) for tag in all_bytes(info, _TAGS)]
        tensorflow = "".join(_text(one) for one in all_bytes(info, _TENSORFLOW)) or tensorflow
    signatures = {
        name: Signature(_tensors(value, _INPUTS), _tensors(value, _OUTPUTS))
        for name, value in _entries(content, _SIGNATURES)
    }
    # That of what initializes tables is TensorFlow's own.
    shown = {name: one for name, one in signatures.items() if not name.startswith("__")}
    is_2 = any(True for _ in all_bytes(content, _OBJECTS))
    return MetaGraph(tuple(tags), tensorflow, shown, is_2)


def _tensors(signature: bytes, number: int) -> dict[str, TensorInfo]:
    return {name: _tensor(value) for name, value in _entries(signature, number)}


def _tensor(content: bytes) -> TensorInfo:
    name, dtype = "", 0
    shape: tuple[int | None, ...] | None = None
    for number, value in fields(content):
        if number == _NAME and isinstance(value, memoryview):
            name = _text(bytes(value))
        elif number == _DTYPE and isinstance(value, int):
            dtype = value
        elif number == _SHAPE and isinstance(value, memoryview):
            shape = shape_of(bytes(value))
    return TensorInfo(name, DTYPES.get(dtype, f"type {dtype}"), shape)


def shape_of(content: bytes) -> tuple[int | None, ...] | None:
    """A TensorShapeProto: a size that may be any is None, and so is a shape of any rank."""
    sizes: list[int | None] = []
    for number, value in fields(content):
        if number == _UNKNOWN_RANK and value:
            return None
        if number == _DIMENSIONS and isinstance(value, memoryview):
            size = 0
            for inner, given in fields(bytes(value)):
                if inner == _SIZE and isinstance(given, int):
                    size = signed(given)
            sizes.append(size if size >= 0 else None)
    return tuple(sizes)


def _entries(content: bytes, number: int) -> Iterator[tuple[str, bytes]]:
    """The entries of a map of texts to messages."""
    for entry in all_bytes(content, number):
        keys, values = [*all_bytes(entry, _KEY)], [*all_bytes(entry, _VALUE)]
        yield _text(keys[-1]) if keys else "", values[-1] if values else b""


def _text(content: bytes) -> str:
    return content.decode("utf-8")
