"""Findings for people: `file:line:col: CODE: what is wrong (what to do) [pointer]`."""

from typing import TYPE_CHECKING

from tf_cluster.findings.finding import Finding
from tf_cluster.findings.formats import Shown
from tf_cluster.pointer import json_pointer
from tf_cluster.printable import cut, printable

if TYPE_CHECKING:
    from tf_cluster.findings.source_line import Screen

_LONGEST_POINTER = 200


def text_report(shown: Shown, screen: "Screen | None" = None) -> str:
    """One line each; on a screen, the line in the file follows. The empty string for none."""
    lines = []
    for finding in shown.findings:
        line = printable(_line(finding))
        if screen:
            code = f": {finding.code}: "
            colored = f": {screen.colored(finding.code, finding.severity)}: "
            line = line.replace(code, colored, 1)
        lines.append(line)
        if screen:
            lines += screen.lines(finding.file, finding.place, finding.severity)
    if shown.more:
        lines.append(shown.of_more)
    return "".join(line + "\n" for line in lines)


def _line(finding: Finding) -> str:
    place = f"{finding.file}:{finding.place.line}:{finding.place.column}"
    severity = "" if finding.severity == "error" else f"{finding.severity}: "
    pointer = cut(json_pointer(finding.pointer), _LONGEST_POINTER)
    pointer = f" [{pointer}]" if finding.pointer else ""
    return f"{place}: {finding.code}: {severity}{finding.words}{pointer}"
