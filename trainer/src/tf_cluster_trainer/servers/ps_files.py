"""What a ps does with the run's files for its chief, beside TensorFlow's own operations.

TensorFlow's PyFunc operation calls Python in the process where it is placed. So the chief asks over
the connection that it has anyway. This module is the ps' side; it needs no TensorFlow.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tf_cluster_trainer.log import WARNING, log

REACH = "tf_cluster.reach"
FLUSH = "tf_cluster.flush"
TOKEN = "token"


def serve() -> None:
    """Answer the chief from now on, in the threads of this process' TensorFlow server."""
    try:
        from tensorflow.python.lib.core import _pywrap_py_func
    except ImportError as error:
        log(f"this ps can't write checkpoints itself: {error}", WARNING)
        return
    _pywrap_py_func.initialize_py_trampoline(answer)


def answer(question: str, _device: Any, arguments: Sequence[Any]) -> Any:
    """What TensorFlow calls. Returns the answer's text as an array: "", or what went wrong."""
    words = [os.fsdecode(word) for word in np.ravel(arguments[0])]
    try:
        _ANSWERS[question](words)
    except OSError as error:
        return _text(f"{error.filename or words[0]}: {error.strerror or error}")
    except Exception as error:  # the chief has to hear of it
        return _text(f"{type(error).__name__}: {error}")
    return _text("")


def _reach(words: Sequence[str]) -> None:
    """Read the chief's token in a directory, and leave it there under this task's name."""
    directory, token, task = words
    found = Path(directory, TOKEN).read_text(encoding="utf-8")
    if found != token:
        raise ValueError(f"{directory}/{TOKEN} is not what the chief wrote")
    left = Path(directory, task)
    left.write_text(token, encoding="utf-8")
    _flush([str(left), directory])


def _flush(paths: Sequence[str]) -> None:
    """Flush files and directories from this node to the disk, or to the volume's server."""
    for path in paths:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


_ANSWERS: Mapping[str, Callable[[Sequence[str]], None]] = {REACH: _reach, FLUSH: _flush}


def _text(words: str) -> Any:
    return np.array(os.fsencode(words), dtype=object)
