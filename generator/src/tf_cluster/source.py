"""Where a program's code comes from: files beside the params file become a part of the values."""

import codecs
import errno
import os
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from tf_cluster import codes
from tf_cluster.config_rules import json_bytes
from tf_cluster.expand import Values
from tf_cluster.files import is_inside, read_regular
from tf_cluster.findings.finding import Finding
from tf_cluster.phrases import excerpt
from tf_cluster.placing import finding_at, written
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.yaml.document import Document

MOST_KIB = 512
"""Of all files together, as JSON: a ConfigMap takes 1 MiB, Helm's record of a release as much."""

_SOURCE: Pointer = ("program", "source")
_FILES: Pointer = (*_SOURCE, "files")
_ELSEWHERE = "put the code at an address (program.source.url), in Git, or on the data volume"
_PAIRS = (("url", "sha256"), ("git", "commit"))


def with_files(
    document: Document, params: Mapping[str, Any], folder: Path
) -> tuple[dict[str, Any], list[Finding]]:
    """Params with the files of program.source read: their texts by name instead of their names.

    `folder` is the params file's. A file that can't be used is empty there, and a finding.
    """
    names = value_at(params, _FILES)
    if not names:
        return dict(params), []
    texts: dict[str, str] = {}
    found = []
    room = MOST_KIB * 1024
    for index, name in enumerate(names):
        try:
            text = _read(folder, name, room)
        except _UnusableError as unusable:
            text, where = "", (*_FILES, index)
            found.append(
                finding_at(document, where, unusable.code, f"{name} {unusable}", name, unusable.fix)
            )
        texts[str(PurePosixPath(name))] = text
        room = max(0, room - len(text))  # of files that have no room the beginning will do
    program = {**params["program"], "source": {"files": texts}}
    return {**params, "program": program}, found


class _UnusableError(Exception):
    """A file of program.source.files can't be used; the text says why, after its name."""

    def __init__(self, why: str, fix: str = "", code: str = codes.CODE_FILE) -> None:
        super().__init__(why)
        self.fix = fix
        self.code = code


def _read(folder: Path, name: str, room: int) -> str:
    """A file's text; of one with more than `room` bytes, which is told later, the beginning.

    Raises _UnusableError, for what is not a regular file in the folder, too: a pull request may
    bring a link to the secrets of the machine that checks it.
    """
    if ".." in PurePosixPath(name).parts:
        raise _UnusableError("is not beside or below the params file")
    try:
        path = Path(os.path.realpath(folder / name, strict=True))
        if not is_inside(path, folder):
            fix = "put the file itself beside or below the params file"
            raise _UnusableError("is a link out of the folder of the params file", fix)
        size = path.stat().st_size
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
    if size > MOST_KIB * 1024:
        why = f"has {_in_words(size)}; all files together can have {MOST_KIB} KiB"
        raise _UnusableError(why, _ELSEWHERE, codes.CODE_TOO_LARGE)
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(raw, final=len(raw) == size)
    except UnicodeDecodeError:
        raise _UnusableError(
            "is not UTF-8 text, which is all that a ConfigMap is given here"
        ) from None


def _in_words(size: int) -> str:
    """A number of bytes: `600 KiB`, `9 MiB`."""
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{size >> 10} KiB"


def has_source(effective: Mapping[str, Any]) -> bool:
    """Whether the code is fetched before the program starts."""
    return bool(source_document(effective))


def source_document(effective: Mapping[str, Any]) -> dict[str, Any]:
    """program.source as training.json has it; empty where there is none."""
    source = value_at(effective, _SOURCE) or {}
    for form in (("files",), *_PAIRS):
        if source.get(form[0]):
            return {key: source[key] for key in form}
    return {}


def source_rules(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    """Findings on a source and on the paths that have to lead into it."""
    source = value_at(effective, _SOURCE) or {}
    forms = [form for form in ("files", "url", "git") if source.get(form)]
    for form in forms[1:]:
        where = values.origin((*_SOURCE, form))
        first = dotted(values.origin((*_SOURCE, forms[0])))
        message = f"{dotted(where)} does not go with {first}"
        yield finding_at(document, where, codes.TWO_FORMS, message, fix="keep one of them")
    for one, other in (*_PAIRS, *(pair[::-1] for pair in _PAIRS)):
        where = written(values, (*_SOURCE, one))
        # Of a params file its schema says so.
        if where[0] == "extraValues" and source.get(one) and not source.get(other):
            message = f"{dotted(where)} needs {dotted((*where[:-1], other))}"
            yield finding_at(document, where, codes.MISSING_KEY, message, source[one])
    for form in ("url", "git"):
        why = _wrong_address(source.get(form) or "")
        if why:
            where = written(values, (*_SOURCE, form))
            message = f"{dotted(where)} is {excerpt(source[form])}: {why}"
            yield finding_at(document, where, codes.WRONG_FORM, message, source[form])
    if not forms:
        return
    for key in ("path", "script"):
        path = value_at(effective, ("program", key)) or ""
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            where = written(values, ("program", key))
            message = f"{dotted(where)} is '{path}'; with a program.source it is a path in that"
            fix = "take one that stays in it"
            yield finding_at(document, where, codes.NOT_IN_SOURCE, message, path, fix)
    size = json_bytes(source.get("files") or {})
    if size > MOST_KIB * 1024:
        where = written(values, *(p for p in values.origins if p[:3] == _FILES))
        where = where[: 4 if where[0] == "extraValues" else 3]
        message = f"{dotted(where)} has {size >> 10} KiB as JSON, and at most {MOST_KIB} KiB fit"
        yield finding_at(document, where, codes.CODE_TOO_LARGE, message, fix=_ELSEWHERE)


def _wrong_address(url: str) -> str:
    """What is wrong with the host or port of an address; empty when nothing is."""
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            return "there is no port 0"
        if "[" in parts.netloc:
            ip_address((parts.hostname or "").partition("%")[0])
    except ValueError as error:  # in words: urllib's are those
        return str(error)
    return ""
