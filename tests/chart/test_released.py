"""An upgrade from the last released package: what it restarts, and where that is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import ROOT, Values, merged, notes, render
from tests.chart.released import last_release

PINNED = {
    "a tag": {"image": {"tag": "1"}},
    "a digest": {"image": {"digest": "sha256:" + "ab" * 32}},
}
RESTARTS = "image.tag is empty"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return last_release(tmp_path_factory.mktemp("release"))


def told_to_restart(release: Path) -> bool:
    """Whether the CHANGELOG says of a version after this one that it restarts training."""
    text = (ROOT / "CHANGELOG.md").read_text()
    newer = text.partition("\n## ")[2].partition(f"\n## {release.stem.rpartition('-')[2]}")
    return bool(newer[1]) and "restarts training (resumes)" in newer[0]


@pytest.mark.parametrize("pinned", PINNED)
@pytest.mark.parametrize("feature", ["least", "between-graph", "all-reduce", "script", "evaluator"])
def test_with_a_pinned_image_it_restarts_nothing_or_the_changelog_says_so(
    release: Path, feature: str, pinned: str
) -> None:
    values: Values = merged(FEATURES[feature], PINNED[pinned])
    before, after = render(values, chart=release), render(values)
    assert before.text != after.text  # the labels of its version, at the least
    same = {o["metadata"]["name"]: o.get("spec", o.get("data")) for o in before.objects} == {
        o["metadata"]["name"]: o.get("spec", o.get("data")) for o in after.objects
    }
    assert same != told_to_restart(release)


def test_without_one_it_restarts_and_readme_values_and_notes_say_so(release: Path) -> None:
    assert render(chart=release).attempt != render().attempt
    readme = (ROOT / "charts/tf-cluster/README.md").read_text()
    values = (ROOT / "charts/tf-cluster/values.yaml").read_text()
    assert "With an empty tag the image is the chart's appVersion: another image" in readme
    assert "a chart with a new one then restarts training (resumes)" in values
    assert RESTARTS in notes()
    assert "restarts the training, which resumes" in " ".join(notes().split())
    for one in PINNED.values():
        assert RESTARTS not in notes(one)
