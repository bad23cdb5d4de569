"""From the bytes of a params file to values and findings: the whole pipeline."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tf_cluster.checks import ADVICE_CODES, run_checks
from tf_cluster.expand.expand import NO_FLAGS, expand
from tf_cluster.findings.finding import MOST_FINDINGS, Finding, Place, by_place, errors
from tf_cluster.independent import independent
from tf_cluster.params.beside import Given
from tf_cluster.params.kinds import other_kind
from tf_cluster.params.locate import located
from tf_cluster.params.mend import Mended, mended
from tf_cluster.params.params import Params
from tf_cluster.params.schema_files import params_schema, values_schema
from tf_cluster.params.schema_violations import (
    CHART_REFUSES,
    NAME_TOO_LONG,
    NOT_A_CHOICE,
    OUT_OF_RANGE,
    UNKNOWN_KEY,
    WRONG_FORM,
    WRONG_TYPE,
    Violation,
    violations,
)
from tf_cluster.params.source_files import with_files
from tf_cluster.params.values import PRESET, Flag, Values
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.program.read import read_program
from tf_cluster.relaxed import relaxed
from tf_cluster.yaml.document import Document
from tf_cluster.yaml.helm_scalars import AMBIGUOUS, NOT_FINITE, TOO_LARGE_NUMBER
from tf_cluster.yaml.reader import DUPLICATE_KEY, UNSUPPORTED_YAML, read_document


class BugError(Exception):
    """The chart's schema refuses values made of params without findings: a bug in the tool."""


