"""Programs as people write them: none has a finding, and what is sure about them is checked.

A file of `styles/` is a params file, then files of code, each after a line `### name`. A line
`# wrong CODE: this -> that` is a mistake in the params that has to be found.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tf_cluster.check import check

STYLES = sorted((Path(__file__).parent / "styles").glob("*.style"))


@dataclass(frozen=True)
class Style:
    """One program: its params, its files, and mistakes as (code, this, that)."""

    params: str
    files: dict[str, str]
    mistakes: tuple[tuple[str, str, str], ...]

    @classmethod
    def read(cls, path: Path) -> Style:
        """Take a file apart."""
        params, *rest = re.split(r"(?m)^### (\S+)\n", path.read_text())
        files = dict(zip(rest[::2], rest[1::2], strict=True))
        mistakes = re.findall(r"(?m)^# wrong (TFC\d+): (.*) -> (.*)$", params)
        head = "name: a\n" + ("" if "image:" in params else "image: r/tf-cluster-trainer:0.1.0\n")
        text = re.sub(r"(?m)^#.*\n", "", params)
        return cls(head + text, files, tuple(mistakes))

    def found(self, folder: Path, params: str) -> list[str]:
        """The findings on these params with the code beside them."""
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        checked = check("p.yaml", params.encode(), folder=folder)
        return [f"{finding.code}: {finding.words}" for finding in checked.findings]


def _mistakes() -> Iterator[tuple[Path, tuple[str, str, str]]]:
    for path in STYLES:
        for mistake in Style.read(path).mistakes:
            yield path, mistake


def test_there_are_many_styles() -> None:
    assert len(STYLES) >= 30


@pytest.mark.parametrize("path", STYLES, ids=lambda path: path.stem)
def test_a_program_in_this_style_has_no_findings(path: Path, tmp_path: Path) -> None:
    style = Style.read(path)

    assert style.found(tmp_path, style.params) == []


@pytest.mark.parametrize(
    ("path", "mistake"), [*_mistakes()], ids=lambda one: getattr(one, "stem", None)
)
def test_a_mistake_beside_it_is_found(
    path: Path, mistake: tuple[str, str, str], tmp_path: Path
) -> None:
    code, this, that = mistake
    style = Style.read(path)
    assert this in style.params

    found = style.found(tmp_path, style.params.replace(this, that, 1))

    assert [one.partition(":")[0] for one in found] == [code], found
