"""evaluator.json: which pod is an attempt's evaluator, the one that started last.

Two evaluators can exist at once: one whose node hangs and its replacement, or those of two Jobs
during an upgrade. Imports no TensorFlow: supervisor and child both use it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.owner import OwnerUnreadableError, read_owner, replace_json


def post(run_dir: Path, attempt: str, pod_uid: str) -> None:
    """Write this pod's name; of other attempts only the owner's entry stays. Raises OSError."""
    claims = {attempt: pod_uid}
    try:
        owner = read_owner(run_dir)
    except OwnerUnreadableError:
        owner = None
    if owner is not None and owner.attempt != attempt:
        at_work = holder(run_dir, owner.attempt)
        claims |= {owner.attempt: at_work} if at_work else {}
    replace_json(run_dir / layout.EVALUATOR, {"pods": claims})


def holder(run_dir: Path, attempt: str) -> str | None:
    """The UID of the pod that is this attempt's evaluator; None when the file names none."""
    try:
        document: Any = json.loads((run_dir / layout.EVALUATOR).read_text(encoding="utf-8"))
        pod = document["pods"].get(attempt)
    except (FileNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return pod if isinstance(pod, str) else None
