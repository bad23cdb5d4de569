"""The lint finds a line of prose that is too long, and nothing else."""

from __future__ import annotations

import pytest

from tools.prose_lint import COLUMNS, long_lines

LONG = "word " * (COLUMNS // 5 + 1)


@pytest.mark.parametrize(
    "text", [LONG, f"- item\n  {LONG}", f"1. item\n\n    - {LONG}", f"```\ncode\n```\n{LONG}"]
)
def test_a_long_line_of_prose_is_found(text: str) -> None:
    assert list(long_lines(text)) == [len(text.splitlines())]


@pytest.mark.parametrize(
    "text", [f"```\n{LONG}\n```", f"    {LONG}", f"| {LONG} |", "x" * (2 * COLUMNS), "a b\n" * 9]
)
def test_code_tables_and_long_words_are_left_aside(text: str) -> None:
    assert not list(long_lines(text))
