"""charts/tf-storage through the real helm."""

from __future__ import annotations

import json

from tests.chart.helm import ROOT, RefusedError, Rendered, Values, template
from tests.chart.tf_storage.features import NEW

STORAGE = ROOT / "charts" / "tf-storage"


def render(values: Values, kubernetes: str = NEW, helm: str = "helm") -> Rendered:
    """Render for a version of Kubernetes. Raises RefusedError."""
    return template(json.dumps(values), "storage", "training", str(STORAGE), helm, kubernetes)


def refusal(values: Values, kubernetes: str = NEW) -> str:
    """Helm's message for values that it must refuse."""
    try:
        render(values, kubernetes)
    except RefusedError as error:
        return str(error)
    raise AssertionError(f"rendered: {values}")
