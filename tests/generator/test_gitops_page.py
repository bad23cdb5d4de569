"""What docs/gitops.md says to write into a params file is right."""

from __future__ import annotations

import re

import pytest
from tf_cluster.check import check

from tests.generator.conftest import ROOT

PAGE = (ROOT / "docs" / "gitops.md").read_text()
GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
BLOCKS = re.findall(r"^    extraValues:\n(?:      .*\n)+", PAGE, re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_a_params_file_with_what_the_page_says_is_good(block: str) -> None:
    text = re.sub("^    ", "", block, flags=re.MULTILINE)

    assert check("p.yaml", (GOOD + text).encode()).findings == ()


def test_there_is_something_to_check() -> None:
    assert BLOCKS
