"""What a ps does with the run's files for its chief, and says of itself, beside TensorFlow's own
operations.

TensorFlow's PyFunc operation calls Python in the process where it is placed. So the chief asks over
the connection that it has anyway. This module is the ps' side.

It also writes here, by an operation of this process: one that the chief placed here would cancel
what workers do when the disk refuses it. One thread does it all, because TensorFlow leaves tens of
MiB in the memory arena of every thread that saves.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from tf_cluster_trainer import container_memory
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.flushing import flush

MEMORY = "tf_cluster.memory"
REACH = "tf_cluster.reach"
WRITE = "tf_cluster.write"
TOKEN = "token"
NOT_MOUNTED = "not mounted: "
"""Begins an answer to REACH that no later try will change."""
_FOR_GOOD = (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS)
_thread = ThreadPoolExecutor(1, thread_name_prefix="ps-files")


class _RefusedError(Exception):
    """It can't be done; the message is the answer."""


def serve() -> None:
    """Answer the chief from now on, in the threads of this process' TensorFlow server."""
    try:
        from tensorflow.python.lib.core import _pywrap_py_func
    except ImportError as error:
        log(f"this ps can't write checkpoints itself: {error}", WARNING)
        return
    _pywrap_py_func.initialize_py_trampoline(answer)


def answer(question: str, _device: Any, arguments: Sequence[Any]) -> Any:
    """What TensorFlow calls. Returns the answer's text as an array, or what went wrong.

    `arguments` are words and, after them, arrays. It never raises: see above.
    """
    words = [os.fsdecode(word) for word in np.ravel(arguments[0])]
    if question == MEMORY:  # not by the thread that may wait for a volume
        return _text(_memory())
    try:
        _thread.submit(_ANSWERS[question], words, arguments[1:]).result()
    except OSError as error:
        for_good = question == REACH and error.errno in _FOR_GOOD
        said = f"{error.filename or words[0]}: {error.strerror or error}"
        return _text((NOT_MOUNTED if for_good else "") + said)
    except _RefusedError as error:
        return _text(str(error))
    except Exception as error:  # the chief has to hear of it
        return _text(f"{type(error).__name__}: {error}")
    return _text("")


def _memory() -> str:
    """Bytes that this process takes, and that it may have; 0 where it may have all."""
    return f"{container_memory.taken()} {container_memory.limit() or 0}"


def _reach(words: Sequence[str], _arrays: Sequence[Any]) -> None:
    """Read the chief's token in a directory, and leave it there under this task's name."""
    directory, token, task = words
    if Path(directory, TOKEN).read_text(encoding="utf-8") != token:
        raise _RefusedError(f"{NOT_MOUNTED}{directory}/{TOKEN} is not what the chief wrote")
    left = Path(directory, task)
    left.write_text(token, encoding="utf-8")
    flush(left)


def _write(words: Sequence[str], arrays: Sequence[Any]) -> None:
    """Write slices as a bundle: its prefix, the place of each slice, the key of each.

    They are flushed from this node to the disk, or to the volume's server.
    """
    # Without the rest of TensorFlow's Python, as servers/bare_tensorflow.py says.
    from tensorflow.python.framework import errors
    from tensorflow.python.ops import gen_io_ops

    directory = Path(words[0]).parent
    if not directory.is_dir():  # the operation would make it again
        raise _RefusedError(f"{directory} is gone: the save was given up")
    prefix, places, keys = words[0], words[1 : 1 + len(arrays)], words[1 + len(arrays) :]
    try:
        gen_io_ops.save_v2(prefix, keys, places, [*map(_tensor, arrays)])
    except errors.OpError as error:
        # Before the file's name are names of functions.
        begins = error.message.find(str(directory))
        words_of_file = error.message[max(begins, 0) :].partition("[")[0].strip()
        raise _RefusedError(words_of_file) from error
    flush(Path(f"{prefix}{layout.ONE_DATA_FILE}"))


def _tensor(array: Any) -> Any:
    """The array as a tensor, without a copy where its type allows that."""
    from tensorflow.python.dlpack import dlpack
    from tensorflow.python.framework import constant_op, errors

    try:
        return dlpack.from_dlpack(array.__dlpack__())
    except (BufferError, errors.OpError):
        return constant_op.constant(array)


_ANSWERS: Mapping[str, Callable[[Sequence[str], Sequence[Any]], None]] = {
    REACH: _reach,
    WRITE: _write,
}


def _text(words: str) -> Any:
    return np.array(os.fsencode(words), dtype=object)
