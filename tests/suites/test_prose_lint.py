"""The lint finds a line of prose that is too long, and nothing else."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools.prose_lint import COLUMNS, long_lines, pages

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


@pytest.mark.parametrize("with_git", [True, False])
def test_pages_are_found_with_git_and_without(tmp_path: Path, with_git: bool) -> None:
    for name in ("a.md", "docs/b.md", "docs/gone.md", "build/made.md", ".venv/package/c.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    if with_git:
        (tmp_path / ".gitignore").write_text("/build/\n/.venv/\n")
        for command in (["init", "--quiet"], ["add", "docs"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (tmp_path / "docs/gone.md").unlink()

    assert sorted(pages(tmp_path)) == [tmp_path / "a.md", tmp_path / "docs/b.md"]
