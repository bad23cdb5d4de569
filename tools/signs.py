"""Signs of a good house, counted: `make signs`.

Not limits: where a number would make the code worse, the better code is kept.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools import ROOT

TRAINER = ROOT / "trainer/src/tf_cluster_trainer"
TEMPLATES = ROOT / "charts/tf-cluster/templates"


def attributes(node: ast.ClassDef) -> set[str]:
    """The attributes that a class gives its instances: fields, and what is set on self."""
    fields = {
        one.target.id
        for one in node.body
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)
    }
    on_self = {
        one.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Attribute)
        and isinstance(one.ctx, ast.Store)
        and isinstance(one.value, ast.Name)
        and one.value.id == "self"
    }
    return fields | on_self


def classes() -> Iterator[tuple[int, str]]:
    """Of the trainer: how many attributes, and which class. Records of data are left out."""
    for path in sorted(TRAINER.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and not _is_frozen(node):
                yield len(attributes(node)), f"{path.relative_to(TRAINER)}:{node.name}"


def rooms() -> set[tuple[str, str]]:
    """Which room of the trainer imports from which; a room is a folder or file of the package."""
    arrows = set()
    for path in TRAINER.rglob("*.py"):
        here = _room(path.relative_to(TRAINER).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(TRAINER.name):
                inside = (node.module or "").split(".")[1:] or [node.names[0].name]
                arrows.add((here, _room(tuple(inside))))
    return {(here, there) for here, there in arrows if here != there}


def kept_twice() -> int:
    """Lines of files in the product that are the same as those of another one, links aside."""
    seen: dict[bytes, Path] = {}
    lines = 0
    for folder in ("generator/src", "trainer/src", "trainer/cleanup/src", "charts"):
        for path in sorted((ROOT / folder).rglob("*")):
            if not path.is_file() or path.is_symlink() or path.suffix not in (".json", ".yaml"):
                continue
            if path.read_bytes() in seen:
                lines += len(path.read_text().splitlines())
            seen[path.read_bytes()] = path
    return lines


def main() -> int:
    """Print them."""
    most, largest = max(classes())
    long = max((len(p.read_text().splitlines()), p) for p in TRAINER.rglob("*.py"))
    templates = [p.read_text() for p in TEMPLATES.rglob("*") if p.is_file()]
    merges = sum(len(re.findall(r"merge \(dict", text)) for text in templates)
    wide = sum(len(line) > 140 for text in templates for line in text.splitlines())
    print(f"attributes of the trainer's largest class   {most}  {largest}")
    print(f"lines of the trainer's largest file         {long[0]}  {long[1].relative_to(TRAINER)}")
    print(f"arrows between rooms of the trainer         {len(rooms())}")
    print(f"lines kept twice                            {kept_twice()}")
    print(f"`merge (dict` in templates                  {merges}")
    print(f"template lines over 140 characters          {wide}")
    return 0


def _room(parts: tuple[str, ...]) -> str:
    return parts[0]


def _is_frozen(node: ast.ClassDef) -> bool:
    return any("frozen=True" in ast.unparse(one) for one in node.decorator_list)


if __name__ == "__main__":
    sys.exit(main())
