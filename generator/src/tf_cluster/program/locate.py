"""Where the program's code is, as far as this machine has it."""

import os
import posixpath
import sys
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from tf_cluster.expand.source import SOURCE, has_source
from tf_cluster.params.beside import Given
from tf_cluster.params.params import Params
from tf_cluster.params.source_files import FILES, MOST_KIB, NotRead
from tf_cluster.program.resolve import Code
from tf_cluster.program.roots import Directory, GivenFiles, Root, Texts

TRAINER = "tf_cluster_trainer"


@dataclass(frozen=True)
class NotHere:
    """The code is elsewhere; `why` is for --explain."""

    why: str


def code_of(params: Params, folder: Path | Given) -> Code | NotHere:
    """The directories with the code of the params' module or script, the first one first.

    A script's own directory comes before `program.path`, as Python has it.
    """
    program = params.value_at(("program",)) or {}
    path, script, module = (_text(program.get(key)) for key in ("path", "script", "module"))
    why = _elsewhere(params, path, script)
    if why:
        return NotHere(why)
    folders = [path if not path.startswith("/") else ""]
    if script and not script.startswith("/"):
        folders.insert(0, posixpath.join(folders[0], posixpath.dirname(script)))
    texts = params.value_at(FILES)
    if texts:
        # Beside a file that could not be read, nothing is sure to be missing.
        sure = not any(isinstance(text, NotRead) for text in texts.values())
        given, base = (folder, Path()) if isinstance(folder, Given) else (None, folder)
        roots: list[Root] = [Texts(texts, base, one or ".", sure, given) for one in folders]
    else:
        # What is relative is this very file; in a container such a path is a finding of its own.
        sure = any(one and not one.startswith("/") for one in (path, script))
        roots = [_root(folder, one or ".", sure=sure) for one in folders]
    return Code([*roots, *([] if isinstance(folder, Given) else _installed(module))])


def _root(folder: Path | Given, path: str, *, sure: bool) -> Root:
    if isinstance(folder, Given):
        return GivenFiles(folder, path, sure)
    return Directory(folder, path, sure, inside=True)


def _elsewhere(params: Params, path: str, script: str) -> str:
    """Why the code is not on this machine, or not looked for; empty if it may be."""
    if any(".." in PurePosixPath(one).parts for one in (path, script)):
        return "a path leads out of the folder of the code"
    fetched = has_source(params.effective)
    if params.written_at(SOURCE) is not None and not fetched:
        return "program.source has findings of its own"
    if fetched and any(one.startswith("/") for one in (path, script)):
        return "a path leads out of program.source"
    texts = params.value_at(FILES)
    if fetched and not texts:
        return "the code is at the address that program.source names"
    if texts and sum(map(len, texts.values())) >= MOST_KIB * 1024:
        return "program.source.files are too large"
    return ""


def _installed(module: str) -> list[Root]:
    """The directories of this Python's packages that have the module's package."""
    top = module.partition(":")[0].partition(".")[0]
    if not top:
        return []
    try:
        here = os.getcwd()  # noqa: PTH109 (a text, as sys.path has it)
    except OSError:  # it is gone
        here = ""
    # Texts, not Paths: these take several times as long, and each file looks everywhere.
    return [
        Directory(Path(entry), ".", certain=top == TRAINER, inside=False)
        for entry in sys.path
        if entry.startswith("/") and entry != here
        if os.path.isdir(f"{entry}/{top}") or os.path.isfile(f"{entry}/{top}.py")  # noqa: PTH112, PTH113
    ]


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
