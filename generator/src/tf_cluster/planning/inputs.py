"""The values that a file asks for: a params file, or a values file of the chart."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.check import check
from tf_cluster.checks.nulls import FIX, REMOVES, nulls
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.merge import merged
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.finding import Finding, errors
from tf_cluster.params.kinds import is_values_file
from tf_cluster.params.locate import finding_at, located
from tf_cluster.params.schema_files import chart_values, values_schema
from tf_cluster.params.schema_violations import CHART_REFUSES, violations
from tf_cluster.pointer import dotted
from tf_cluster.yaml.reader import read_document


@dataclass(frozen=True)
class Asked:
    """What a file asks for: whole only where none of the findings is an error.

    `text` is a values file for helm: the file itself, where it is one.
    """

    effective: Mapping[str, Any]
    findings: tuple[Finding, ...]
    text: str = ""

    @property
    def good(self) -> bool:
        """Whether there are no errors."""
        return not errors(self.findings)


def asked_values(file: str, raw: bytes) -> Asked:
    """The effective values of a file. Of a values file, only what the chart's schema says is held.

    Raises BugError, as `check` does.
    """
    document = read_document(file, raw)
    if not document.readable or not is_values_file(document, raw):
        checked = check(file, raw)
        text = ""
        if checked.good:
            text = values_text(checked.values, file, preset_name(checked.document.data))
        return Asked(checked.values.effective, checked.findings, text)
    effective = merged(chart_values(), document.data)
    refused = [
        located(document, replace(one, code=CHART_REFUSES))
        for one in violations(effective, values_schema())
    ]
    removed = [
        finding_at(document, path, CHART_REFUSES, f"{dotted(path)} {REMOVES}", fix=FIX)
        for path in nulls(document.data)
    ]
    return Asked(
        effective, (*document.findings, *removed, *refused), raw.decode("utf-8-sig", "replace")
    )
