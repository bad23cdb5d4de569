"""What every check reads: a params file and the values made of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster.findings.finding import Code, Finding, Severity
from tf_cluster.params.locate import finding_at
from tf_cluster.params.values import Values
from tf_cluster.pointer import Pointer, value_at
from tf_cluster.yaml.document import Document


@dataclass(frozen=True)
class Params:
    """A params file as it was meant (mend.py), and the values made of it.

    `sound` is the part of the file that the schemas accept; the values are made of it.
    `for_cluster` is False for `tf-cluster run`.
    """

    document: Document
    sound: Mapping[str, Any]
    values: Values
    for_cluster: bool = True

    @property
    def effective(self) -> Mapping[str, Any]:
        """The values as the chart's templates see them."""
        return self.values.effective

    def value_at(self, path: Pointer) -> Any:
        """The effective value at `path`; None where there is none."""
        return value_at(self.values.effective, path)

    def written_at(self, path: Pointer) -> Any:
        """The file's own value at `path`, even one with findings; None where there is none."""
        return value_at(self.document.data, path)

    def origin_of(self, *paths: Pointer) -> Pointer:
        """The place of the first of these values that the file itself sets; else `PRESET`."""
        return self.values.origin_of(*paths)

    def finding(
        self,
        where: Pointer,
        code: Code,
        message: str,
        value: Any = None,
        fix: str = "",
        severity: Severity = "error",
        *,
        at_key: bool = False,
    ) -> Finding:
        """A finding on the value at `where` in the file, or on its key."""
        return finding_at(self.document, where, code, message, value, fix, severity, at_key=at_key)
