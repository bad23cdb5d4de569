"""The rendering of each feature is what was last read and committed."""

from __future__ import annotations

import difflib

import pytest

from tests.chart.features import FEATURES
from tests.chart.golden_files import FOLDER, golden_path, golden_text
from tests.chart.helm import render


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_renders_as_its_golden_file_says(feature: str) -> None:
    want = golden_path(feature).read_text().splitlines()
    have = golden_text(render(FEATURES[feature]).text).splitlines()
    diff = "\n".join(difflib.unified_diff(want, have, "golden", "rendered", lineterm=""))
    assert not diff, f"{diff}\nIf this is meant: python -m tests.chart.golden_files"


def test_every_golden_file_belongs_to_a_feature() -> None:
    assert {path.stem for path in FOLDER.glob("*.yaml")} == set(FEATURES)
