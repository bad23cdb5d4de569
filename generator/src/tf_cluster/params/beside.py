"""What stands beside a params file that is not on a disk: texts by name, given by a program."""

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Text = str | bytes
Read = Mapping[str, Text] | Callable[[str], Text | None]
"""The texts of files by their names, or a function that gives them; None for one not there."""


@dataclass(frozen=True)
class Given:
    """Files that a program gives instead of a folder. Their names are relative, with slashes."""

    source: Read

    def bytes_of(self, name: str) -> bytes | None:
        """A file's bytes; None if it is not there."""
        name = posixpath.normpath(name)
        if isinstance(self.source, Mapping):
            text = self.source.get(name)
        else:
            try:
                text = self.source(name)
            except (KeyError, FileNotFoundError):
                return None
        return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text

    def names(self) -> list[str]:
        """The names of all files, as far as that is known."""
        return [*self.source] if isinstance(self.source, Mapping) else []
