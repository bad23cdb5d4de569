"""Findings as JSON. `version` changes when a reader would break."""

import json
from collections.abc import Sequence

from tf_cluster import __version__
from tf_cluster.finding import Finding
from tf_cluster.pointer import json_pointer
from tf_cluster.report.relative import relative_path


def json_report(findings: Sequence[Finding]) -> str:
    """`{"version": 1, "tool": {…}, "findings": [{…}]}`."""
    document = {
        "version": 1,
        "tool": {"name": "tf-cluster", "version": __version__},
        "findings": [
            {
                "file": relative_path(finding.file),
                "line": finding.place.line,
                "column": finding.place.column,
                "code": finding.code,
                "severity": finding.severity,
                "message": finding.message,
                "fix": finding.fix,
                "pointer": json_pointer(finding.pointer),
                "value": finding.value,
            }
            for finding in findings
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
