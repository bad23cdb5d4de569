"""Puts findings at their place in the file."""

from dataclasses import replace
from typing import Any

from tf_cluster.findings.finding import Code, Finding, Severity
from tf_cluster.params.schema_violations import MISSING_KEY, Violation
from tf_cluster.pointer import Pointer
from tf_cluster.yaml.document import Document


def finding_at(
    document: Document,
    path: Pointer,
    code: Code,
    message: str,
    value: Any = None,
    fix: str = "",
    severity: Severity = "error",
    *,
    at_key: bool = False,
) -> Finding:
    """A finding on the value at `path`, or on its key.

    If the file has nothing there, the place is the nearest mapping around it.
    """
    spot = document.spot(path)
    place = spot.key if at_key or code == MISSING_KEY else spot.value
    return Finding(document.file, place, code, message, path, value, fix, severity)


def located(document: Document, violation: Violation) -> Finding:
    """A schema's violation as a finding; without a value, on the key."""
    at_key = violation.at_key or violation.value is None
    path, code, message = violation.path, violation.code, violation.message
    finding = finding_at(
        document, path, code, message, violation.value, violation.fix, at_key=at_key
    )
    return replace(finding, repair=violation.repair) if violation.repair else finding
