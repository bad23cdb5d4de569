"""No line of prose in a Markdown file is over 120 columns.

    python -m tools.prose_lint        print each such line; exit 1 if there is one

Tables, code, diagrams and lines that are one long word or link are left aside. In Python, ruff
holds comments and docstrings to 100 columns.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools import ROOT

COLUMNS = 120
# The changelog is not rewritten; the page of benchmarks is written by tests/bench.
LEFT_ASIDE = {"CHANGELOG.md", "docs/benchmarks.md"}
_MADE = {"build", "runs", "dist"}
_FENCE = re.compile(r"\s*(```|~~~)")
_LIST_ITEM = re.compile(r"\s*([-*+]|\d+[.)]) ")


def long_lines(text: str) -> Iterator[int]:
    """The numbers of the lines of prose that are too long."""
    fenced = in_paragraph = False
    for number, line in enumerate(text.splitlines(), 1):
        if _FENCE.match(line):
            fenced, in_paragraph = not fenced, False
            continue
        code = fenced or (
            line.startswith("    ") and not in_paragraph and not _LIST_ITEM.match(line)
        )
        in_paragraph = bool(line.strip()) and not code
        table = line.lstrip().startswith(("|", "<!--"))
        if not code and not table and len(line) > COLUMNS and " " in line.strip()[:COLUMNS]:
            yield number


def pages(folder: Path = ROOT) -> list[Path]:
    """The Markdown files that git does not ignore; without git, those outside `_MADE` folders."""
    command = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", "*.md")
    try:
        listed = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (FileNotFoundError, subprocess.CalledProcessError):
        return sorted(_walked(folder))
    found = (folder / name for name in listed.stdout.split("\0") if name)
    return [page for page in found if page.is_file()]  # git lists one that was just removed, too


def _walked(folder: Path) -> Iterator[Path]:
    for inside in folder.iterdir():
        if inside.is_dir() and not inside.name.startswith(".") and inside.name not in _MADE:
            yield from _walked(inside)
        elif inside.suffix == ".md":
            yield inside


def main() -> int:
    """Print every place; the exit code."""
    names = ((str(page.relative_to(ROOT)), page) for page in pages())
    found = [
        f"{name}:{number}"
        for name, page in names
        if name not in LEFT_ASIDE
        for number in long_lines(page.read_text(encoding="utf-8"))
    ]
    for place in found:
        print(f"{place}: a line of prose ends at {COLUMNS} columns", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
