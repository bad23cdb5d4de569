"""docs/codes.md: a section for each code of findings, made of the texts beside its check.

    python -m tools.code_pages           write the page
    python -m tools.code_pages --check   write nothing; exit 1 when it would change

tests/generator/test_codes.py runs the files on it.
"""

from __future__ import annotations

import re
import sys
from textwrap import fill

from tf_cluster.checks import CODES
from tf_cluster.findings.finding import Code
from tf_cluster.printable import printable

from tools import ROOT
from tools.made_page import write_or_check

PAGE = ROOT / "docs" / "codes.md"

BASE = """\
name: digits
image: localhost/tf-cluster-trainer:0.1.0
program: {module: 'nets.digits:Digits'}
"""
"""What an example is completed with, key by key."""

_HEAD = """\
# Codes

<!-- Made by `python -m tools.code_pages` of the texts beside each check. -->
"""
_FINDINGS = """
Each finding has a code, and a code never changes its meaning. `tf-cluster explain TFC305` prints
its section of this page. [rules.md](rules.md) says how a finding is made.
"""
_FILES = """
A file here is whole, or what it needs is added to it:
"""
_SIGNS = """
`«x × 600000»` stands for so many x, `«? × 600000»` for so many letters in no order, and `\\x1b`
under TFC101 for that control character. A line `### train.py` begins the file of that name, beside
the params file.
"""


def files(example: str) -> tuple[str, dict[str, str]]:
    """An example taken apart: the params, and other files by their names."""
    params, *rest = re.split(r"(?m)^### (\S+)\n", example + "\n")
    return params, dict(zip(rest[::2], rest[1::2], strict=True))


def page() -> str:
    """The page as it should be."""
    rows = "".join(f"| [{code}](#{code.lower()}) | {code.about} |\n" for code in CODES)
    sections = "".join(map(_section, CODES))
    told = f"{_filled(_FINDINGS)}\n{_filled(_FILES)}\n```yaml\n{BASE}```\n\n{_filled(_SIGNS)}"
    return f"{_HEAD}\n{told}\n| code | means |\n|---|---|\n{rows}{sections}"


def _filled(words: str) -> str:
    return fill(" ".join(words.split()), 120, break_on_hyphens=False) + "\n"


def _section(code: Code) -> str:
    words = _filled(f"**{_sentence(code.about)}** {code.why}")
    return f"\n## {code}\n\n{words}\n{_shown('Wrong', code.wrong)}\n{_shown('Right', code.right)}"


def _shown(title: str, example: str) -> str:
    text = "".join(printable(line) + "\n" for line in example.split("\n"))
    return f"{title}:\n\n```yaml\n{text}```\n"


def _sentence(about: str) -> str:
    return f"{about[0].upper()}{about[1:]}."


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
