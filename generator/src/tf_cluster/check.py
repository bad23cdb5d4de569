"""From the bytes of a params file to values and findings: everything the tool knows to say."""

import copy
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tf_cluster.checks import run_checks
from tf_cluster.expand.expand import NO_FLAGS, expand
from tf_cluster.findings.finding import Finding, by_place, errors
from tf_cluster.params.locate import located
from tf_cluster.params.mend import Mended, mended
from tf_cluster.params.params import Params
from tf_cluster.params.schema_files import params_schema, values_schema
from tf_cluster.params.schema_violations import (
    CHART_REFUSES,
    NAME_TOO_LONG,
    NOT_A_CHOICE,
    OUT_OF_RANGE,
    WRONG_FORM,
    WRONG_TYPE,
    violations,
)
from tf_cluster.params.source_files import with_files
from tf_cluster.params.values import PRESET, Flag, Values
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.yaml.document import Document
from tf_cluster.yaml.helm_scalars import AMBIGUOUS, NOT_FINITE, TOO_LARGE_NUMBER
from tf_cluster.yaml.reader import DUPLICATE_KEY, UNSUPPORTED_YAML, read_document


class BugError(Exception):
    """The tool made values that the chart refuses, of params it had no findings on."""


@dataclass(frozen=True)
class Checked:
    """A params file, what is wrong with it and the values it makes.

    The values are whole when no finding is an error; else they leave out what is wrong.
    `of_flags` is what is wrong with flags of the command; each names its flag.
    """

    document: Document
    findings: tuple[Finding, ...]
    values: Values
    of_flags: tuple[Finding, ...] = ()

    @property
    def good(self) -> bool:
        """No finding is an error (warnings may be there)."""
        return not errors((*self.findings, *self.of_flags))


def check(
    file: str,
    raw: bytes,
    *,
    folder: Path | None = None,
    for_cluster: bool = True,
    flags: Mapping[Flag, Any] = NO_FLAGS,
) -> Checked:
    """Check one params file. `file` is its name in findings; a local run skips cluster matters.

    `flags` are values of `FLAGS` that take the place of the file's: all rules see them.
    Files that it names are looked for in `folder`, by default the one that `file` is in.
    Raises BugError.
    """
    document = read_document(file, raw)
    if not document.readable:
        return Checked(document, document.findings, expand({}))
    meant = mended(document)
    document = meant.document
    sound, found = _sound_part(meant, folder or Path(file).parent)
    wrong_flags = _flag_findings(document, expand(sound, flags)) if flags else []
    wrong = {finding.pointer for finding in wrong_flags}
    values = expand(sound, {flag: flags[flag] for flag in flags if (flag,) not in wrong})
    found += [*wrong_flags, *run_checks(Params(document, sound, values, for_cluster))]
    told = by_place(replace(one, pointer=meant.as_written(one.pointer)) for one in found)
    of_file = tuple(finding for finding in told if not _is_on_a_flag(finding))
    of_flags = tuple(finding for finding in told if _is_on_a_flag(finding))
    return Checked(document, of_file, values, of_flags)


def _sound_part(meant: Mended, folder: Path) -> tuple[dict[str, Any], list[Finding]]:
    """The part of a file that its schemas have nothing against, and what they have against it."""
    document = meant.document
    shapes = [located(document, one) for one in violations(document.data, params_schema())]
    found = [*document.findings, *(located(document, one) for one in meant.violations)]
    found = _without_echoes(found, shapes, meant.texts)
    # what was mended is as good as right, and so is the first of two
    read = (f.pointer for f in document.findings if f.code != DUPLICATE_KEY)
    wrong = {*read} - meant.texts | {f.pointer for f in shapes}
    sound, unread = with_files(document, _without(document.data, wrong), folder)
    found += unread
    refused = _chart_findings(document, expand(sound), found)
    return _without(sound, (f.pointer for f in refused)), [*found, *refused]


def _is_on_a_flag(finding: Finding) -> bool:
    return isinstance((*finding.pointer, "")[0], Flag)


_FORM = (WRONG_FORM, NOT_A_CHOICE, NAME_TOO_LONG, OUT_OF_RANGE)
_VALUE = (
    *(AMBIGUOUS, NOT_FINITE, UNSUPPORTED_YAML, TOO_LARGE_NUMBER),
    *(WRONG_TYPE, CHART_REFUSES),
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
    useless = {f.pointer for f in read if f.pointer in texts or f.code == TOO_LARGE_NUMBER} & formed
    return [
        *(f for f in read if f.code not in _VALUE or f.pointer not in useless),
        *(f for f in shapes if f.code != WRONG_TYPE or f.pointer not in on_values),
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
    for violation in violations(values.effective, values_schema(), named=values.named):
        origin = values.origin_around(violation.path)
        if origin[:1] == ("extraValues",):
            path = ("extraValues", *violation.path)
            found.append(located(document, replace(violation, path=path, code=CHART_REFUSES)))
        elif not errors(before):
            raise BugError(
                f"values made of {document.file} are refused by the chart: {violation.message} "
                f"(from {dotted(origin) or 'the whole file'})"
            )
    return found


def _flag_findings(document: Document, values: Values) -> list[Finding]:
    """What the chart's schema refuses of values that flags decided."""
    return [
        located(document, replace(violation, path=values.origins[violation.path]))
        for violation in violations(values.effective, values_schema(), named=values.named)
        if isinstance(values.origins.get(violation.path, PRESET)[0], Flag)
    ]
