"""Findings for people: `file:line:col: CODE: what is wrong (what to do) [pointer]`."""

from collections.abc import Sequence

from tf_cluster.finding import Finding
from tf_cluster.pointer import json_pointer


def text_report(findings: Sequence[Finding]) -> str:
    """One line each; the empty string without findings."""
    return "".join(_line(finding) + "\n" for finding in findings)


def _line(finding: Finding) -> str:
    place = f"{finding.file}:{finding.place.line}:{finding.place.column}"
    severity = "" if finding.severity == "error" else f"{finding.severity}: "
    fix = f" ({finding.fix})" if finding.fix else ""
    pointer = f" [{json_pointer(finding.pointer)}]" if finding.pointer else ""
    return f"{place}: {finding.code}: {severity}{finding.message}{fix}{pointer}"
