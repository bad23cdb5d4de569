"""Tensors of a checkpoint as pages of its own files: they take no memory of this process.

The kernel reads such a page when it is used and drops it when memory is short. A page that someone
writes to becomes this process' own, and the file stays as it is.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import read
from tf_cluster_trainer.checkpoint.pieces import Piece, size
from tf_cluster_trainer.checkpoint.record import Checkpoint, TensorSpec
from tf_cluster_trainer.run_directory import layout

# Linux' numbers; Python's mmap chooses the address itself and has no names for them.
_MAP_FIXED, _MAP_NORESERVE = 0x10, 0x4000
_WRITABLE = mmap.PROT_READ | mmap.PROT_WRITE
_EMPTY = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE
_FAILED = ctypes.c_void_p(-1).value

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int),
    *(ctypes.c_int, ctypes.c_int, ctypes.c_int64),
)
_libc.munmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t)
_libc.memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)


class Pages:
    """Tensors of one checkpoint. `in_files` and `copied` count their bytes so far."""

    def __init__(self, saved: Checkpoint, held: Path | None = None) -> None:
        """`held`: a directory of the checkpoint's volume, to be made, for hard links of its files.

        With it another machine may remove the checkpoint while tensors are used. The caller removes
        `held` when none is.
        """
        self.in_files = 0
        self.copied = 0
        self._saved = saved
        self._held = held
        self._data = sorted(saved.path.glob(f"{layout.BUNDLE}.data-*"))

    def has(self, key: str) -> bool:
        """Whether the checkpoint was written so that this tensor can be mapped."""
        return key in self._saved.meta.files

    def array(self, key: str) -> Any:
        """A tensor that it `has`. Looks at every byte's checksum; what can't be mapped is copied.

        Raises DamagedError, and OSError if there is no room for its addresses.
        """
        meta = self._saved.meta
        first_rows = meta.slices.get(key, (0,))
        numbers = dict(zip(first_rows, meta.files[key], strict=True))
        whole = zeros(meta.tensors[key])
        for some in read.pieces(self._saved, [key]):
            for piece in some:
                first = piece.first or 0
                rows = whole[first : first + len(piece.value)]
                if self._lay(numbers.get(first), rows) and _are_equal(rows, piece):
                    self.in_files += rows.nbytes
                else:
                    rows[...] = piece.value
                    self.copied += rows.nbytes
        return whole

    def _lay(self, number: int | None, rows: Any) -> bool:
        """Lay the beginning of a data file where these rows are; False if that can't be."""
        if number is None or number >= len(self._data) or rows.ctypes.data % mmap.PAGESIZE:
            return False
        try:
            file = os.open(self._kept(self._data[number]), os.O_RDONLY)
        except OSError:
            return False
        try:
            if os.fstat(file).st_size < rows.nbytes:
                return False
            where, count = rows.ctypes.data, rows.nbytes
            if _libc.mmap(where, count, _WRITABLE, mmap.MAP_PRIVATE | _MAP_FIXED, file, 0) == where:
                return True
            # A volume may refuse when the zeros are no more there.
            if _libc.mmap(where, count, _WRITABLE, _EMPTY | _MAP_FIXED, -1, 0) != where:
                raise MemoryError(f"the addresses of {count} bytes are lost")
            return False
        finally:
            os.close(file)

    def _kept(self, file: Path) -> Path:
        if self._held is None:
            return file
        link = self._held / file.name
        if not link.exists():
            self._held.mkdir(parents=True, exist_ok=True)
            os.link(file, link)
        return link


def zeros(spec: TensorSpec) -> Any:
    """An array of zeros that takes memory only where something is written.

    Raises OSError if there is no room for its addresses.
    """
    count = -(-size(spec) // mmap.PAGESIZE) * mmap.PAGESIZE
    where = _libc.mmap(None, count, _WRITABLE, _EMPTY, -1, 0)
    if where in (None, _FAILED):
        raise OSError(ctypes.get_errno(), f"no room for the addresses of {count} bytes")
    buffer = (ctypes.c_byte * count).from_address(where)
    # When the last array and tensor are gone; those that are there at the exit keep it.
    weakref.finalize(buffer, _libc.munmap, where, count).atexit = False
    dtype = tf.as_dtype(spec.dtype).as_numpy_dtype
    bytes_of_all = memoryview(buffer)[: size(spec)]
    return np.frombuffer(bytes_of_all, dtype).reshape(spec.shape)


def _are_equal(rows: Any, piece: Piece) -> bool:
    """Whether all bytes are: `piece` came through its checksum."""
    value = np.ascontiguousarray(piece.value)
    if value.nbytes != rows.nbytes:
        return False
    return bool(_libc.memcmp(rows.ctypes.data, value.ctypes.data, rows.nbytes) == 0)
