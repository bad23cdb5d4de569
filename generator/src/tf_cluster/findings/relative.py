"""Paths for other programs: relative to the working directory, with forward slashes."""

import os
from pathlib import Path

from tf_cluster.files import STDIN_NAME


def relative_path(file: str) -> str:
    """`file` relative to the working directory when it is inside; `stdin` for standard input."""
    if file == STDIN_NAME:
        return "stdin"
    path = os.path.relpath(file)
    return Path(file if path.startswith("..") else path).as_posix()
