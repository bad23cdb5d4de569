"""What a real API server says to what charts/tf-storage renders. Nothing is kept."""

from __future__ import annotations

import re

import pytest

from tests.chart.tf_storage.features import FEATURES, OLD
from tests.chart.tf_storage.helm import render
from tests.cluster.kubernetes import Namespace

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize("feature", [name for name in FEATURES if name != "nothing"])
def test_it_takes_every_object(feature: str, namespace: Namespace) -> None:
    kubernetes, values = FEATURES[feature]
    text = render(values, kubernetes).text
    manifest = re.sub(r'^  namespace: ".*"$', f'  namespace: "{namespace.name}"', text, flags=re.M)
    # What is for an old Kubernetes is deprecated in a new one, which says so.
    strict = () if kubernetes == OLD else ("--warnings-as-errors",)
    for way in ((), ("--server-side",)):
        namespace.kubectl(
            "create" if not way else "apply",
            "--dry-run=server",
            *strict,
            *way,
            "--filename=-",
            stdin=manifest,
        )
