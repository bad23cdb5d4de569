"""How much template there is: what is short can be read, and held to what it should be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.chart.helm import CHART

# Arena's chart of a TFJob has 1,827 such lines and does less.
MOST_LINES = 1_250
MOST_CHARACTERS = 140

TEMPLATES = CHART / "templates"


COMMENT = re.compile(r"\{\{-? */\*.*?\*/ *-?\}\}|^ *#[^\n]*$", re.DOTALL | re.MULTILINE)


def lines(templates: Path, *, texts: bool) -> Iterator[tuple[Path, int, str]]:
    """Each line of them that is not blank, with or without what only people read.

    That is comments, and the files with what is said to the user.
    """
    for path in sorted(templates.rglob("*")):
        is_text = path.name.startswith("_guards") or path.name == "_notes.tpl"
        if path.is_file() and (texts or not is_text):
            text = path.read_text() if texts else COMMENT.sub("", path.read_text())
            for number, line in enumerate(text.splitlines(), 1):
                if line.strip():
                    yield path.relative_to(templates), number, line


def test_the_templates_stay_short() -> None:
    counted = list(lines(TEMPLATES, texts=False))
    assert {path.parts[0] for path, *_ in counted} >= {"_pod.tpl", "ps", "worker", "config"}
    assert len(counted) <= MOST_LINES


def test_no_line_is_so_long_that_nobody_reads_its_end() -> None:
    long = [
        f"{path}:{number}"
        for path, number, line in lines(TEMPLATES, texts=True)
        if len(line) > MOST_CHARACTERS
    ]
    assert long == []
