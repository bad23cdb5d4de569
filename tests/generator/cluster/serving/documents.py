"""What the trainer's commands print, and what the API server says of servers."""

from __future__ import annotations

import json
from typing import Any

Object = dict[str, Any]


def export(number: int, **more: Any) -> Object:
    """A version as `tf-trainer check-exports` says it."""
    return {
        "number": number,
        "bytes": 2**20,
        "tensorflow": "2.21.0",
        "step": 100 * number,
        "metrics": None,
        "signatures": {
            "serving_default": {
                "inputs": {"image": {"dtype": "float32", "shape": [None, 4]}},
                "outputs": {"scores": {"dtype": "float32", "shape": [None, 10]}},
            }
        },
        "difference": 0.0,
        "problem": None,
        **more,
    }


def checked(*exports: Object) -> Object:
    """The whole document."""
    return {"version": 1, "exports": [*exports]}


def model(kind: str = "claim", policy: Object | None = None, **labels: int) -> Object:
    """A model as the annotation of a server's Deployment has it."""
    source = {"kind": kind, "claim": "models", "path": "digits"}
    if kind not in ("claim", "run"):
        source = {"kind": kind, "claim": "", "path": ""}
    return {"source": source, "policy": policy or {"latest": 1}, "labels": labels}


def deployment(release: str = "digits-serving", name: str = "", **models: Object) -> Object:
    """The Deployment of a server."""
    marks = {
        "app.kubernetes.io/name": "tf-serving",
        "app.kubernetes.io/instance": release,
        "app.kubernetes.io/component": "serving",
        "app.kubernetes.io/part-of": "tf-cluster",
    }
    notes = {
        "tf-cluster.io/models": json.dumps(models or {"digits": model()}),
        "meta.helm.sh/release-name": release,
    }
    spec = {
        "securityContext": {"runAsUser": 7},
        "nodeSelector": {"pool": "models"},
        "containers": [
            {
                "name": "serving",
                "image": "tensorflow/serving:2.21.0",
                "securityContext": {"readOnlyRootFilesystem": True},
            }
        ],
    }
    return {
        "metadata": {"name": name or release, "labels": marks, "annotations": notes},
        "spec": {"selector": {"matchLabels": marks}, "template": {"spec": spec}},
    }


def pod(name: str, address: str = "10.0.0.1", *, ready: bool = True, **metadata: Any) -> Object:
    """A pod of a server."""
    status = "True" if ready else "False"
    return {
        "metadata": {"name": name, **metadata},
        "spec": {"containers": []},
        "status": {"podIP": address, "conditions": [{"type": "Ready", "status": status}]},
    }
