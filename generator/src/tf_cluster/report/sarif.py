"""Findings as SARIF 2.1.0, which code scanning services read."""

import json
from collections.abc import Sequence
from urllib.parse import quote

from tf_cluster import __version__
from tf_cluster.codes import TITLES
from tf_cluster.finding import Finding
from tf_cluster.pointer import json_pointer
from tf_cluster.report.relative import relative_path


def sarif_report(findings: Sequence[Finding]) -> str:
    """One run; every code is a rule, whether it was found or not."""
    codes = list(TITLES)
    rules = [{"id": code, "shortDescription": {"text": TITLES[code]}} for code in codes]
    driver = {"name": "tf-cluster", "version": __version__, "rules": rules}
    document = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "results": [_result(finding, codes) for finding in findings],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _result(finding: Finding, codes: list[str]) -> dict[str, object]:
    text = finding.message + (f" ({finding.fix})" if finding.fix else "")
    region = {"startLine": finding.place.line, "startColumn": finding.place.column}
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": finding.severity,
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": quote(relative_path(finding.file))},
                    "region": region,
                },
                "logicalLocations": [{"fullyQualifiedName": json_pointer(finding.pointer)}],
            }
        ],
    }
