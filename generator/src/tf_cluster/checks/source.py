"""The program's source, and paths that are relative to it."""

from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from tf_cluster.expand.go_json import json_bytes
from tf_cluster.expand.source import LOGIN, PAIRS, SOURCE
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import MISSING_KEY, TWO_FORMS, WRONG_FORM
from tf_cluster.params.source_files import CODE_TOO_LARGE, ELSEWHERE, FILES, MOST_KIB
from tf_cluster.params.wording import excerpt
from tf_cluster.pointer import dotted

NOT_IN_SOURCE = Code(
    "TFC326",
    "a path that does not lead into program.source",
    why=("With a program.source the code lies where the chart puts it, and paths are paths in it."),
    wrong=(
        "program: {script: /data/train.py, source: {files: [train.py]}}\n"
        "### train.py\n"
        "print('hello')"
    ),
    right=(
        "program: {script: train.py, source: {files: [train.py]}}\n### train.py\nprint('hello')"
    ),
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on the source's form, address and size, and on paths outside it."""
    source = params.value_at(SOURCE) or {}
    forms = [form for form in ("files", "url", "git") if source.get(form)]
    for form in forms[1:]:
        where = params.values.origin_around((*SOURCE, form))
        first = dotted(params.values.origin_around((*SOURCE, forms[0])))
        message = f"{dotted(where)} does not go with {first}"
        yield params.finding(where, TWO_FORMS, message, fix="keep one of them")
    for one, other in (*PAIRS, *(pair[::-1] for pair in PAIRS)):
        where = params.origin_of((*SOURCE, one))
        # Elsewhere the schema of params files has this finding.
        if where[0] == "extraValues" and source.get(one) and not source.get(other):
            message = f"{dotted(where)} needs {dotted((*where[:-1], other))}"
            yield params.finding(where, MISSING_KEY, message, source[one])
    where = params.origin_of((*SOURCE, *LOGIN))
    # Elsewhere the schema of params files has this finding.
    if where[0] == "extraValues" and source.get(LOGIN[0]) and not {"url", "git"} & set(forms):
        message = f"{dotted(where)} is a login, and only url and git of a source need one"
        yield params.finding(where, TWO_FORMS, message, source[LOGIN[0]], "leave it out")
    for form in ("url", "git"):
        why = _wrong_address(source.get(form) or "")
        if why:
            where = params.origin_of((*SOURCE, form))
            message = f"{dotted(where)} is {excerpt(source[form])}: {why}"
            yield params.finding(where, WRONG_FORM, message, source[form])
    if not forms:
        return
    for key in ("path", "script"):
        path = params.value_at(("program", key)) or ""
        if path.startswith("/") or ".." in PurePosixPath(path).parts:
            where = params.origin_of(("program", key))
            message = f"{dotted(where)} is '{path}'; with a program.source it is a path in that"
            fix = "take one that stays in it"
            yield params.finding(where, NOT_IN_SOURCE, message, path, fix)
    size = json_bytes(source.get("files") or {})
    if size > MOST_KIB * 1024:
        where = params.origin_of(*(p for p in params.values.origins if p[:3] == FILES))
        where = where[: 4 if where[0] == "extraValues" else 3]
        message = f"{dotted(where)} has {size >> 10} KiB as JSON, and at most {MOST_KIB} KiB fit"
        yield params.finding(where, CODE_TOO_LARGE, message, fix=ELSEWHERE)


def _wrong_address(url: str) -> str:
    """What is wrong with the host or port of an address; empty when nothing is."""
    try:
        parts = urlsplit(url)
        if parts.port == 0:
            return "there is no port 0"
        if "[" in parts.netloc:
            ip_address((parts.hostname or "").partition("%")[0])
    except ValueError as error:  # urllib's messages are good enough
        return str(error)
    return ""
