"""Findings as GitHub workflow commands, which show beside the lines of a pull request."""

from tf_cluster.findings.finding import Finding
from tf_cluster.findings.formats import Shown
from tf_cluster.findings.relative import in_repository
from tf_cluster.printable import printable


def github_report(shown: Shown) -> str:
    """One `::error …::`, `::warning …::` or `::notice …::` line each."""
    lines = [_command(finding) for finding in shown.findings]
    if shown.more:
        lines.append(f"::error title=tf-cluster::{_data(shown.of_more)}")
    return "".join(line + "\n" for line in lines)


def _command(finding: Finding) -> str:
    properties = {
        "file": in_repository(finding.file),
        "line": str(finding.place.line),
        "col": str(finding.place.column),
        "title": finding.code,
    }
    listed = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    level = "notice" if finding.severity == "advice" else finding.severity
    return f"::{level} {listed}::{_data(finding.words)}"


def _data(text: str) -> str:
    return text.replace("%", "%25")


def _property(text: str) -> str:
    return _data(printable(text)).replace(":", "%3A").replace(",", "%2C")
