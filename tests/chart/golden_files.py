"""Write the golden files anew: `python -m tests.chart.golden_files`. Then read the diff."""

from __future__ import annotations

from pathlib import Path

from tests.chart.features import FEATURES
from tests.chart.helm import render

FOLDER = Path(__file__).parent / "golden"


def golden_path(feature: str) -> Path:
    """Where the rendering of a feature is kept."""
    return FOLDER / f"{feature}.yaml"


def main() -> None:
    """Write one file per feature, and remove those of features that are no more."""
    for path in FOLDER.glob("*.yaml"):
        if path.stem not in FEATURES:
            path.unlink()
    for feature, values in FEATURES.items():
        golden_path(feature).write_text(render(values).text)


if __name__ == "__main__":
    main()
