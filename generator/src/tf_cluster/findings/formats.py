"""The formats by name, and what they have in common."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.printable import cut, printable

if TYPE_CHECKING:
    from tf_cluster.findings.source_line import Screen

MOST_SHOWN = 1_000
"""Most findings that are printed; the rest are counted."""

_LONGEST_WORDS = 1_000


class Format(str, Enum):
    """What `--format` takes."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass(frozen=True)
class Unread:
    """A file that could not be read, as the user named it, and why."""

    file: str
    why: str


@dataclass(frozen=True)
class Shown:
    """The input of a printer: findings that are safe to print, and what was left out."""

    findings: Sequence[Finding]
    more: int
    unread: Sequence[Unread]

    @property
    def of_more(self) -> str:
        """A sentence on the findings that are not shown; empty when all are."""
        if not self.more:
            return ""
        return f"{self.more} more {'findings are' if self.more > 1 else 'finding is'} not shown"


def report(
    findings: Sequence[Finding],
    form: Format,
    unread: Sequence[Unread] = (),
    known: Sequence[Code] = (),
    screen: "Screen | None" = None,
) -> str:
    """Print findings in a format. Only the printer used is imported.

    Formats for programs include `unread`; people read those on stderr. `known` are all codes that
    exist: SARIF lists them beside the ones that were found. A `screen` gets the lines that the
    findings are about, below them.
    """
    shown = Shown(
        [
            replace(finding, message=_words(finding.message), fix=_words(finding.fix))
            for finding in findings[:MOST_SHOWN]
        ],
        max(0, len(findings) - MOST_SHOWN),
        unread,
    )
    if form is Format.JSON:
        from tf_cluster.findings.json import json_report

        return json_report(shown)
    if form is Format.GITHUB:
        from tf_cluster.findings.github import github_report

        return github_report(shown)
    if form is Format.SARIF:
        from tf_cluster.findings.sarif import sarif_report

        return sarif_report(shown, known)
    from tf_cluster.findings.text import text_report

    return text_report(shown, screen)


def _words(text: str) -> str:
    return printable(cut(text, _LONGEST_WORDS))
