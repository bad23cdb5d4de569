"""Findings as JSON. `version` changes when a reader would break."""

import json
from typing import Any

from tf_cluster import __version__
from tf_cluster.findings.formats import Shown
from tf_cluster.findings.relative import relative_path
from tf_cluster.pointer import json_pointer
from tf_cluster.printable import escaped_json

_LONGEST_VALUE = 1_000
"""Characters of a value as JSON; a longer one is left out (null)."""


def json_report(shown: Shown) -> str:
    """`{"version": 1, "tool": {…}, "findings": [{…}], "notShown": 0, "unread": [{…}]}`."""
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
                "value": _if_short(finding.value),
                "related": [
                    {"file": relative_path(one.file), "line": one.place.line}
                    for one in finding.related
                ],
            }
            for finding in shown.findings
        ],
        "notShown": shown.more,
        "unread": [{"file": relative_path(one.file), "why": one.why} for one in shown.unread],
    }
    return escaped_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _if_short(value: Any) -> Any:
    return value if len(json.dumps(value, ensure_ascii=False)) <= _LONGEST_VALUE else None
