"""Reads from the checkpoints how far a run is, without TensorFlow."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tf_cluster_trainer.supervisor import probe

CHECKPOINTS = "checkpoints"
_WHOLE = re.compile(r"ckpt-(\d+)")


def step_at_total(run_dir: Path, total: int) -> int | None:
    """The newest checkpoint's step if it is at the total or beyond, else None.

    Raises UnusableError as below.
    """
    step = saved_step(run_dir)
    return step if step is not None and step >= total else None


def saved_step(run_dir: Path) -> int | None:
    """The step of the newest whole checkpoint; None if there is none.

    Directories are renamed into place when whole. It skips one whose meta.json is unreadable: the
    child restores, and reports what is wrong. Raises UnusableError if the directory can't be
    listed.
    """
    directory = run_dir / CHECKPOINTS
    try:
        found = [
            (int(match[1]), path)
            for path in directory.iterdir()
            if (match := _WHOLE.fullmatch(path.name))
        ]
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise probe.unusable(directory, "log", "read", error) from None
    for _, path in sorted(found, reverse=True):
        try:
            return int(json.loads((path / "meta.json").read_text(encoding="utf-8"))["step"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return None
