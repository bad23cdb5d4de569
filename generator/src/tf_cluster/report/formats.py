"""The formats by name."""

from collections.abc import Sequence
from enum import Enum

from tf_cluster.finding import Finding


class Format(str, Enum):
    """What `--format` takes."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


def report(findings: Sequence[Finding], form: Format) -> str:
    """Print findings in a format. Only the printer used is imported."""
    if form is Format.JSON:
        from tf_cluster.report.json_report import json_report

        return json_report(findings)
    if form is Format.GITHUB:
        from tf_cluster.report.github import github_report

        return github_report(findings)
    if form is Format.SARIF:
        from tf_cluster.report.sarif import sarif_report

        return sarif_report(findings)
    from tf_cluster.report.text import text_report

    return text_report(findings)
