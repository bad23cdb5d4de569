"""Findings, told at the place in the file that they are about."""

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
    """A finding on what stands at `path`, or on its key.

    What is missing, or no key of the file, is told at the nearest mapping around it.
    """
    spot = document.spot(path)
    place = spot.key if at_key or code == MISSING_KEY else spot.value
    return Finding(document.file, place, code, message, path, value, fix, severity)


def located(document: Document, violation: Violation) -> Finding:
    """What a schema refuses, as a finding; where there is no value, on the key."""
    at_key = violation.at_key or violation.value is None
    path, code, message = violation.path, violation.code, violation.message
    return finding_at(document, path, code, message, violation.value, violation.fix, at_key=at_key)
