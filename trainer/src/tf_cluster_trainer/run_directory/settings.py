"""settings.json: the run's last settings. The run's owner keeps it beside the checkpoints."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.owner import replace_json


def write(
    run_dir: Path,
    training: Mapping[str, Any],
    flags: Mapping[str, Any],
    check_owner: Callable[[], None],
) -> None:
    """Write training.json there, with all flags of the program. Raises NotOwnerError.

    If the disk refuses it, the record is lost, not the training; the log says so.
    """
    check_owner()
    try:
        replace_json(run_dir / layout.SETTINGS, {**training, "flags": dict(flags)})
    except OSError as error:
        log(f"can't write {run_dir / layout.SETTINGS}: {error}; training goes on", WARNING)
