"""Where a program's code comes from: files beside the params file become a part of the values."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tf_cluster import codes
from tf_cluster.expand import Values
from tf_cluster.finding import Finding
from tf_cluster.placing import finding_at, written
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.yaml_in import Document

MOST_KIB = 512
"""Of all files together, as JSON: a ConfigMap takes 1 MiB, Helm's record of a release as much."""

_SOURCE: Pointer = ("program", "source")
_FILES: Pointer = (*_SOURCE, "files")
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
    for index, name in enumerate(names):
        text, why = _read(folder, name)
        if text is None:
            where = (*_FILES, index)
            found.append(finding_at(document, where, codes.CODE_FILE, f"{name} {why}", name))
        texts[str(PurePosixPath(name))] = text or ""
    program = {**params["program"], "source": {"files": texts}}
    return {**params, "program": program}, found


def _read(folder: Path, name: str) -> tuple[str | None, str]:
    """A file's text, or None and why not."""
    if ".." in PurePosixPath(name).parts:
        return None, "is not beside or below the params file"
    try:
        return (folder / name).read_bytes().decode("utf-8"), ""
    except FileNotFoundError:
        return None, f"is not there: no file {folder / name}"
    except IsADirectoryError:
        return None, "is a directory: name its files"
    except OSError as error:
        return None, f"can't be read: {error.strerror}"
    except UnicodeDecodeError:
        return None, "is not UTF-8 text, which is all that a ConfigMap is given here"


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
        first = dotted((*_SOURCE, forms[0]))
        message = f"{dotted((*_SOURCE, form))} does not go with {first}"
        where = written(values, (*_SOURCE, form))
        yield finding_at(document, where, codes.TWO_FORMS, message, fix="keep one of them")
    for one, other in (*_PAIRS, *(pair[::-1] for pair in _PAIRS)):
        where = written(values, (*_SOURCE, one))
        # Of a params file its schema says so.
        if where[0] == "extraValues" and source.get(one) and not source.get(other):
            message = f"{dotted((*_SOURCE, one))} needs {dotted((*_SOURCE, other))}"
            yield finding_at(document, where, codes.MISSING_KEY, message, source[one])
    if not forms:
        return
    for key in ("path", "script"):
        path = value_at(effective, ("program", key)) or ""
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            message = f"program.{key} is '{path}'; with a program.source it is a path in that"
            where = written(values, ("program", key))
            fix = "take one that stays in it"
            yield finding_at(document, where, codes.NOT_IN_SOURCE, message, path, fix)
    size = _size(source.get("files") or {})
    if size > MOST_KIB * 1024:
        message = f"{dotted(_FILES)} has {size // 1024} KiB as JSON, and at most {MOST_KIB} KiB fit"
        fix = "put the code at an address (program.source.url), in Git, or on the data volume"
        where = written(values, *(p for p in values.origins if p[:3] == _FILES))
        where = where[: 4 if where[0] == "extraValues" else 3]
        yield finding_at(document, where, codes.CODE_TOO_LARGE, message, fix=fix)


def _size(files: Mapping[str, str]) -> int:
    """Bytes of the files in the ConfigMap: Helm writes three characters of JSON as six each."""
    text = json.dumps(files, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode()) + 5 * sum(text.count(character) for character in "<>&")
