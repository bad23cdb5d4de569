"""The commands that a page of docs/ shows, and a shell that runs them."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"

_FENCED = re.compile(r"^```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def text_of(page: str) -> str:
    """The page as it is kept."""
    return (DOCS / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[str]:
    """The blocks of code, fenced or indented, without what makes them blocks."""
    text = text_of(page)
    indented = re.findall(r"(?<=\n\n)(?: {4}.*\n|\n(?= {4}))+", _FENCED.sub("", text))
    return [
        *_FENCED.findall(text),
        *(re.sub("^ {4}", "", block, flags=re.MULTILINE) for block in indented),
    ]


def codes(page: str) -> list[str]:
    """The pieces of code in its sentences and tables, each on one line."""
    rest = re.sub(r"^ {4}.*$", "", _FENCED.sub("", text_of(page)), flags=re.MULTILINE)
    return [" ".join(code.split()) for code in re.findall(r"`([^`]+)`", rest)]


def typed(
    line: str, folder: Path, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[str]:
    """The line, as a user types it in the folder; `stdout` has both streams as a terminal does."""
    return subprocess.run(
        ("bash", "-c", line),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=seconds,
    )
