"""One thing that is wrong with a params file, and where. The printers are beside this file."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tf_cluster.pointer import Pointer

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Place:
    """A place in a text file; line and column count from 1, columns are characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to do about it.

    `message` says what is wrong without the place; `fix` what to do (empty: nothing better to
    say); `value` is the offending value, None where there is none.
    """

    file: str
    place: Place
    code: str
    message: str
    pointer: Pointer = ()
    value: Any = None
    fix: str = ""
    severity: Severity = "error"


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Sort the findings of one file from top to bottom."""
    return sorted(findings, key=lambda f: (f.place.line, f.place.column, f.code, f.message))


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Leave out the warnings."""
    return [finding for finding in findings if finding.severity == "error"]
