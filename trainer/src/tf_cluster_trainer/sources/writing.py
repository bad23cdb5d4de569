"""Files of a source, written below one directory and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from .errors import SourceError
from .limits import Limits, size


class Writer:
    """Makes the files of one source in `directory`; refuses a name that leads out of it."""

    def __init__(self, directory: Path, limits: Limits) -> None:
        self._directory = directory
        self._limits = limits
        self._bytes = self._files = 0

    def write(self, name: str, chunks: Iterable[bytes]) -> None:
        """Make one file. Raises SourceError for its name, or when it is too much."""
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
        """Where a file of this name belongs."""
        path = PurePosixPath(name)
        if not name or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name:
            raise SourceError(f"it has a file named {name!r}, which leads out of its directory")
        return self._directory.joinpath(*path.parts)