@dataclass(frozen=True)
class Checked:
    """A params file, what is wrong with it and the values it makes.

    The values are whole when no finding is an error; else they leave out what is wrong.
    `of_flags` are the findings on flags of the command; the message of each names its flag.
    `notes` say what of the program's code was read, and what could not be known.
    """

    document: Document
    findings: tuple[Finding, ...]
    values: Values
    of_flags: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Whether there are no errors; there may be warnings."""
        return not errors((*self.findings, *self.of_flags))


def check(
    file: str,
    raw: bytes,
    *,
    folder: Path | Given | None = None,
    for_cluster: bool = True,
    flags: Mapping[Flag, Any] = NO_FLAGS,
) -> Checked:
    """Check one params file. `file` is its name in findings.

    `for_cluster` is False for a local run, which skips the checks that concern a cluster only.
    `flags` are values for `FLAGS`; they replace the file's, and every check sees them. The files
    that program.source names, and the program's code, are looked up in `folder`, by default the
    folder of `file`.
    Raises BugError.
    """
    document = read_document(file, raw)
    other = other_kind(document, raw)
    if other:
        return Checked(document, (other,), expand({}))
    if not document.readable:
        return Checked(document, document.findings, expand({}))
    written = document
    meant = mended(document)
    document = meant.document
    folder = folder or Path(file).parent
    part, wrong, found = _sound_part(meant, folder)
    if part is None:
        return Checked(document, tuple(_placed(found, meant, written)), expand({}))
    sound, values = part
    wrong_flags = _flag_findings(document, expand(sound, flags)) if flags else []
    refused = {finding.pointer for finding in wrong_flags}
    flags = {flag: flags[flag] for flag in flags if (flag,) not in refused}
    params = Params(document, sound, expand(sound, flags) if flags else values, for_cluster)
    told = list(run_checks(params))
    if told and len(document.spots) <= _MOST_SPOTS:
        told = independent(
            told,
            wrong,
            sound,
            lambda rest: run_checks(Params(document, rest, expand(rest, flags), for_cluster)),
        )
    whole = for_cluster and not flags and not wrong
    text = raw.decode("utf-8-sig")
    # The code is read once: for what `independent` does it would be read for each other value.
    program = read_program(params, folder)
    # With a value left out, what the program is advised on may not be what the file asks for.
    told += [one for one in program.findings if one.severity == "advice" and not wrong]
    told = relaxed(document, text, told, ADVICE_CODES, whole=whole)
    # A key's own mistake says nothing of its value.
    said = {one.pointer for one in found if not (one.repair and one.repair.at_key)}
    held = [
        one
        for one in program.findings
        if one.severity != "advice"
        if one.pointer not in said and not _is_around(one.pointer, wrong)
    ]
    refused = {one.pointer for one in held}
    told = [one for one in told if one.severity != "advice" or one.pointer not in refused]
    found += [*wrong_flags, *told, *held]
    findings = _placed(found, meant, written)
    of_file = tuple(finding for finding in findings if not _is_on_a_flag(finding))
    of_flags = tuple(finding for finding in findings if _is_on_a_flag(finding))
    return Checked(document, of_file, params.values, of_flags, tuple(program.notes))


def _is_around(path: Pointer, wrong: Iterable[Pointer]) -> bool:
    """Whether a path leads to a wrong value, or to what is around or inside one."""
    return any(all(a == b for a, b in zip(path, one, strict=False)) for one in wrong)


def _placed(found: Iterable[Finding], meant: Mended, written: Document) -> list[Finding]:
    """The findings with the paths of the file as `written`, from top to bottom."""
    placed = [_at(one, meant.as_written(one.pointer)) for one in found]
    return by_place(_repaired_alone(one, written) for one in _said_once(placed, written))


def _said_once(found: list[Finding], document: Document) -> list[Finding]:
    """The findings, each mistake where it is written, and not where an alias repeats it."""
    repeated = [one for one in found if document.is_repeated(one.pointer)]
    if not repeated:
        return found
    order = {path: number for number, path in enumerate(document.spots)}
    repeated.sort(key=lambda one: order.get(one.pointer, len(order)))
    first: dict[tuple[Place, str, str, str], Pointer] = {}
    for one in repeated:
        first.setdefault(_rule(one), one.pointer)
    return [one for one in found if first.get(_rule(one), one.pointer) == one.pointer]


def _rule(finding: Finding) -> tuple[Place, str, str, str]:
    """What a finding says of a place, whatever leads there."""
    words = finding.message
    for path in (finding.pointer, finding.pointer[:-1]):
        words = words.replace(dotted(path), "", 1)
    return finding.place, finding.code, words, finding.fix


def _at(finding: Finding, path: Pointer) -> Finding:
    return finding if path == finding.pointer else replace(finding, pointer=path)


def _repaired_alone(finding: Finding, document: Document) -> Finding:
    """The finding, without a repair that would change another place, too: what an alias repeats."""
    if not finding.repair:
        return finding
    path = finding.pointer[:-1] if finding.repair.at_key else finding.pointer
    return replace(finding, repair=None) if document.is_repeated(path) else finding


def _sound_part(
    meant: Mended, folder: Path | Given
) -> tuple[tuple[dict[str, Any], Values] | None, set[Pointer], list[Finding]]:
    """The part of a file that the schemas accept with its values, what it leaves out, findings.

    The part is None after so many findings of a schema that the rest was not looked for: nothing
    can be said of what is not known to have its type.
    """
    document = meant.document
    shapes = [located(document, one) for one in violations(document.data, params_schema())]
    found = [*document.findings, *(located(document, one) for one in meant.violations)]
    found = _without_echoes(found, shapes, meant)
    # A mended value is used, and so is the first of two equal keys.
    read = (f.pointer for f in document.findings if f.code != DUPLICATE_KEY)
    wrong = {*read} - meant.texts - meant.clear - meant.odd_keys | {f.pointer for f in shapes}
    if len(shapes) > MOST_FINDINGS:
        return None, wrong, found
    sound, unread = with_files(document, _without(document.data, wrong), folder)
    found += unread
    values = expand(sound)
    broken = violations(values.effective, values_schema(), named=values.named)
    refused = _chart_findings(document, values, broken, found)
    found += refused
    if len(broken) > MOST_FINDINGS:
        return None, wrong, found
    if refused:
        sound = _without(sound, (f.pointer for f in refused))
        values = expand(sound)
    return (sound, values), wrong, found


def _is_on_a_flag(finding: Finding) -> bool:
    return isinstance((*finding.pointer, "")[0], Flag)


_MOST_SPOTS = 2_000
"""In a larger file a finding may rest on a value that is wrong: there is no time to find out."""

_HELD_TO_THE_CHART = ("nodes", "serviceAccount", "gpus")
"""Keys whose values the chart's schema knows more exactly than that of params."""
_FORM = (WRONG_FORM, NOT_A_CHOICE, NAME_TOO_LONG, OUT_OF_RANGE)
_VALUE = (
    *(AMBIGUOUS, NOT_FINITE, UNSUPPORTED_YAML, TOO_LARGE_NUMBER),
    *(WRONG_TYPE, CHART_REFUSES),
)


