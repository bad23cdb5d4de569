"""Paths for other programs, with forward slashes."""

import os
from pathlib import Path

from tf_cluster.files import STDIN_NAME


def relative_path(file: str, top: str = ".") -> str:
    """`file` relative to `top` when it is inside; `stdin` for standard input."""
    if file == STDIN_NAME:
        return "stdin"
    path = os.path.relpath(file, top)
    return Path(file if path.startswith("..") else path).as_posix()


def repository() -> str:
    """The folder that annotations are relative to: the clone on a runner, else this folder.

    A job may work in a folder below it, and is shown files by their names in the repository.
    """
    top = os.environ.get("GITHUB_WORKSPACE", "")
    here = os.path.realpath(".")
    if top and Path(here).is_relative_to(os.path.realpath(top)):
        return os.path.realpath(top)
    return here


def in_repository(file: str) -> str:
    """`file` relative to the repository's folder when it is inside; else as `relative_path`."""
    if file == STDIN_NAME:
        return "stdin"
    folder, name = os.path.split(file)  # the file itself may be a link
    whole = os.path.join(os.path.realpath(folder), name)  # noqa: PTH118
    path = relative_path(whole, repository())
    return relative_path(file) if Path(path).is_absolute() else path
