"""SavedModels in TensorFlow's C library: the loader and the sessions that the true server uses.

`import tensorflow` is never carried out in this process: its library is opened, and its message
classes are imported under an empty package. Errors are the runtime's own, code and words.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.serving.stand_in.status import CODES, StatusError

Array = npt.NDArray[Any]
STRING, BFLOAT16 = 7, 14
_STRING_BYTES = 24  # sizeof(TF_TString): tsl/platform/ctstring_internal.h
_KINDS: dict[int, Any] = {
    1: np.float32,
    2: np.float64,
    3: np.int32,
    4: np.uint8,
    5: np.int16,
    6: np.int8,
    STRING: np.object_,
    8: np.complex64,
    9: np.int64,
    10: np.bool_,
    17: np.uint16,
    18: np.complex128,
    19: np.float16,
    22: np.uint32,
    23: np.uint64,
}


@functools.cache
def _place() -> Path:
    """Where TensorFlow's package lies."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError("there is no TensorFlow here")
    return Path(next(iter(spec.submodule_search_locations)))


def without_its_imports() -> None:
    """Let `tensorflow.core…_pb2` be imported without all the rest of TensorFlow."""
    if "tensorflow" not in sys.modules:
        place = _place()
        package = ModuleType("tensorflow")
        package.__path__ = [str(place)]
        package.__spec__ = importlib.machinery.ModuleSpec("tensorflow", None, is_package=True)
        sys.modules["tensorflow"] = package


class _Buffer(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("length", ctypes.c_size_t), ("free", ctypes.c_void_p))


class _Output(ctypes.Structure):
    _fields_ = (("operation", ctypes.c_void_p), ("index", ctypes.c_int))


_POINTERS = """TF_NewStatus TF_NewGraph TF_NewBuffer TF_NewSessionOptions TF_AllocateTensor
    TF_NewBufferFromString TF_LoadSessionFromSavedModel TF_GraphOperationByName TF_TensorData
    TF_StringGetDataPointer"""


class Library:
    """TensorFlow's C library, opened once."""

    def __init__(self) -> None:
        place = _place()
        ctypes.CDLL(str(place / "libtensorflow_framework.so.2"), ctypes.RTLD_GLOBAL)
        self.c = ctypes.CDLL(str(place / "libtensorflow_cc.so.2"), ctypes.RTLD_GLOBAL)
        for name in _POINTERS.split():
            getattr(self.c, name).restype = ctypes.c_void_p
        for name in ("TF_Version", "TF_Message"):
            getattr(self.c, name).restype = ctypes.c_char_p
        self.c.TF_Dim.restype = ctypes.c_int64
        self.c.TF_TensorByteSize.restype = ctypes.c_size_t
        self.c.TF_StringGetSize.restype = ctypes.c_size_t

    @property
    def version(self) -> str:
        """TensorFlow's version."""
        found: bytes = self.c.TF_Version()
        return found.decode()

    @contextmanager
    def status(self) -> Iterator[ctypes.c_void_p]:
        """A TF_Status; raises StatusError afterwards if it is not OK."""
        status = ctypes.c_void_p(self.c.TF_NewStatus())
        try:
            yield status
            code = self.c.TF_GetCode(status)
            if code:
                words = self.c.TF_Message(status).decode(errors="replace")
                raise StatusError(CODES[code] if code < len(CODES) else "UNKNOWN", words)
        finally:
            self.c.TF_DeleteStatus(status)

    @contextmanager
    def buffer(self, data: bytes) -> Iterator[ctypes.c_void_p]:
        """A TF_Buffer that holds the bytes."""
        made = ctypes.c_void_p(self.c.TF_NewBufferFromString(data, ctypes.c_size_t(len(data))))
        try:
            yield made
        finally:
            self.c.TF_DeleteBuffer(made)

    def array_of(self, proto: bytes) -> Array:
        """The array of a serialized TensorProto. Raises StatusError."""
        tensor = ctypes.c_void_p(self.c.TF_AllocateTensor(1, None, 0, ctypes.c_size_t(4)))
        try:
            with self.buffer(proto) as buffer, self.status() as status:
                self.c.TF_TensorFromProto(buffer, tensor, status)
            return self._array(tensor)
        finally:
            self.c.TF_DeleteTensor(tensor)

    def _array(self, tensor: ctypes.c_void_p) -> Array:
        kind = self.c.TF_TensorType(tensor)
        shape = [self.c.TF_Dim(tensor, axis) for axis in range(self.c.TF_NumDims(tensor))]
        if 0 in shape:  # it has no buffer, and to ask for its size would end the process
            return np.empty(shape, dtype_of(kind))
        size = self.c.TF_TensorByteSize(tensor)
        data = self.c.TF_TensorData(tensor)
        if kind == STRING:
            words = [self._string(data + at) for at in range(0, size, _STRING_BYTES)]
            array = np.empty(len(words), np.object_)
            array[:] = words
            return array.reshape(shape)
        return np.frombuffer(ctypes.string_at(data, size), dtype_of(kind)).reshape(shape)

    def _string(self, address: int) -> bytes:
        place = ctypes.c_void_p(address)
        size = self.c.TF_StringGetSize(place)
        return ctypes.string_at(self.c.TF_StringGetDataPointer(place), size) if size else b""

    def tensor(self, array: Array) -> ctypes.c_void_p:
        """A TF_Tensor with a copy of the array; whoever asks deletes it."""
        kind = number_of(array.dtype)
        shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        size = array.size * _STRING_BYTES if kind == STRING else array.nbytes
        made = ctypes.c_void_p(
            self.c.TF_AllocateTensor(kind, shape, array.ndim, ctypes.c_size_t(size))
        )
        if not array.size:
            return made
        data = self.c.TF_TensorData(made)
        if kind == STRING:
            for number, word in enumerate(array.reshape(-1)):
                place = ctypes.c_void_p(data + number * _STRING_BYTES)
                self.c.TF_StringInit(place)
                self.c.TF_StringCopy(place, word, ctypes.c_size_t(len(word)))
        else:
            raw = np.ascontiguousarray(array)
            ctypes.memmove(data, raw.ctypes.data, size)
        return made


