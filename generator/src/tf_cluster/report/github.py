"""Findings as GitHub workflow commands, which show beside the lines of a pull request."""

from collections.abc import Sequence

from tf_cluster.finding import Finding
from tf_cluster.report.relative import relative_path


def github_report(findings: Sequence[Finding]) -> str:
    """One `::error …::` or `::warning …::` line each."""
    return "".join(_command(finding) + "\n" for finding in findings)


def _command(finding: Finding) -> str:
    properties = {
        "file": relative_path(finding.file),
        "line": str(finding.place.line),
        "col": str(finding.place.column),
        "title": finding.code,
    }
    text = finding.message + (f" ({finding.fix})" if finding.fix else "")
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{finding.severity} {listed}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
