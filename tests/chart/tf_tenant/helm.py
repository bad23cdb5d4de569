"""charts/tf-tenant through the real helm."""

from __future__ import annotations

import json

from tests.chart.helm import ROOT, RefusedError, Rendered, Values, template

TENANT = ROOT / "charts" / "tf-tenant"


def render(
    values: Values, release: str = "vision", namespace: str = "tenants", helm: str = "helm"
) -> Rendered:
    """Render, as an administrator installs it. Raises RefusedError."""
    return template(json.dumps(values), release, namespace, str(TENANT), helm)


def refusal(values: Values, release: str = "vision", namespace: str = "tenants") -> str:
    """Helm's message for values that it must refuse."""
    try:
        render(values, release, namespace)
    except RefusedError as error:
        return str(error)
    raise AssertionError(f"rendered: {values}")
