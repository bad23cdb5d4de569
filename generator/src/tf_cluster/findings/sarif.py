"""Findings as SARIF 2.1.0, which code scanning services read."""

import json
import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from tf_cluster import __version__
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.findings.formats import Shown
from tf_cluster.findings.relative import in_repository, repository
from tf_cluster.pointer import json_pointer
from tf_cluster.printable import escaped_json, printable, printable_lines

_TOP = "SRCROOT"
"""What relative names are relative to: the repository, or the working directory."""


def sarif_report(shown: Shown, known: Sequence[Code] = ()) -> str:
    """One run; every known code is a rule, whether it was found or not."""
    codes = sorted({*known, *(finding.code for finding in shown.findings)})
    rules = [_rule(code) for code in codes]
    driver = {"name": "tf-cluster", "version": __version__, "rules": rules}
    document = {
        "$schema": "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {_TOP: {"uri": f"file://{_quoted(repository())}/"}},
                "invocations": [_invocation(shown)],
                "results": [_result(finding, codes) for finding in shown.findings],
            }
        ],
    }
    return escaped_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _rule(code: Code) -> dict[str, Any]:
    """What a code is, and its help. A helpUri has to be absolute, and no host has the page."""
    page = f"docs/codes.md#{code.lower()}"
    wrong, right = (f"```yaml\n{printable_lines(one)}\n```" for one in (code.wrong, code.right))
    return {
        "id": code,
        "shortDescription": {"text": code.about},
        "fullDescription": {"text": code.why},
        "help": {
            "text": f"{code.why} See {page}.",
            "markdown": f"{code.why}\n\nWrong:\n\n{wrong}\n\nRight:\n\n{right}\n\nSee {page}.",
        },
    }


def _invocation(shown: Shown) -> dict[str, Any]:
    """Whether everything was read, and what is not among the results."""
    notices = [
        {
            "level": "error",
            "message": _message(printable(f"{one.file}: {one.why}")),
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(one.file)}}],
        }
        for one in shown.unread
    ]
    if shown.more:
        notices.append({"level": "warning", "message": _message(shown.of_more)})
    return {"executionSuccessful": not shown.unread, "toolExecutionNotifications": notices}


def _result(finding: Finding, codes: Sequence[Code]) -> dict[str, Any]:
    region = {"startLine": finding.place.line, "startColumn": finding.place.column}
    related = [
        {
            "physicalLocation": {
                "artifactLocation": _artifact(one.file),
                "region": {"startLine": one.place.line},
            }
        }
        for one in finding.related
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": codes.index(finding.code),
        "level": "note" if finding.severity == "advice" else finding.severity,
        "message": _message(finding.words),
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(finding.file),
                    "region": region,
                },
                "logicalLocations": [{"fullyQualifiedName": json_pointer(finding.pointer)}],
            }
        ],
        **({"relatedLocations": related} if related else {}),
    }


def _message(text: str) -> dict[str, str]:
    """Text with `[words](place)` escaped, so that it is no link (SARIF 2.1.0, 3.11.6)."""
    return {"text": text.replace("](", "]\\(")}


def _artifact(file: str) -> dict[str, str]:
    path = in_repository(file)
    if path.startswith("/"):
        return {"uri": f"file://{_quoted(path)}"}
    return {"uri": _quoted(path), "uriBaseId": _TOP}


def _quoted(path: str) -> str:
    return quote(os.fsencode(path.rstrip("/")))
