"""Loads a SavedModel and runs it through TensorFlow's C API: the loader that the server uses.

ctypes opens the library that lies in TensorFlow's wheel; Python's `tensorflow` is never imported.
That takes a tenth of a second instead of some, and a model can be run by another TensorFlow than
the one that is installed. The functions are those of tensorflow/c/c_api.h and tf_tensor.h.
"""

from __future__ import annotations

import ctypes
import importlib.util
from collections.abc import Mapping, Sequence
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_void_p
from pathlib import Path
from typing import Any

import numpy as np

from tf_cluster_trainer.serving.saved_model import (
    DTYPES,
    SERVE,
    MetaGraph,
    Signature,
    TensorInfo,
    meta_graph,
)

LIBRARY = "libtensorflow_cc.so.2"
_NUMBERS = {name: number for number, name in DTYPES.items()}
_TORN = (5, 11, 15)  # TF_NOT_FOUND, TF_OUT_OF_RANGE, TF_DATA_LOSS
_STRING_BYTES = 24  # sizeof(TF_TString), tensorflow/core/platform/ctstring_internal.h


class SessionError(Exception):
    """TensorFlow refused it; the message is its own.

    `torn`: as where a file is missing, or ends too soon.
    """

    def __init__(self, message: str, *, torn: bool = False) -> None:
        super().__init__(message)
        self.torn = torn


class _Output(ctypes.Structure):
    _fields_ = (("operation", c_void_p), ("index", c_int))


class _Buffer(ctypes.Structure):
    _fields_ = (("data", c_void_p), ("length", c_size_t), ("deallocator", c_void_p))


def installed_library() -> Path:
    """The library of the TensorFlow that Python would import. Raises SessionError."""
    found = importlib.util.find_spec("tensorflow")
    for place in (found.submodule_search_locations if found else None) or ():
        if (path := Path(place, LIBRARY)).is_file():
            return path
    raise SessionError(f"there is no TensorFlow here ({LIBRARY}): run this in the trainer's image")


