"""The status document as the pod's termination message.

So `kubectl describe pod`, and whoever may read pods, know how a training ended as long as its pod's
object is there: without its log, its volume or its status port.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tf_cluster_trainer.supervisor.status.document import Document

MOST_BYTES = 2048
"""Kubernetes keeps 4,096, and 12 KiB of all containers of a pod, each of which has its share."""
MESSAGE_BYTES = 1000
"""Of a message in a document that is too long."""
PATH_VARIABLE = "TF_CLUSTER_TERMINATION_LOG"
DEFAULT_PATH = "/dev/termination-log"
_LONG_FIELDS: Mapping[str, Any] = {"workers": {}, "metrics": {}, "export": None}


def leave(document: Document, environment: Mapping[str, str], log: Callable[[str], None]) -> None:
    """Write it, if the file is there: the kubelet makes it, and nobody else."""
    path = Path(environment.get(PATH_VARIABLE, DEFAULT_PATH))
    try:
        if path.is_file():
            path.write_bytes(message(document))
    except OSError as error:
        log(f"can't write the termination message: {error}")


def message(document: Document) -> bytes:
    """The document without placement, in MOST_BYTES.

    Where it is longer its message is cut, and then, one by one as far as needed, workers, metrics
    and the export's directory are left out.
    """
    shown = {**document.as_json(), "placement": {}}
    if len(_bytes(shown)) > MOST_BYTES:
        shown["message"] = _cut(document.message)
    for field, nothing in _LONG_FIELDS.items():
        if len(_bytes(shown)) > MOST_BYTES:
            shown[field] = nothing
    return _bytes(shown)


def _cut(words: str) -> str:
    if len(_bytes(words)) <= MESSAGE_BYTES:
        return words
    words = words[:MESSAGE_BYTES]
    while len(_bytes(words)) > MESSAGE_BYTES:
        words = words[: 9 * len(words) // 10]
    return f"{words}…"


def _bytes(value: Any) -> bytes:
    return json.dumps(value, allow_nan=False, ensure_ascii=False).encode(errors="replace")
