"""No product code compares the names of a combination: it asks the combination's row.

    python -m tools.combination_lint        print where it does; exit 1 if anywhere

The rows are in tf_cluster_trainer/config/combination.py, tf_cluster/expand/roles.py and
_combinations.tpl.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from tools import ROOT

TABLES = {"combination.py", "roles.py", "_combinations.tpl"}
WORDS = {"parameter-server", "all-reduce", "in-graph", "between-graph", "async", "sync"}
FIELDS = {"strategy", "replication", "update"}
_IN_TEMPLATES = re.compile(
    rf"\b(?:eq|ne|has)\b[^}}]*(?:\"(?:{'|'.join(WORDS)})\"|\.Values\.(?:{'|'.join(FIELDS)})\b)"
)


def of_python(text: str) -> Iterator[int]:
    """The lines of a module in which the names are compared."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare):
            parts = [part for side in (node.left, *node.comparators) for part in ast.walk(side)]
        elif isinstance(node, ast.MatchValue):
            parts = [node.value]
        else:
            continue
        if any(_is_name(part) for part in parts):
            yield node.lineno


def of_template(text: str) -> Iterator[int]:
    """The lines of a template in which the names are compared."""
    for number, line in enumerate(text.splitlines(), 1):
        if _IN_TEMPLATES.search(line):
            yield number


def main() -> int:
    """Print every place; the exit code."""
    found = []
    for folder in ("trainer", "generator"):
        for path in sorted((ROOT / folder).rglob("src/**/*.py")):
            found += _places(path, of_python)
    for path in sorted((ROOT / "charts/tf-cluster/templates").rglob("*")):
        if path.is_file():
            found += _places(path, of_template)
    for place in found:
        print(f"{place}: compares the name of a combination; ask its row", file=sys.stderr)
    return 1 if found else 0


def _places(path: Path, lines: Callable[[str], Iterator[int]]) -> list[str]:
    if path.name in TABLES:
        return []
    return [f"{path.relative_to(ROOT)}:{line}" for line in lines(path.read_text())]


def _is_name(node: ast.AST) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in WORDS
    return isinstance(node, ast.Attribute) and node.attr in FIELDS


if __name__ == "__main__":
    sys.exit(main())