class Session:
    """A loaded model. It lives as long as the process: one model for each is meant."""

    def __init__(self, version: Path, library: Path) -> None:
        """Load the version with the library. Raises SessionError."""
        self._api = _opened(library)
        self._graph = c_void_p(self._api.TF_NewGraph())
        options = c_void_p(self._api.TF_NewSessionOptions())
        meta = self._api.TF_NewBuffer()
        tags = (c_char_p * 1)(SERVE.encode())
        status = c_void_p(self._api.TF_NewStatus())
        self._session = c_void_p(
            self._api.TF_LoadSessionFromSavedModel(
                options, None, bytes(version), tags, 1, self._graph, meta, status
            )
        )
        self._check(status)
        held = meta.contents
        self.meta_graph: MetaGraph = meta_graph(ctypes.string_at(held.data, held.length))

    @property
    def tensorflow(self) -> str:
        """The version of the library."""
        return tensorflow_version(self._api)

    def run(self, signature: Signature, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What the signature gives for NumPy arrays by name; bfloat16 is float32 here.

        Raises SessionError where an input is missing or not known, or TensorFlow refuses it.
        """
        wrong = inputs.keys() ^ signature.inputs.keys()
        if wrong:
            names = ", ".join(sorted(signature.inputs))
            raise SessionError(f"{', '.join(sorted(wrong))}: its inputs are {names}")
        given = {name: self._tensor(signature.inputs[name], inputs[name]) for name in inputs}
        asked = list(signature.outputs.items())
        got = (c_void_p * len(asked))()
        status = c_void_p(self._api.TF_NewStatus())
        self._api.TF_SessionRun(
            self._session,
            None,
            self._places([signature.inputs[name] for name in given]),
            (c_void_p * len(given))(*given.values()),
            len(given),
            self._places([info for _, info in asked]),
            got,
            len(asked),
            None,
            0,
            None,
            status,
        )
        self._check(status)
        return {
            name: self._array(info, tensor)
            for (name, info), tensor in zip(asked, got, strict=True)
            if tensor is not None
        }

    def _places(self, tensors: Sequence[TensorInfo]) -> Any:
        places = (_Output * len(tensors))()
        for place, info in zip(places, tensors, strict=True):
            name, _, index = info.tensor.partition(":")
            operation = self._api.TF_GraphOperationByName(self._graph, name.encode())
            if not operation:
                raise SessionError(f"the graph has no operation {name}")
            place.operation, place.index = operation, int(index or 0)
        return places

    def _tensor(self, info: TensorInfo, array: Any) -> int:
        kind = _NUMBERS[info.dtype]
        if info.dtype == "string":
            return self._strings(kind, array)
        if info.dtype == "bfloat16":
            bits = np.ascontiguousarray(array, np.float32).view(np.uint32) >> 16
            array = bits.astype(np.uint16)
        else:
            array = np.asarray(array, info.dtype, order="C")  # keeps a scalar one
        tensor = self._allocated(kind, array.shape, array.nbytes)
        ctypes.memmove(self._api.TF_TensorData(tensor), array.ctypes.data, array.nbytes)
        return tensor

    def _strings(self, kind: int, array: Any) -> int:
        array = np.asarray(array, dtype=object)
        tensor = self._allocated(kind, array.shape, array.size * _STRING_BYTES)
        data = self._api.TF_TensorData(tensor)
        for at, one in enumerate(array.ravel()):
            place = c_void_p(data + at * _STRING_BYTES)
            self._api.TF_StringInit(place)
            self._api.TF_StringCopy(place, one, len(one))
        return tensor

    def _allocated(self, kind: int, shape: Sequence[int], size: int) -> int:
        sizes = (c_int64 * len(shape))(*shape)
        return int(self._api.TF_AllocateTensor(kind, sizes, len(shape), size))

    def _array(self, info: TensorInfo, tensor: int) -> Any:
        api = self._api
        shape = tuple(api.TF_Dim(tensor, at) for at in range(api.TF_NumDims(tensor)))
        data, size = api.TF_TensorData(tensor), api.TF_TensorByteSize(tensor)
        if info.dtype == "string":
            count = int(np.prod(shape, dtype=np.int64))
            found = np.empty(count, dtype=object)
            for at in range(count):
                place = c_void_p(data + at * _STRING_BYTES)
                length = api.TF_StringGetSize(place)
                found[at] = ctypes.string_at(api.TF_StringGetDataPointer(place), length)
            return found.reshape(shape)
        content = ctypes.string_at(data, size) if size else b""
        if info.dtype == "bfloat16":
            bits = np.frombuffer(content, np.uint16).astype(np.uint32) << 16
            return bits.view(np.float32).reshape(shape)
        return np.frombuffer(content, info.dtype).reshape(shape)

    def _check(self, status: c_void_p) -> None:
        if code := self._api.TF_GetCode(status):
            message = self._api.TF_Message(status).decode("utf-8", "replace")
            torn = code in _TORN and "Op type not registered" not in message
            raise SessionError(message, torn=torn)


def library_version(library: Path) -> str:
    """The version of a library of TensorFlow. Raises SessionError."""
    return tensorflow_version(_opened(library))


def tensorflow_version(api: Any) -> str:
    """The version of an opened library."""
    return str(api.TF_Version().decode())


def _opened(library: Path) -> Any:
    try:
        api = ctypes.CDLL(str(library))
    except OSError as error:
        raise SessionError(f"TensorFlow's library can't be opened: {error}") from None
    pointer, outputs, tensors = c_void_p, POINTER(_Output), POINTER(c_void_p)
    forms: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "TF_Version": (c_char_p, ()),
        "TF_NewGraph": (pointer, ()),
        "TF_NewStatus": (pointer, ()),
        "TF_NewSessionOptions": (pointer, ()),
        "TF_NewBuffer": (POINTER(_Buffer), ()),
        "TF_GetCode": (c_int, (pointer,)),
        "TF_Message": (c_char_p, (pointer,)),
        "TF_LoadSessionFromSavedModel": (
            pointer,
            (
                *(pointer, pointer, c_char_p, POINTER(c_char_p), c_int),
                *(pointer, POINTER(_Buffer), pointer),
            ),
        ),
        "TF_GraphOperationByName": (pointer, (pointer, c_char_p)),
        "TF_SessionRun": (
            None,
            (
                *(pointer, pointer, outputs, tensors, c_int, outputs, tensors, c_int),
                *(pointer, c_int, pointer, pointer),
            ),
        ),
        "TF_AllocateTensor": (pointer, (c_int, POINTER(c_int64), c_int, c_size_t)),
        "TF_TensorData": (pointer, (pointer,)),
        "TF_TensorByteSize": (c_size_t, (pointer,)),
        "TF_NumDims": (c_int, (pointer,)),
        "TF_Dim": (c_int64, (pointer, c_int)),
        "TF_StringInit": (None, (pointer,)),
        "TF_StringCopy": (None, (pointer, c_char_p, c_size_t)),
        "TF_StringGetSize": (c_size_t, (pointer,)),
        "TF_StringGetDataPointer": (pointer, (pointer,)),
    }
    for name, (result, arguments) in forms.items():
        try:
            function = getattr(api, name)
        except AttributeError:
            raise SessionError(f"{library.name} has no function {name}") from None
        function.restype, function.argtypes = result, arguments
    return api
