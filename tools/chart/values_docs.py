"""The comments of values.yaml, written into a page and the schema's descriptions.

    python -m tools.chart.values_docs           write both files of every chart
    python -m tools.chart.values_docs --check   write nothing; exit 1 when a file would change

A comment `# -- text` stands on the line above its key; values.yaml is the only place that text is
written by hand.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools import ROOT

CHART = ROOT / "charts" / "tf-cluster"
STORAGE_CHART = ROOT / "charts" / "tf-storage"
TENANT_CHART = ROOT / "charts" / "tf-tenant"
SERVING_CHART = ROOT / "charts" / "tf-serving"
# Each chart, and the page that has its tables.
PAGES = {
    CHART: ROOT / "docs" / "values.md",
    STORAGE_CHART: STORAGE_CHART / "README.md",
    TENANT_CHART: TENANT_CHART / "README.md",
    SERVING_CHART: SERVING_CHART / "README.md",
}
# The section with the defaults of all roles of pods: each role's section takes its keys, too.
POD = "pod"
ROLES = re.findall(r'"name": "(\w+)"', (CHART / "templates" / "_roles.tpl").read_text())
BEGIN = "<!-- values: begin (written by python -m tools.chart.values_docs) -->"
END = "<!-- values: end -->"


@dataclass(frozen=True)
class Value:
    """One documented key of values.yaml: its path, its comment, its default."""

    path: tuple[str, ...]
    comment: str
    default: Any
    is_section: bool


def read_values(text: str) -> list[Value]:
    """Every documented key in file order. A key is a section when keys below it are documented.

    Raises ValueError for a comment that is not followed by its key.
    """
    comments = dict(_comments(text))
    defaults = yaml.safe_load(text)
    values = []
    for path, comment in comments.items():
        below = any(other[: len(path)] == path and other != path for other in comments)
        values.append(Value(path, comment, _at(defaults, path), below))
    return values


def _comments(text: str) -> Iterator[tuple[tuple[str, ...], str]]:
    path: list[tuple[int, str]] = []
    comment: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r"( *)# -- (.*)$", line):
            comment = match[2].strip()
        elif match := re.match(r"( *)([A-Za-z]\w*):", line):
            indent = len(match[1])
            path = [*((depth, key) for depth, key in path if depth < indent), (indent, match[2])]
            if comment is not None:
                yield tuple(key for _, key in path), comment
            comment = None
        elif comment is not None:
            raise ValueError(f"values.yaml:{number}: a `# --` comment must stand above its key")


def _at(values: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        values = values[key]
    return values


def tables(values: list[Value]) -> str:
    """The tables: one for the keys at the root, one for each section of the root."""
    roots = [value for value in values if len(value.path) == 1]
    plain = [value for value in roots if not value.is_section]
    parts = [_table(plain)]
    for section in (value for value in roots if value.is_section):
        rows = [
            value
            for value in values
            if value.path[0] == section.path[0] and not value.is_section and len(value.path) > 1
        ]
        parts.append(f"### {section.path[0]}\n\n{section.comment}\n\n{_table(rows)}")
    return "\n\n".join(parts)


def _table(rows: list[Value]) -> str:
    lines = ["| value | default | |", "|---|---|---|"]
    for row in rows:
        default = json.dumps(row.default, ensure_ascii=False)
        text = row.comment.replace("|", "\\|")
        lines.append(f"| `{'.'.join(row.path)}` | `{default}` | {text} |")
    return "\n".join(lines)


def with_tables(page: str, values: list[Value]) -> str:
    """The page with the part between its two marks replaced."""
    head, _, rest = page.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n\n{tables(values)}\n\n{END}{tail}"


def with_descriptions(schema: dict[str, Any], values: list[Value]) -> dict[str, Any]:
    """The schema with the description of every documented key set from its comment."""
    schema = json.loads(json.dumps(schema))
    for value in values:
        node: Any = schema
        for key in value.path:
            if key not in node["properties"]:
                raise SystemExit(f"values.schema.json has no {'.'.join(value.path)}: add it there")
            node = node["properties"][key]
        node["description"] = value.comment
    return schema


def with_pod_values(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with each key of `pod` in the section of every role."""
    sections = json.loads(json.dumps(schema))["properties"]
    for role in (name for name in ROLES if name in sections):
        own = sections[role]["properties"]
        sections[role]["properties"] = {
            **{key: node for key, node in own.items() if not _is_of_pod(node)},
            **{
                key: {"$ref": f"#/properties/{POD}/properties/{key}"}
                for key in sections[POD]["properties"]
            },
        }
    return {**schema, "properties": sections}


def _is_of_pod(node: Mapping[str, Any]) -> bool:
    return str(node.get("$ref", "")).startswith(f"#/properties/{POD}/")


def schema_text(schema: Mapping[str, Any]) -> str:
    """The one way this file is written: two blanks, and short objects and lists on one line."""
    return _layout(schema, 0) + "\n"


def _layout(node: Any, indent: int, used: int = 0) -> str:
    flat = json.dumps(node, ensure_ascii=False)
    if not isinstance(node, dict | list) or not node or indent + used + len(flat) <= 110:
        return flat
    pad = " " * (indent + 2)
    if isinstance(node, dict):
        body = [
            f"{pad}{json.dumps(key)}: {_layout(child, indent + 2, len(key) + 4)}"
            for key, child in node.items()
        ]
    else:
        body = [pad + _layout(child, indent + 2) for child in node]
    opening, closing = "{}" if isinstance(node, dict) else "[]"
    return opening + "\n" + ",\n".join(body) + "\n" + " " * indent + closing


def outputs() -> dict[Path, str]:
    """What each written file should contain."""
    return {path: text for chart in PAGES for path, text in _of_chart(chart).items()}


def _of_chart(chart: Path) -> dict[Path, str]:
    values = read_values((chart / "values.yaml").read_text())
    schema_path, page_path = chart / "values.schema.json", PAGES[chart]
    schema = with_descriptions(json.loads(schema_path.read_text()), values)
    return {
        schema_path: schema_text(with_pod_values(schema) if chart == CHART else schema),
        page_path: with_tables(page_path.read_text(), values),
    }


def main() -> int:
    """Write, or check, both files."""
    parser = argparse.ArgumentParser(prog="python -m tools.chart.values_docs")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 on a difference"
    )
    arguments = parser.parse_args()
    stale = [path for path, text in outputs().items() if path.read_text() != text]
    for path in stale:
        if arguments.check:
            print(
                f"{path.relative_to(ROOT)} is not what values.yaml says: "
                "python -m tools.chart.values_docs"
            )
        else:
            path.write_text(outputs()[path])
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if arguments.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
