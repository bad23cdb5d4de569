"""settings.json: what the run was last told, kept beside its checkpoints by the run's owner."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tf_cluster_trainer.log import log
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.owner import replace_json


def write(
    run_dir: Path,
    training: Mapping[str, Any],
    flags: Mapping[str, Any],
    check_owner: Callable[[], None],
) -> None:
    """Put training.json there, with all flags that the program has. Raises NotOwnerError.

    A disk that does not take it costs the record, not the training: that is said.
    """
    check_owner()
    try:
        replace_json(run_dir / layout.SETTINGS, {**training, "flags": dict(flags)})
    except OSError as error:
        log(f"can't write {run_dir / layout.SETTINGS}: {error}; training goes on")
