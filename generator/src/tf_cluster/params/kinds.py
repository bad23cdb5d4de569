"""Files that are no params files, and what they are: one sentence in place of many findings."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.findings.finding import Code, Finding, Place
from tf_cluster.params.schema_files import params_schema, resolved, values_schema
from tf_cluster.printable import cut
from tf_cluster.versions import MARK
from tf_cluster.yaml.document import START, Document
from tf_cluster.yaml.syntax_errors import TEMPLATE_FIX

OTHER_KIND = Code(
    "TFC110",
    "another kind of file than a params file",
    why=("The file is for another tool. Read as a params file, each of its keys would be wrong."),
    wrong=("apiVersion: kubeflow.org/v1\nkind: TFJob\nmetadata: {name: digits}"),
    right=(
        "name: digits\n"
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}"
    ),
)

TFJOBS = ("TFJob", "TfJob")
LISTS = ("List", "TFJobList", "TfJobList")
"""Kinds of manifests that have others in `items`."""

_API = re.compile(r"^apiVersion: *[\"']?([A-Za-z0-9./-]+)", re.MULTILINE)
_KIND = re.compile(r"^kind: *[\"']?([A-Za-z0-9]+)", re.MULTILINE)
_START_ONE = "`tf-cluster init` starts a params file"


def other_kind(document: Document, raw: bytes) -> Finding | None:
    """The one finding on a file that is of another kind; None for a params file, good or bad."""
    text = raw.decode("utf-8-sig", "replace")
    for place, what, fix in _kinds(document, text):
        return Finding(document.file, place, OTHER_KIND, what, fix=fix)
    return None


def is_values_file(document: Document, raw: bytes) -> bool:
    """Whether a file holds values of the chart, and is no params file."""
    text = raw[:4096].decode("utf-8-sig", "replace")
    return "name" not in document.data and (_is_marked(text) or _are_values(document.data))


def _is_marked(text: str) -> bool:
    return any(line.startswith(MARK) for line in text.split("\n", 20)[:20])


def _kinds(document: Document, text: str) -> Iterator[tuple[Place, str, str]]:
    conflict = _conflict(text) if "<" * 7 in text else 0
    if conflict:
        fix = "keep one side, and take out the lines <<<<<<<, ======= and >>>>>>>"
        yield Place(conflict, 1), "an unresolved merge conflict", fix
    for finding in document.findings:
        if finding.fix == TEMPLATE_FIX:
            what = "a template of a params file, not one itself"
            yield finding.place, what, "render it first: tf-cluster takes the result"
    kind, api = _named(document.data, text)
    if kind:
        yield from _with_tfjobs(document, kind, api, text)
        yield from _manifest(kind, api, _line_of(_KIND, text))
    if "name" in document.data:
        return
    if _is_marked(text):
        yield START, "a values file that tf-cluster wrote, not a params file", _HELM
    elif _are_values(document.data):
        yield START, "a values file of the chart, not a params file", _HELM


_HELM = (
    "helm takes it, as -f FILE, and so does `tf-cluster plan`; other commands take the params file "
    "that values are made of"
)


def _conflict(text: str) -> int:
    """The line of the first conflict's beginning; 0 for none."""
    begin = middle = 0
    for number, line in enumerate(text.split("\n"), 1):
        mark = line[:7] if line[7:8] in ("", " ", "\r") else ""
        if mark == "<" * 7:
            begin, middle = number, 0
        elif mark == "=" * 7:
            middle = number
        elif mark == ">" * 7 and begin and middle:
            return begin
    return 0


def _named(data: dict[str, Any], text: str) -> tuple[str, str]:
    """The kind and API version that a manifest names, in block style or as JSON."""
    kind, api = _KIND.search(text), _API.search(text)
    if kind and api:
        return kind[1], api[1]
    of_data = (data.get("kind"), data.get("apiVersion"))
    if all(isinstance(one, str) and one for one in of_data):
        return cut(str(of_data[0])), cut(str(of_data[1]))
    return "", ""


def _with_tfjobs(
    document: Document, kind: str, api: str, text: str
) -> Iterator[tuple[Place, str, str]]:
    """Manifests with TFJobs among them: items of a list, or documents of the file."""
    if kind in LISTS:
        lines = _items(document)
        what = f"a {kind} ({api}) with"
    else:
        named = (_KIND.match(line) for line in text.split("\n"))
        lines = [number for number, one in enumerate(named, 1) if one and one[1] in TFJOBS]
        what = "Kubernetes manifests with"
    if not lines or (kind in TFJOBS and len(lines) == 1):
        return
    if len(lines) == 1:
        found, fix = "a TFJob", "`tf-cluster convert` makes a params file of it"
    else:
        found, fix = f"{len(lines)} TFJobs", "`tf-cluster convert --name NAME` makes one of each"
    yield Place(lines[0], 1), f"{what} {found}, not a params file", fix


def _items(document: Document) -> list[int]:
    """The line of each TFJob that a list has."""
    items, of_all = document.data.get("items"), document.data.get("kind") != "List"
    listed = enumerate(items if isinstance(items, list) else [])
    return [
        document.spot(("items", index)).value.line
        for index, item in listed
        if isinstance(item, dict)
        if item.get("kind") in TFJOBS or (of_all and "kind" not in item)
    ]


def _manifest(kind: str, api: str, line: int) -> Iterator[tuple[Place, str, str]]:
    place = Place(line, 1)
    if kind in TFJOBS:
        fix = "`tf-cluster convert` makes a params file of it"
        yield place, f"a TFJob ({api}), not a params file", fix
    elif api.startswith("argoproj.io/"):
        fix = "Argo CD takes it; tf-cluster takes the params file that its values are made of"
        yield place, f"an Argo CD {kind} ({api}), not a params file", fix
    else:
        fix = f"kubectl takes it, as apply -f FILE; {_START_ONE}"
        yield place, f"a Kubernetes manifest, {kind} ({api}), not a params file", fix


def _line_of(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.search(text)
    return text.count("\n", 0, match.start()) + 1 if match else 1


def _are_values(data: dict[str, Any]) -> bool:
    """Whether every key is the chart's, and one of them no key of a params file."""
    ours, charts = params_schema()["properties"], values_schema()["properties"]
    if not data or not data.keys() <= charts.keys():
        return False
    return any(
        key not in ours or (isinstance(data[key], dict) and _is_text(ours[key])) for key in data
    )


def _is_text(node: Mapping[str, Any]) -> bool:
    return resolved(node, params_schema()).get("type") == "string"
