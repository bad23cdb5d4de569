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
from tests.chart.tf_serving import features as serving
from tests.chart.tf_serving.helm import render as render_serving
from tests.chart.tf_storage import features as storage
from tests.chart.tf_storage.helm import render as render_storage
from tests.chart.tf_tenant import features as tenant
from tests.chart.tf_tenant.helm import render as render_tenant

FOLDER = Path(__file__).parent / "golden"
STORAGE_FOLDER = Path(__file__).parent / "tf_storage" / "golden"
TENANT_FOLDER = Path(__file__).parent / "tf_tenant" / "golden"
SERVING_FOLDER = Path(__file__).parent / "tf_serving" / "golden"


def golden_path(feature: str) -> Path:
    """Where the rendering of a feature is kept."""
    return FOLDER / f"{feature}.yaml"


def storage_golden_path(feature: str) -> Path:
    """Where the rendering of a feature of charts/tf-storage is kept."""
    return STORAGE_FOLDER / f"{feature}.yaml"


def tenant_golden_path(feature: str) -> Path:
    """Where the rendering of a feature of charts/tf-tenant is kept."""
    return TENANT_FOLDER / f"{feature}.yaml"


def serving_golden_path(feature: str) -> Path:
    """Where the rendering of a feature of charts/tf-serving is kept."""
    return SERVING_FOLDER / f"{feature}.yaml"


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
    for folder, features in (
        (FOLDER, FEATURES.keys()),
        (STORAGE_FOLDER, storage.FEATURES.keys()),
        (TENANT_FOLDER, tenant.FEATURES.keys()),
        (SERVING_FOLDER, serving.FEATURES.keys()),
    ):
        for path in folder.glob("*.yaml"):
            if path.stem not in features:
                path.unlink()
    for feature, values in FEATURES.items():
        golden_path(feature).write_text(golden_text(render(values).text))
    for feature, (kubernetes, values) in storage.FEATURES.items():
        text = golden_text(render_storage(values, kubernetes).text)
        storage_golden_path(feature).write_text(text)
    for feature, values in tenant.FEATURES.items():
        tenant_golden_path(feature).write_text(golden_text(render_tenant(values).text))
    for feature, values in serving.FEATURES.items():
        serving_golden_path(feature).write_text(golden_text(render_serving(values).text))


if __name__ == "__main__":
    main()
