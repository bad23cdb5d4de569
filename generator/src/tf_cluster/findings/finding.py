"""One thing that is wrong with a params file, and where. The printers are beside this file."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tf_cluster.pointer import Pointer

Severity = Literal["error", "warning", "advice"]
"""Advice is what a file may ignore by name, with a reason (params/ignores.py)."""

MOST_FINDINGS = 20_000
"""Most findings that one floor looks for in one file, which bounds time and memory."""


class Code(str):
    """The code of one kind of finding, `TFC305`, and what it is about.

    A code never changes its meaning. The file that uses it defines it; docs/codes.md, which
    `python -m tools.code_pages` makes, lists all. `about` ends with `(warning)` or `(advice)` if it
    is one. `why` is what happens otherwise, in a sentence or two. `wrong` is a params file with
    this one finding, or the part of one that has it; `right` is the mended one. Another file that
    they need follows after a line `### NAME`; `«x × 900»` is so many x.
    """

    about: str
    why: str
    wrong: str
    right: str

    def __new__(cls, code: str, about: str, *, why: str, wrong: str, right: str) -> "Code":
        """Make the text from `code` alone."""
        one = super().__new__(cls, code)
        one.about, one.why, one.wrong, one.right = about, why, wrong, right
        return one

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, str]]:
        """What makes the same code in another process."""
        return (str(self),), vars(self)


@dataclass(frozen=True)
class Place:
    """A place in a text file; line and column count from 1, columns are characters."""

    line: int
    column: int


@dataclass(frozen=True)
class Related:
    """A place in another file that a finding is about, too."""

    file: str
    place: Place


@dataclass(frozen=True)
class Repair:
    """A fix that a program can make: the YAML text that takes the place of a value or of its key.

    `safe` when the file then says the same in another form; else it is a guess.
    """

    text: str
    safe: bool
    at_key: bool = False


@dataclass(frozen=True)
class Finding:
    """What is wrong, where, and what to do about it.

    `message` says what is wrong, without the place; `fix` says what to do, or is empty; `repair` is
    that fix for a program, where there is only one way to make it; `value` is the offending value,
    None where there is none. `related` is the other side, where there is one: the line of the
    program that a flag does not fit.
    """

    file: str
    place: Place
    code: Code
    message: str
    pointer: Pointer = ()
    value: Any = None
    fix: str = ""
    severity: Severity = "error"
    related: tuple[Related, ...] = ()
    repair: Repair | None = None

    @property
    def words(self) -> str:
        """What is wrong and, in brackets, what to do."""
        return f"{self.message} ({self.fix})" if self.fix else self.message


def by_place(findings: Iterable[Finding]) -> list[Finding]:
    """Sort the findings of one file from top to bottom."""
    return sorted(findings, key=lambda f: (f.place.line, f.place.column, f.code, f.message))


def errors(findings: Iterable[Finding]) -> list[Finding]:
    """Leave out the warnings and the advice."""
    return [finding for finding in findings if finding.severity == "error"]
