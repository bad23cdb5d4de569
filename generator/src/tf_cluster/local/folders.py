"""The folders of a local run."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_cluster.exits import RefusedError


@dataclass(frozen=True)
class Folders:
    """The folders of a local run, as absolute paths."""

    runs: Path
    name: str
    run_id: str
    data: Path

    @property
    def root(self) -> Path:
        """Everything of this name."""
        return self.runs / self.name

    @property
    def config(self) -> Path:
        """cluster.json and training.json."""
        return self.root / "config"

    @property
    def logs(self) -> Path:
        """One log file per task."""
        return self.root / "logs"

    @property
    def lock(self) -> Path:
        """Held while a run of this name goes on."""
        return self.root / "lock"

    @property
    def run(self) -> Path:
        """The run directory (docs/formats.md): checkpoints, events, exports, progress.json."""
        return self.root / self.run_id


def make_folders(values: Mapping[str, Any], runs: Path, data: Path | None) -> Folders:
    """The folders of the run that `values` name; missing ones are created.

    Raises RefusedError if one can't be created, or if `data` does not exist.
    """
    name = values["fullnameOverride"]
    root = runs.absolute() / name
    if data is not None and not data.is_dir():
        if data.exists():
            why = "it is a file: name the directory that it is in"
        else:
            why = "there is no such directory"
        raise RefusedError(f"--data {data}: {why}")
    folders = Folders(
        runs=runs.absolute(),
        name=name,
        run_id=values["run"]["id"],
        data=root / "data" if data is None else data.absolute(),
    )
    for folder in (folders.config, folders.logs, folders.data):
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RefusedError(f"{folder}: can't be made: {error.strerror}") from error
    return folders
