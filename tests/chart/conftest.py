"""What the cases marked `cluster` need: a namespace of the real cluster."""

from __future__ import annotations

from tests.cluster.conftest import helm_path, kubectl_path, namespace

__all__ = ["helm_path", "kubectl_path", "namespace"]
