"""Reads the files that program.source.files names, which stand beside the params file."""

import codecs
import errno
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tf_cluster.files import read_regular
from tf_cluster.findings.finding import MOST_FINDINGS, Code, Finding
from tf_cluster.params.beside import Given
from tf_cluster.params.locate import finding_at
from tf_cluster.pointer import Pointer, value_at
from tf_cluster.yaml.document import Document

CODE_FILE = Code(
    "TFC324",
    "a file of program.source.files can't be used",
    why=(
        "The files become a part of the values, so each has to be a text beside or below the "
        "params file."
    ),
    wrong="program: {script: train.py, source: {files: [train.py]}}",
    right=(
        "program: {script: train.py, source: {files: [train.py]}}\n### train.py\nprint('hello')"
    ),
)
CODE_TOO_LARGE = Code(
    "TFC325",
    "program.source.files are too large for a ConfigMap",
    why="A ConfigMap holds 1 MiB, and so does the record that Helm keeps of a release.",
    wrong=(
        "program: {script: train.py, source: {files: [train.py]}}\n"
        "### train.py\n"
        "DATA = '«x × 600000»'"
    ),
    right=(
        "program: {script: train.py, source: {files: [train.py]}}\n"
        "### train.py\n"
        "DATA = open('/data/data.txt').read()"
    ),
)

MOST_KIB = 512
"""Size of all files as JSON: a ConfigMap holds 1 MiB, and so does Helm's release record."""

FILES: Pointer = ("program", "source", "files")
ELSEWHERE = "put the code at an address (program.source.url), in Git, or on the data volume"


class NotRead(str):
    """The text, empty, of a file that has a finding: what it may be is not known."""


def with_files(
    document: Document, params: Mapping[str, Any], folder: Path | Given
) -> tuple[dict[str, Any], list[Finding]]:
    """Params with the files of program.source read: their texts by name instead of their names.

    `folder` is the params file's. A file that can't be used becomes NotRead and has a finding.
    After so many of them the rest is not looked for.
    """
    names = value_at(params, FILES)
    if not names:
        return dict(params), []
    texts: dict[str, str] = {}
    found: list[Finding] = []
    room = MOST_KIB * 1024
    root = "" if isinstance(folder, Given) else os.path.realpath(folder)
    for index, name in enumerate(names):
        path = PurePosixPath(name)
        if len(found) > MOST_FINDINGS:
            texts[name] = NotRead()
            continue
        try:
            if ".." in path.parts:
                raise _UnusableError("is not beside or below the params file")
            if isinstance(folder, Given):
                text = _given(folder, name, room)
            else:
                text = _read(folder, root, path, room)
        except _UnusableError as unusable:
            text, where = NotRead(), (*FILES, index)
            found.append(
                finding_at(document, where, unusable.code, f"{name} {unusable}", name, unusable.fix)
            )
        texts[str(path)] = text
        room = max(0, room - len(text))  # beyond the limit, the beginning of a file is enough
    program = {**params["program"], "source": {"files": texts}}
    return {**params, "program": program}, found


class _UnusableError(Exception):
    """A file of program.source.files can't be used; the text says why, after its name."""

    def __init__(self, why: str, fix: str = "", code: Code = CODE_FILE) -> None:
        super().__init__(why)
        self.fix = fix
        self.code = code


def _read(folder: Path, root: str, name: PurePosixPath, room: int) -> str:
    """A file's text; of one with more than `room` bytes, which is refused later, the beginning.

    `root` is the folder's real path. Raises _UnusableError, also for what is not a regular
    file in the folder: a pull request may contain a link to secrets of the machine that checks it.
    """
    try:
        named = os.path.join(root, name)  # noqa: PTH118 (many files)
        size = os.stat(named).st_size  # noqa: PTH116 (many files)
        path = os.path.realpath(named, strict=True)
        if os.path.commonpath((root, path)) != root:
            fix = "put the file itself beside or below the params file"
            raise _UnusableError("is a link out of the folder of the params file", fix)
        raw = read_regular(path, min(room, MOST_KIB * 1024) + 1)
    except FileNotFoundError:
        raise _UnusableError(f"is not there: no file {folder / name}") from None
    except IsADirectoryError:
        raise _UnusableError("is a directory: name its files") from None
    except OSError as error:
        words = error.strerror or str(error)
        raise _UnusableError(
            f"is {words}" if error.errno == errno.EINVAL else f"can't be read: {words}"
        ) from error
    return _text(raw, size)


def _given(given: Given, name: str, room: int) -> str:
    raw = given.bytes_of(name)
    if raw is None:
        raise _UnusableError("is not there")
    return _text(raw[: min(room, MOST_KIB * 1024) + 1], len(raw))


def _text(raw: bytes, size: int) -> str:
    """The text of a file of this size; `raw` may be its beginning. Raises _UnusableError."""
    if size > MOST_KIB * 1024:
        why = f"has {_in_words(size)}; all files together can have {MOST_KIB} KiB"
        raise _UnusableError(why, ELSEWHERE, CODE_TOO_LARGE)
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(raw, final=len(raw) == size)
    except UnicodeDecodeError:
        raise _UnusableError(
            "is not UTF-8 text, which is all that a ConfigMap is given here"
        ) from None


def _in_words(size: int) -> str:
    """A number of bytes: `600 KiB`, `9 MiB`."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"
