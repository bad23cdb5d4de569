"""Write the golden files anew: `python -m tests.chart.golden_files`. Then read the diff.

A golden file has every object as Helm printed it, comments and all, sorted by kind and name. It
does not say which template an object came from, nor in what order Helm read the templates.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.chart.features import FEATURES
from tests.chart.helm import LOADER, render
from tests.chart.tf_storage import features as storage
from tests.chart.tf_storage.helm import render as render_storage

FOLDER = Path(__file__).parent / "golden"
STORAGE_FOLDER = Path(__file__).parent / "tf_storage" / "golden"


def golden_path(feature: str) -> Path:
    """Where the rendering of a feature is kept."""
    return FOLDER / f"{feature}.yaml"


def storage_golden_path(feature: str) -> Path:
    """Where the rendering of a feature of charts/tf-storage is kept."""
    return STORAGE_FOLDER / f"{feature}.yaml"


def golden_text(rendered: str) -> str:
    """What `helm template` printed, as a golden file has it."""
    without_sources = re.sub(r"^# Source: .*\n", "", rendered, flags=re.MULTILINE)
    documents = re.split(r"^---\n", without_sources, flags=re.MULTILINE)[1:]
    return "".join(f"---\n{document}" for document in sorted(documents, key=_kind_and_name))


def _kind_and_name(document: str) -> tuple[str, str]:
    read = yaml.load(document, LOADER)
    return read["kind"], read["metadata"]["name"]


def main() -> None:
    """Write one file per feature, and remove those of features that are no more."""
    for path in FOLDER.glob("*.yaml"):
        if path.stem not in FEATURES:
            path.unlink()
    for feature, values in FEATURES.items():
        golden_path(feature).write_text(golden_text(render(values).text))
    for path in STORAGE_FOLDER.glob("*.yaml"):
        if path.stem not in storage.FEATURES:
            path.unlink()
    for feature, (kubernetes, values) in storage.FEATURES.items():
        text = golden_text(render_storage(values, kubernetes).text)
        storage_golden_path(feature).write_text(text)


if __name__ == "__main__":
    main()