def _without_echoes(read: list[Finding], shapes: list[Finding], meant: Mended) -> list[Finding]:
    """The findings of the reader and of the schema, one for each mistake.

    Where the reader has a finding on a value (readers disagree on it, or it needs quotes), the
    schema's finding on its type is dropped. Where the schema refuses the value even as a text, the
    reader's advice to quote it is dropped. A number out of range is not also called too large.
    """
    on_values = {f.pointer for f in read if f.code in _VALUE}
    formed = {f.pointer for f in (*read, *shapes) if f.code in _FORM}
    useless = {
        f.pointer for f in read if f.pointer in meant.texts or f.code == TOO_LARGE_NUMBER
    } & formed
    useless |= {f.pointer for f in (*read, *shapes) if f.code == UNKNOWN_KEY} & meant.odd_keys
    return [
        *(f for f in read if f.code not in _VALUE or f.pointer not in useless),
        *(f for f in shapes if f.code != WRONG_TYPE or f.pointer not in on_values),
    ]


def _without(data: dict[str, Any], paths: Iterable[Pointer]) -> dict[str, Any]:
    """A copy without the values at `paths`. A list with a wrong item is left out whole."""
    part: dict[str, Any] = _copied(data, {})
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


def _copied(value: Any, made: dict[int, Any]) -> Any:
    """A copy of mappings and lists, each made once; `copy.deepcopy` also visits each text."""
    if not isinstance(value, dict | list):
        return value
    if id(value) not in made:
        made[id(value)] = (
            {key: _copied(one, made) for key, one in value.items()}
            if isinstance(value, dict)
            else [_copied(one, made) for one in value]
        )
    return made[id(value)]


def _chart_findings(
    document: Document, values: Values, broken: Iterable[Violation], before: list[Finding]
) -> list[Finding]:
    """What of the chart's schema is `broken`, at the place in the params that the value is from."""
    found = []
    for violation in broken:
        origin = values.origin_around(violation.path)
        if origin[:1] == ("extraValues",):
            path = ("extraValues", *violation.path)
            found.append(located(document, replace(violation, path=path, code=CHART_REFUSES)))
        elif origin[:1] and origin[0] in _HELD_TO_THE_CHART:
            path = values.written(violation.path)
            found.append(located(document, replace(violation, path=path, code=CHART_REFUSES)))
        elif not errors(before):
            raise BugError(
                f"values made of {document.file} are refused by the chart: {violation.message} "
                f"(from {dotted(origin) or 'the whole file'})"
            )
    return found


def _flag_findings(document: Document, values: Values) -> list[Finding]:
    """Findings of the chart's schema on values that flags set."""
    return [
        located(document, replace(violation, path=values.origins[violation.path]))
        for violation in violations(values.effective, values_schema(), named=values.named)
        if isinstance(values.origins.get(violation.path, PRESET)[0], Flag)
    ]
