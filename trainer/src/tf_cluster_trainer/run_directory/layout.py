"""Every name in a run's directory, /log/<release>/<run>. docs/formats.md has what they hold."""

from __future__ import annotations

import re
from pathlib import Path

OWNER = "owner.json"
SUCCESSOR = "successor.json"
PROGRESS = "progress.json"
SETTINGS = "settings.json"
EVALUATOR = "evaluator.json"
EVALUATIONS = "evaluations.json"
ARRIVALS = "attempts"

CHECKPOINTS = "checkpoints"
EVENTS = "events"
EXPORT = "export"
EVALUATOR_EVENTS = "eval"
BEST = "best"
HELD = "held"
REACH = "reach"

# In a checkpoint's directory.
BUNDLE = "variables"
META = "meta.json"
ONE_DATA_FILE = ".data-00000-of-00001"
"""What TensorFlow adds to a bundle's name for its data, where that is one file."""
# In a version of export/ or best/: what is none of TensorFlow's files.
EXTRA = "assets.extra"
WARM_UP = "tf_serving_warmup_requests"
"""TensorFlow Serving's own name for it: it sends these requests to a version before all others."""
TRYING = "trying"
"""In an export that is being made: its requests are being tried."""
EXPORT_RECORD = "tf-cluster.json"
MANIFEST = "tf-cluster-manifest.json"
SAVED_MODEL = "saved_model.pb"
# In names of partial files, and after the name of an unreadable checkpoint.
TEMPORARY = ".tmp-"
UNREADABLE = ".unreadable"
_CHECKPOINT = re.compile(r"ckpt-(\d+)")
_UNREADABLE = re.compile(rf"ckpt-(\d+){re.escape(UNREADABLE)}(?:-(\d+))?")
_NUMBER = re.compile(r"[0-9]+")


def checkpoints(run_dir: Path) -> Path:
    """Where a run's checkpoints are."""
    return run_dir / CHECKPOINTS


def checkpoint_name(step: int) -> str:
    """The directory's name of the checkpoint of a step."""
    return f"ckpt-{step}"


def whole_checkpoints(directory: Path) -> list[tuple[int, Path]]:
    """Step and path of each whole checkpoint, newest first; partial ones are left out."""
    if not directory.is_dir():
        return []
    found = ((_CHECKPOINT.fullmatch(path.name), path) for path in directory.iterdir())
    return sorted(((int(m[1]), path) for m, path in found if m), reverse=True)


def unreadable_checkpoints(directory: Path) -> list[tuple[int, int, Path]]:
    """Step, number and path of each checkpoint that was set aside, newest first.

    The number counts those of one step from 1, in the order in which they were.
    """
    if not directory.is_dir():
        return []
    found = ((_UNREADABLE.fullmatch(path.name), path) for path in directory.iterdir())
    return sorted(((int(m[1]), int(m[2] or 1), path) for m, path in found if m), reverse=True)


def numbered(directory: Path) -> dict[int, Path]:
    """What has a version's number for its name, whole or not. Raises OSError."""
    return {int(path.name): path for path in directory.iterdir() if _NUMBER.fullmatch(path.name)}
