"""Writes a page that is made of other texts, or says whether it would change."""

from __future__ import annotations

import sys
from pathlib import Path

from tools import ROOT


def write_or_check(path: Path, text: str) -> int:
    """Write the page, or with `--check` only compare it; the exit code."""
    differs = not path.exists() or path.read_text(encoding="utf-8") != text
    if "--check" in sys.argv[1:]:
        return int(differs)
    if differs:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0
