"""Reads a params file as it was meant, so that one mistake does not hide others.

A mistyped key is read as the key it resembles, and an unquoted number as the text that is needed
there. The mistake is a finding; the values below and beside it are checked all the same. A key of
another chart is no mistyped one, whatever it resembles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.go_validator import is_of_type
from tf_cluster.params.other_charts import suggestion
from tf_cluster.params.schema_files import params_schema, resolved, values_schema
from tf_cluster.params.schema_violations import (
    CHART_REFUSES,
    WRONG_TYPE,
    Violation,
    did_you_mean,
    unknown_key,
)
from tf_cluster.params.spelling import meant
from tf_cluster.params.wording import excerpt, kind_of, needed
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut
from tf_cluster.yaml.document import Document
from tf_cluster.yaml.helm_scalars import AMBIGUOUS, NOT_FINITE, TOO_LARGE_NUMBER, quoted, scalar

_OF_A_VALUE = (AMBIGUOUS, NOT_FINITE, TOO_LARGE_NUMBER)

_MOST_MENDED = 1_000
"""With more mistyped keys than this, guessing ends; nobody reads so many findings."""

Node = Mapping[str, Any]


@dataclass(frozen=True)
class Mended:
    """A document as it was meant, and what was mended.

    Its paths have the right keys; `as_written` gives the file's. `texts` are the paths of values
    that are read as texts although the file has them without quotes.
    """

    document: Document
    violations: tuple[Violation, ...]
    renamed: Mapping[Pointer, str]
    texts: frozenset[Pointer]

    def as_written(self, path: Pointer) -> Pointer:
        """A path of the mended document as the file has it."""
        if not self.renamed:
            return path
        return tuple(self.renamed.get(path[: i + 1], part) for i, part in enumerate(path))


def mended(document: Document) -> Mended:
    """Mend mistakes for which the schemas of params and values leave only one meaning."""
    mender = _Mender(document)
    data = mender.mapping(document.data, params_schema(), params_schema(), (), ())
    spots = {mender.moved(path): spot for path, spot in document.spots.items()}
    return Mended(
        replace(document, data=data, spots=spots, findings=mender.findings()),
        tuple(mender.violations),
        mender.renamed,
        frozenset(mender.texts),
    )


class _Mender:
    def __init__(self, document: Document) -> None:
        self.spots = document.spots
        self.violations: list[Violation] = []
        self.renamed: dict[Pointer, str] = {}
        self.texts: set[Pointer] = set()
        self._found = list(document.findings)
        self._new: dict[Pointer, str] = {}  # paths of the file whose last key is another one now
        self._on_values = {
            finding.pointer: index
            for index, finding in enumerate(self._found)
            if finding.code in _OF_A_VALUE and finding.pointer in self.spots
        }

    def findings(self) -> tuple[Finding, ...]:
        """What the reader found, with the paths of the mended document."""
        return tuple(replace(f, pointer=self.moved(f.pointer)) for f in self._found)

    def moved(self, path: Pointer) -> Pointer:
        """A path of the file, in the mended document."""
        if not self._new:
            return path
        return tuple(self._new.get(path[: i + 1], part) for i, part in enumerate(path))

    def value(self, value: Any, node: Node, schema: Node, path: Pointer, written: Pointer) -> Any:
        """The value at `path` (in the file at `written`) as it was meant."""
        node = resolved(node, schema)
        if path == ("extraValues",):
            node = schema = values_schema()
        if isinstance(value, dict):
            return self.mapping(value, node, schema, path, written)
        if isinstance(value, list):
            items = node.get("items", {})
            return [
                self.value(item, items, schema, (*path, i), (*written, i))
                for i, item in enumerate(value)
            ]
        return self.scalar(value, node, path, written)

    def mapping(
        self, data: dict[str, Any], node: Node, schema: Node, path: Pointer, written: Pointer
    ) -> dict[str, Any]:
        """A mapping with the keys that were meant."""
        known = node.get("properties", {})
        others = node.get("additionalProperties", {})
        result = {}
        for key, value in data.items():
            right = key
            unknown = others is False and key not in known
            if unknown and len(self.renamed) < _MOST_MENDED and not _of_another_chart(key, path):
                right = meant(key, [one for one in known if one not in data]) or key
                if right in result:  # two keys resemble the same one: take the first
                    right = key
            here, there = (*path, right), (*written, key)
            if right != key:
                self.renamed[here] = key
                self._new[there] = right
                violation = unknown_key(here, key, dotted(path), did_you_mean(right))
                self.violations.append(replace(violation, code=_code(path, violation.code)))
            inner = known.get(right, others if isinstance(others, dict) else {})
            result[right] = self.value(value, inner, schema, here, there)
        return result

    def scalar(self, value: Any, node: Node, path: Pointer, written: Pointer) -> Any:
        """The value in the type that is needed, if there is only one way to read it so."""
        types = _types(node)
        plain = self.spots[written].plain if written in self.spots else None
        if plain is not None and written in self._on_values:
            return self._told_value(value, plain, types, path, self._on_values[written])
        if not types:
            return value
        code = _code(path, WRONG_TYPE)
        if types == {"string"} and plain and isinstance(value, (bool, int, float)):
            message = f"{dotted(path)} is {cut(plain)}, {kind_of(value)}; a text is needed"
            fix = f"write it in quotes: {quoted(plain)}"
            self.violations.append(Violation(code, path, message, fix, value))
            self.texts.add(path)
            return plain
        if isinstance(value, str) and value and plain is None and "string" not in types:
            typed = scalar(value)
            if _fits(typed.value, types):
                wanted = needed(node["type"])
                message = f"{dotted(path)} is {excerpt(value)}, a text; {wanted} is needed"
                fix = typed.meant or "write it without quotes"
                self.violations.append(Violation(code, path, message, fix, value))
                return typed.value
        return value

    def _told_value(
        self, value: Any, plain: str, types: set[str], path: Pointer, index: int
    ) -> Any:
        """A value that the reader has a finding on, whose fix is adapted to the needed type."""
        needs_text = types == {"string"} or (value is not None and not _fits(value, types))
        if "string" in types and needs_text:
            fix = f"write it in quotes: {quoted(plain)}"
            self._found[index] = replace(self._found[index], fix=fix)
            self.texts.add(path)
            return plain
        if types and "string" not in types:
            self._found[index] = replace(self._found[index], fix=scalar(plain).meant)
        return value


def _of_another_chart(key: str, path: Pointer) -> bool:
    in_params = path[:1] != ("extraValues",)
    return suggestion(key, path if in_params else path[1:], in_params=in_params) != ""


def _code(path: Pointer, code: Code) -> Code:
    """In extraValues every violation has the chart's code."""
    return CHART_REFUSES if path[:1] == ("extraValues",) else code


def _fits(value: Any, types: set[str]) -> bool:
    return any(is_of_type(value, kind) for kind in types)


def _types(node: Node) -> set[str]:
    """The types that a schema takes; empty when it takes any."""
    if "enum" in node:
        return {"string"} if all(isinstance(word, str) for word in node["enum"]) else set()
    types = node.get("type", [])
    return {types} if isinstance(types, str) else {*types}
