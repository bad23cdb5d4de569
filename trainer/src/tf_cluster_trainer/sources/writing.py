"""Writes the files of a source below one directory and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from .errors import SourceError
from .limits import Limits, size


class Writer:
    """Writes the files of one source in `directory`; refuses a name that leads out of it."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._bytes = self._files = 0

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Write one file. Raises SourceError for a bad name, or if the source is too large."""
        target = self.place(name)
        self._files += 1
        if self._files > self._limits.files:
            raise SourceError(f"there are more than {self._limits.files} files in it")
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            for chunk in chunks:
                self._bytes += len(chunk)
                if self._bytes > self._limits.unpacked:
                    limit = size(self._limits.unpacked)
                    raise SourceError(f"its files have more than {limit} together")
                file.write(chunk)

    def place(self, name: str) -> Path:
        """The path of a file with this name. Raises SourceError if it is not in the directory."""
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
            raise SourceError(f"it has a file named {name!r}, which leads out of its directory")
        return self._directory.joinpath(*path.parts)
