"""Reads a file of manifests and chooses a TFJob in it."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.convert.job import Job
from tf_cluster.exits import RefusedError
from tf_cluster.params.kinds import LISTS, TFJOBS, is_values_file
from tf_cluster.params.schema_files import params_schema
from tf_cluster.pointer import Pointer
from tf_cluster.printable import cut
from tf_cluster.yaml.document import Document
from tf_cluster.yaml.helm_scalars import AMBIGUOUS, TOO_LARGE_NUMBER
from tf_cluster.yaml.reader import MAX_BYTES, read_document

VERSIONS = (
    *("kubeflow.org/v1", "kubeflow.org/v1beta2", "kubeflow.org/v1beta1"),
    *("kubeflow.org/v1alpha2", "kubeflow.org/v1alpha1", "tensorflow.org/v1alpha1"),
)
MOST_VALUES = 3_000
"""Of one TFJob, without what the cluster wrote into it. Ten times those that people write."""
MOST_CHARACTERS = 200_000
"""In its values."""

_MOST_DOCUMENTS = 200
_MOST_NAMES = 20
_END = re.compile(r"^(---|\.\.\.)(?=\s|$)", re.MULTILINE)
_OF_CLUSTER = ("status", "managedFields", "kubectl.kubernetes.io/last-applied-configuration")


@dataclass(frozen=True)
class File:
    """The TFJobs of a file, and the claims that it describes."""

    jobs: tuple[Job, ...]
    claims: Mapping[str, list[str]] = field(default_factory=dict)
    """Access modes by the claim's name."""


def read_manifests(file: str, raw: bytes) -> File:
    """All manifests of a file. Raises RefusedError for a file that is not of manifests."""
    jobs: list[Job] = []
    claims: dict[str, list[str]] = {}
    others: list[str] = []
    strange: list[str] = []
    for document in _documents(file, raw):
        for root, data in _objects(document):
            kind, api = str(data.get("kind")), str(data.get("apiVersion"))
            if kind in TFJOBS and api in VERSIONS:
                jobs.append(Job(document, root, data))
            elif kind in TFJOBS:
                place = document.spot((*root, "apiVersion")).value.line
                raise RefusedError(
                    f"{file}:{place}: a TFJob of apiVersion {cut(api)}: tf-cluster reads "
                    + ", ".join(VERSIONS)
                )
            elif "kind" not in data:
                strange.append("it has an item without a kind" if root else _of(document, raw))
            else:
                others.append(cut(kind))
                claims.update(_claim(kind, data))
    if not jobs:
        found = strange[0] if strange else "it has none"
        if others:
            found = f"it has {', '.join(sorted(set(others))[:_MOST_NAMES])}"
        raise RefusedError(f"{file}: no TFJob in this file: {found}")
    return File(tuple(jobs), claims)


def _of(document: Document, raw: bytes) -> str:
    """What a document without a kind is."""
    if is_values_file(document, raw):
        return "it is a values file of the chart, which `tf-cluster plan` reads"
    if document.data and document.data.keys() <= params_schema()["properties"].keys():
        return "it is a params file, which is what convert makes: `tf-cluster validate` checks it"
    return "it has a mapping without a kind, which is no manifest"


def choose(file: str, jobs: tuple[Job, ...], name: str | None) -> Job:
    """The one TFJob of that name, or the only one. Raises RefusedError."""
    fitting = [job for job in jobs if name is None or name in (name_of(job), _full_name(job))]
    if len(fitting) == 1:
        return _of_bearable_size(file, fitting[0])
    names = ", ".join(f"{_full_name(job)} (line {job.line(())})" for job in jobs[:_MOST_NAMES])
    more = f" and {len(jobs) - _MOST_NAMES} more" if len(jobs) > _MOST_NAMES else ""
    if name is None:
        raise RefusedError(
            f"{file} has {len(jobs)} TFJobs: choose one by --name: {cut(names, 2000)}{more}"
        )
    if fitting:
        lines = ", ".join(str(job.line(())) for job in fitting[:_MOST_NAMES])
        raise RefusedError(
            f"{file} has {len(fitting)} TFJobs of the name {cut(name)}, on lines {lines}: "
            "keep one, or choose by --name NAMESPACE/NAME"
        )
    raise RefusedError(f"{file} has no TFJob {cut(name)}: it has {cut(names, 2000)}{more}")


