"""Findings of rules, told at the place in the params file that decided the value."""

from typing import Any, Literal

from tf_cluster import codes
from tf_cluster.expand import Values
from tf_cluster.findings.finding import Finding
from tf_cluster.pointer import Pointer
from tf_cluster.yaml.document import Document


def written(values: Values, *paths: Pointer) -> Pointer:
    """The first of these values that the file itself sets, as a place in it; else its preset."""
    origins = [values.origins.get(path, ("preset",)) for path in paths]
    return next((origin for origin in origins if origin != ("preset",)), ("preset",))


def finding_at(
    document: Document,
    path: Pointer,
    code: str,
    message: str,
    value: Any = None,
    fix: str = "",
    severity: Literal["error", "warning"] = "error",
) -> Finding:
    """A finding on what stands at `path`; one about a missing key is told at the mapping."""
    spot = document.spot(path)
    place = spot.key if code in (codes.MISSING_KEY, codes.IMAGE_MISSING) else spot.value
    return Finding(document.file, place, code, message, path, value, fix, severity)