def dtype_of(kind: int) -> Any:
    """NumPy's type of a DataType. Raises StatusError for one that has none."""
    if kind == BFLOAT16:
        import ml_dtypes

        return ml_dtypes.bfloat16
    if kind not in _KINDS:
        raise StatusError("UNIMPLEMENTED", f"the stand-in knows no tensors of DataType {kind}")
    return _KINDS[kind]


def number_of(dtype: Any) -> int:
    """The DataType of a NumPy type."""
    if dtype.name == "bfloat16":
        return BFLOAT16
    return next(number for number, kind in _KINDS.items() if np.dtype(kind) == dtype)


class Session:
    """A SavedModel that is loaded. `signatures` are its SignatureDefs by name."""

    def __init__(
        self, library: Library, path: str, tags: Sequence[str], options: bytes = b""
    ) -> None:
        """Load it; `options` is a serialized ConfigProto. Raises StatusError."""
        from tensorflow.core.protobuf import meta_graph_pb2

        self._library, self._c = library, library.c
        self._graph = ctypes.c_void_p(self._c.TF_NewGraph())
        self._session = ctypes.c_void_p()
        settings = ctypes.c_void_p(self._c.TF_NewSessionOptions())
        found = ctypes.c_void_p(self._c.TF_NewBuffer())
        words = (ctypes.c_char_p * len(tags))(*(tag.encode() for tag in tags))
        try:
            if options:
                with library.status() as status:
                    size = ctypes.c_size_t(len(options))
                    self._c.TF_SetConfig(settings, options, size, status)
            with library.status() as status:
                session = self._c.TF_LoadSessionFromSavedModel(
                    settings, None, path.encode(), words, len(tags), self._graph, found, status
                )
                self._session = ctypes.c_void_p(session)
            buffer = ctypes.cast(found, ctypes.POINTER(_Buffer)).contents
            graph = meta_graph_pb2.MetaGraphDef()
            graph.ParseFromString(ctypes.string_at(buffer.data, buffer.length))
            self.signatures: Mapping[str, Any] = dict(graph.signature_def)
        except BaseException:
            self._c.TF_DeleteGraph(self._graph)
            raise
        finally:
            self._c.TF_DeleteBuffer(found)
            self._c.TF_DeleteSessionOptions(settings)

    def run(
        self, feeds: Mapping[str, Array], fetches: Sequence[str], options: bytes = b""
    ) -> list[Array]:
        """The arrays of these tensors; `options` is a serialized RunOptions. Raises StatusError."""
        c, library = self._c, self._library
        given = [library.tensor(array) for array in feeds.values()]
        answers = (ctypes.c_void_p * len(fetches))()
        try:
            with library.buffer(options) as run_options, library.status() as status:
                c.TF_SessionRun(
                    self._session,
                    run_options if options else None,
                    (_Output * len(feeds))(*map(self._output, feeds)),
                    (ctypes.c_void_p * len(given))(*given),
                    len(given),
                    (_Output * len(fetches))(*map(self._output, fetches)),
                    answers,
                    len(fetches),
                    None,
                    0,
                    None,
                    status,
                )
            return [library._array(ctypes.c_void_p(answer)) for answer in answers]
        finally:
            for tensor in (*given, *(ctypes.c_void_p(one) for one in answers if one)):
                c.TF_DeleteTensor(tensor)

    def array_of(self, proto: bytes) -> Array:
        """The array of a serialized TensorProto. Raises StatusError."""
        return self._library.array_of(proto)

    def _output(self, name: str) -> _Output:
        operation, _, index = name.partition(":")
        found = self._c.TF_GraphOperationByName(self._graph, operation.encode())
        if not found:
            raise StatusError("INVALID_ARGUMENT", f"Tensor {name} is not in the graph")
        return _Output(found, int(index or 0))

    def close(self) -> None:
        """Give its memory back; nothing may run any more."""
        with self._library.status() as status:
            self._c.TF_CloseSession(self._session, status)
        with self._library.status() as status:
            self._c.TF_DeleteSession(self._session, status)
        self._c.TF_DeleteGraph(self._graph)