def name_of(job: Job) -> str:
    """The name of a TFJob, or what its name begins with."""
    name = job.text(("metadata", "name"))
    return name or job.text(("metadata", "generateName")).rstrip("-")


def _full_name(job: Job) -> str:
    namespace = job.text(("metadata", "namespace"))
    return f"{namespace}/{name_of(job)}" if namespace else name_of(job)


def _of_bearable_size(file: str, job: Job) -> Job:
    values, characters = _size(job.data)
    if values > MOST_VALUES or characters > MOST_CHARACTERS:
        raise RefusedError(
            f"{file}:{job.line(())}: the TFJob {cut(name_of(job))} is too large: {values} "
            f"values with {characters} characters; {MOST_VALUES} with {MOST_CHARACTERS} are read"
        )
    return job


def _size(data: Any) -> tuple[int, int]:
    """How many values and characters there are, without what a cluster writes by itself."""
    if isinstance(data, str):
        return 1, len(data)
    inner: Iterable[Any] = data if isinstance(data, list) else ()
    if isinstance(data, Mapping):
        inner = [one for key, one in data.items() if key not in _OF_CLUSTER]
    sizes = [_size(one) for one in inner]
    return 1 + sum(size[0] for size in sizes), sum(size[1] for size in sizes)


def _documents(file: str, raw: bytes) -> Iterator[Document]:
    """Each document with the places of the whole file. Raises RefusedError."""
    if len(raw) > MAX_BYTES:
        raise RefusedError(f"{file}: longer than {MAX_BYTES} bytes, which is all that is read")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _refused(read_document(file, raw)) from None
    parts = list(_parts(text))
    if len(parts) > _MOST_DOCUMENTS:
        raise RefusedError(f"{file}: over {_MOST_DOCUMENTS} documents: cut the TFJob out of it")
    refused: RefusedError | None = None
    for part in parts:
        document = read_document(file, part.encode())
        wrong = [f for f in document.findings if f.code not in (AMBIGUOUS, TOO_LARGE_NUMBER)]
        if not wrong and document.readable:
            yield document
            continue
        refused = refused or _refused(document)
        if any(kind in part for kind in TFJOBS):
            raise refused
    if refused and not any(kind in text for kind in TFJOBS):
        raise refused  # what can't be read is told where there is nothing else


def _parts(text: str) -> Iterator[str]:
    """The documents, each after as many empty lines as stand before it."""
    start, is_first = 0, True
    for match in [*_END.finditer(text), None]:
        end = match.start() if match else len(text)
        part = text[start:end]
        if any(line.strip() and not line.lstrip().startswith("#") for line in part.split("\n")):
            if not part.lstrip().startswith("%"):  # a directive of YAML
                yield "\n" * text.count("\n", 0, start) + part
        elif is_first and not match:
            yield part
        is_first = False
        start = match.end() if match else end


def _refused(document: Document) -> RefusedError:
    found = [f for f in document.findings if f.code not in (AMBIGUOUS, TOO_LARGE_NUMBER)]
    first = found[0]
    return RefusedError(
        f"{document.file}:{first.place.line}:{first.place.column}: not a manifest that can be "
        f"read: {first.message}"
    )


def _objects(document: Document) -> Iterator[tuple[Pointer, dict[str, Any]]]:
    """The objects of a document: itself, or the items of a list."""
    if document.data.get("kind") not in LISTS:
        yield (), document.data
        return
    items = document.data.get("items")
    for index, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            # items of a TFJobList may leave out what the list says
            defaults = {"kind": "TFJob", "apiVersion": document.data.get("apiVersion")}
            if document.data["kind"] != "List" and "kind" not in item:
                item = {**defaults, **item}
            yield ("items", index), item


def _claim(kind: str, data: Mapping[str, Any]) -> dict[str, list[str]]:
    metadata, spec = data.get("metadata"), data.get("spec")
    if kind != "PersistentVolumeClaim" or not isinstance(metadata, dict):
        return {}
    modes = spec.get("accessModes") if isinstance(spec, dict) else None
    if not isinstance(modes, list) or not all(isinstance(mode, str) for mode in modes):
        return {}
    return {str(metadata.get("name")): [str(mode) for mode in modes]}
