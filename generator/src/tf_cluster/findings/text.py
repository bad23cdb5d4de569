"""Findings for people: `file:line:col: CODE: what is wrong (what to do) [pointer]`."""

from tf_cluster.findings.finding import Finding
from tf_cluster.findings.formats import Shown
from tf_cluster.pointer import json_pointer
from tf_cluster.printable import cut, printable

_LONGEST_POINTER = 200


def text_report(shown: Shown) -> str:
    """One line each; the empty string without findings."""
    lines = [_line(finding) for finding in shown.findings]
    if shown.more:
        lines.append(shown.of_more)
    return "".join(printable(line) + "\n" for line in lines)


def _line(finding: Finding) -> str:
    place = f"{finding.file}:{finding.place.line}:{finding.place.column}"
    severity = "" if finding.severity == "error" else f"{finding.severity}: "
    pointer = cut(json_pointer(finding.pointer), _LONGEST_POINTER)
    pointer = f" [{pointer}]" if finding.pointer else ""
    return f"{place}: {finding.code}: {severity}{finding.words}{pointer}"
