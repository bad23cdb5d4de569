"""Where Python looks for code: directories, and the texts that travel with the values.

Nothing here runs or imports code. A file is read only if it is a regular one. What belongs to a
params file lies below its folder, links followed.
"""

import os
import posixpath
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tf_cluster.files import is_inside, read_regular
from tf_cluster.params.beside import Given
from tf_cluster.params.source_files import NotRead

MOST_BYTES = 200_000
"""Bytes of code that are read for one params file: their tree takes up to 900 times as many."""


class UnreadableError(Exception):
    """There is a file, but it can't be looked at; the text says why."""


class _ByName(ABC):
    """What the roots have in common that are files by name; `folder` is the directory in them."""

    folder: str

    @abstractmethod
    def names(self) -> Iterable[str]:
        """The names of all files that are known."""

    def has_compiled(self, path: str) -> bool:
        """Whether there is a module of this name that is no .py: never."""
        return False

    def modules(self, path: str = ".") -> list[str]:
        """The names of the modules in a directory, and of those below it as paths."""
        return [name.removesuffix(".py") for name in self._below(path) if name.endswith(".py")]

    def shown(self, path: str) -> str:
        """A file's name in messages, which is its name among the files."""
        return posixpath.normpath(posixpath.join(self.folder, path))

    def _below(self, path: str) -> list[str]:
        start = f"{self.shown(path)}/".removeprefix("./")
        return [name.removeprefix(start) for name in self.names() if name.startswith(start)]


@dataclass(frozen=True)
class Texts(_ByName):
    """The files of program.source.files, by name. `folder`: the directory in them, `.` for all.

    `base` is where the files lie. `certain`: tasks run exactly this code. Paths are relative, with
    slashes. `given` are the files that a program gives instead of a folder.
    """

    texts: Mapping[str, str]
    base: Path
    folder: str
    certain: bool
    given: Given | None = None

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if there is none.

        Raises UnreadableError for one that has a finding.
        """
        text = self.texts.get(self.shown(path))
        if isinstance(text, NotRead):
            raise UnreadableError("it has a finding")
        return None if text is None else text.encode(errors="surrogatepass")

    def has_folder(self, path: str) -> bool:
        """Whether there are files in a directory of this name."""
        return bool(self._below(path))

    def forgotten(self, module: str) -> str:
        """The file of a module that lies beside the others and is not named; empty if none does."""
        path = module.replace(".", "/")
        for file in map(self.shown, (f"{path}/__init__.py", f"{path}.py")):
            if file not in self.texts and self._is_there(file):
                return file
        return ""

    def _is_there(self, file: str) -> bool:
        if self.given is not None:
            return file in self.given.names()
        try:
            return (self.base / file).is_file() and is_inside(self.base / file, self.base)
        except (OSError, ValueError):
            return False

    def located(self, path: str) -> str:
        """Where a file is."""
        return str(self.base / self.shown(path))

    def names(self) -> Iterable[str]:
        """The names of all files, as the params file has them."""
        return self.texts


@dataclass(frozen=True)
class Directory:
    """A directory of this machine: `folder` below `base`, whose name messages leave out.

    `inside`: what leads out of `base` is not read. `certain`: tasks run exactly this code; else it
    is most likely a copy of what they run.
    """

    base: Path
    folder: str
    certain: bool
    inside: bool

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if there is none. Raises UnreadableError."""
        file = self._at(path)
        try:
            if self.inside and os.path.lexists(file) and not is_inside(Path(file), self.base):
                raise UnreadableError("it is a link out of the folder of the params file")
            raw = read_regular(file, MOST_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError) as error:
            raise UnreadableError(getattr(error, "strerror", None) or str(error)) from error
        if len(raw) > MOST_BYTES:
            raise UnreadableError(f"it has over {MOST_BYTES} bytes")
        return raw

    def has_folder(self, path: str) -> bool:
        """Whether there is a directory of this name."""
        try:
            return stat.S_ISDIR(os.stat(self._at(path)).st_mode)  # noqa: PTH116 (a text)
        except (OSError, ValueError):
            return False

    def has_compiled(self, path: str) -> bool:
        """Whether there is a module of this name that is no .py."""
        folder, _, name = self._at(path).rpartition("/")
        return any(other.startswith(f"{name}.") for other in _names(folder))

    def modules(self, path: str = ".") -> list[str]:
        """The names of the modules in a directory."""
        return [name[:-3] for name in _names(self._at(path)) if name.endswith(".py")]

    def shown(self, path: str) -> str:
        """A file's name in messages."""
        return posixpath.normpath(posixpath.join(self.folder, path))

    def located(self, path: str) -> str:
        """Where a file is."""
        return str(Path(self._at(path)))

    def _at(self, path: str) -> str:
        return f"{self._whole}/{path}"  # a Path takes several times as long, and there are many

    @cached_property
    def _whole(self) -> str:
        return str(self.base / self.folder)


@dataclass(frozen=True)
class GivenFiles(_ByName):
    """Files that a program gives. `folder`: the directory in them, `.` for all."""

    given: Given
    folder: str
    certain: bool

    def read(self, path: str) -> bytes | None:
        """A file's bytes; None if there is none. Raises UnreadableError."""
        name = self.shown(path)
        raw = None if name.startswith(("../", "/")) else self.given.bytes_of(name)
        if raw is not None and len(raw) > MOST_BYTES:
            raise UnreadableError(f"it has over {MOST_BYTES} bytes")
        return raw

    def has_folder(self, path: str) -> bool:
        """Whether there are files in a directory of this name, as far as that is known."""
        return bool(self._below(path)) or self.read(posixpath.join(path, "__init__.py")) is not None

    def located(self, path: str) -> str:
        """Where a file is: its name again."""
        return self.shown(path)

    def names(self) -> Iterable[str]:
        """The names that the program gave, in order."""
        return sorted(self.given.names())


Root = Texts | Directory | GivenFiles


def _names(folder: str) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder))
    except (OSError, ValueError):
        return []
