"""What comes of reading a program's code: findings on the params file, and notes."""

from dataclasses import dataclass, field, replace
from typing import Any

from tf_cluster.findings.finding import Code, Finding, Severity
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer
from tf_cluster.printable import cut
from tf_cluster.program.code_place import CodePlace

_MOST_NOTES = 100
_LONGEST_NOTE = 300


@dataclass
class Reading:
    """Findings on a params file by what its program's code says.

    `notes` say what was read, and what can't be known without running it. `severity` is `warning`
    while the code that is read is most likely, but not surely, the code that tasks run.
    """

    params: Params
    findings: list[Finding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    severity: Severity = "error"

    def add(
        self,
        where: Pointer,
        code: Code,
        message: str,
        value: Any = None,
        fix: str = "",
        *,
        at: str = "",
    ) -> None:
        """Note a finding on the value at `where` in the params file, and at a line of the code."""
        one = self.params.finding(where, code, message, value, fix, self.severity)
        related = (at.related,) if isinstance(at, CodePlace) else ()
        self.findings.append(replace(one, related=related))

    def advise(self, where: Pointer, code: Code, message: str, value: Any, fix: str) -> None:
        """Note advice on the value at `where`: a finding that the file may ignore."""
        self.findings.append(self.params.finding(where, code, message, value, fix, "advice"))

    def unknown(self, what: str, why: str) -> None:
        """Note what can't be known."""
        self._note(f"not checked: {what} ({why})")

    def read(self, words: str) -> None:
        """Note what was read."""
        self._note(f"read: {words}")

    def _note(self, words: str) -> None:
        if len(self.notes) < _MOST_NOTES:
            self.notes.append(cut(words, _LONGEST_NOTE))
