"""From the bytes of a params file to values and findings: everything the tool knows to say."""

import copy
from collections.abc import Iterable, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tf_cluster import codes
from tf_cluster.expand import Values, expand
from tf_cluster.findings.finding import Finding, by_place, errors
from tf_cluster.mend import mended
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.rules import cluster_rules, rules
from tf_cluster.schema_files import params_schema, values_schema
from tf_cluster.shape import Misfit, misfits
from tf_cluster.source import with_files
from tf_cluster.yaml.document import Document
from tf_cluster.yaml.reader import read_document


class BugError(Exception):
    """The tool made values that the chart refuses, of params it had no findings on."""


@dataclass(frozen=True)
class Checked:
    """A params file, what is wrong with it and the values it makes.

    The values are whole when no finding is an error; else they leave out what is wrong.
    """

    document: Document
    findings: tuple[Finding, ...]
    values: Values

    @property
    def good(self) -> bool:
        """No finding is an error (warnings may be there)."""
        return not errors(self.findings)


def check(
    file: str, raw: bytes, *, folder: Path | None = None, for_cluster: bool = True
) -> Checked:
    """Check one params file. `file` is its name in findings; a local run skips cluster matters.

    Files that it names are looked for in `folder`, by default the one that `file` is in.
    Raises BugError.
    """
    document = read_document(file, raw)
    if not document.readable:
        return Checked(document, document.findings, expand({}))
    meant = mended(document)
    document = meant.document
    shapes = [_located(document, misfit) for misfit in misfits(document.data, params_schema())]
    found = _without_echoes(
        [*document.findings, *(_located(document, m) for m in meant.misfits)], shapes, meant.texts
    )
    # what was mended is as good as right, and so is the first of two
    read = (f.pointer for f in document.findings if f.code != codes.DUPLICATE_KEY)
    wrong = {*read} - meant.texts | {f.pointer for f in shapes}
    good_part = _without(document.data, wrong)
    good_part, unread = with_files(document, good_part, folder or Path(file).parent)
    found += unread
    refused = _chart_findings(document, expand(good_part), found)
    found += refused
    good_part = _without(good_part, (f.pointer for f in refused))
    values = expand(good_part)
    found += rules(document, good_part, values, for_cluster=for_cluster)
    if for_cluster:
        found += cluster_rules(document, values)
    told = (replace(finding, pointer=meant.as_written(finding.pointer)) for finding in found)
    return Checked(document, tuple(by_place(told)), values)


def _located(document: Document, misfit: Misfit) -> Finding:
    spot = document.spot(misfit.path)
    key = misfit.at_key or misfit.code == codes.MISSING_KEY or misfit.value is None
    return Finding(
        document.file,
        spot.key if key else spot.value,
        misfit.code,
        misfit.message,
        misfit.path,
        misfit.value,
        misfit.fix,
    )


_FORM = (codes.WRONG_FORM, codes.NOT_A_CHOICE, codes.NAME_TOO_LONG, codes.OUT_OF_RANGE)
_VALUE = (
    *(codes.AMBIGUOUS, codes.NOT_FINITE, codes.UNSUPPORTED_YAML, codes.TOO_LARGE_NUMBER),
    *(codes.WRONG_TYPE, codes.CHART_REFUSES),
)


def _without_echoes(
    read: list[Finding], shapes: list[Finding], texts: Set[Pointer]
) -> list[Finding]:
    """Findings of reading and of the schema, without those that one mistake has of both.

    A value that YAML readers disagree on, or that needs quotes, has a type that is none of its own:
    the schema's word on its type is left out. When a text is needed there, and even that text would
    be wrong, the quotes would not help; a number out of range is not too large besides.
    """
    on_values = {f.pointer for f in read if f.code in _VALUE}
    formed = {f.pointer for f in shapes if f.code in _FORM}
    useless = {
        f.pointer for f in read if f.pointer in texts or f.code == codes.TOO_LARGE_NUMBER
    } & formed
    return [
        *(f for f in read if f.code not in _VALUE or f.pointer not in useless),
        *(f for f in shapes if f.code != codes.WRONG_TYPE or f.pointer not in on_values),
    ]


def _without(data: dict[str, Any], paths: Iterable[Pointer]) -> dict[str, Any]:
    """A copy without what stands at `paths`: a list with a wrong item is left out whole."""
    part = copy.deepcopy(data)
    for path in paths:
        inner: Any = part
        keys = [key for key in path if isinstance(key, str)]
        first_index = next((i for i, key in enumerate(path) if isinstance(key, int)), len(path))
        keys = keys[:first_index]
        for key in keys[:-1]:
            inner = inner.get(key) if isinstance(inner, dict) else None
        if keys and isinstance(inner, dict):
            inner.pop(keys[-1], None)
    return part


def _chart_findings(document: Document, values: Values, before: list[Finding]) -> list[Finding]:
    """What the chart's own schema refuses, told at the place in the params it came from."""
    found = []
    for misfit in misfits(values.effective, values_schema(), named=values.named):
        origin = values.origin(misfit.path)
        if origin[:1] == ("extraValues",):
            path = ("extraValues", *misfit.path)
            located = _located(document, replace(misfit, path=path))
            found.append(replace(located, code=codes.CHART_REFUSES))
        elif not errors(before):
            raise BugError(
                f"values made of {document.file} are refused by the chart: {misfit.message} "
                f"(from {dotted(origin) or 'the whole file'})"
            )
    return found
