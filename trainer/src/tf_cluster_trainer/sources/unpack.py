"""Unpacks a download into a directory of code: an archive, or a single Python file."""

from __future__ import annotations

import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .errors import SourceError
from .limits import Limits
from .writing import Writer

_CHUNK = 256 * 1024
_DAMAGED = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,  # an encrypted member of a zip
)


def unpack(file: Path, name: str, directory: Path, limits: Limits) -> None:
    """Unpack `file`; `name` is its name at the source.

    Its first bytes decide the type: .tar.gz or .zip; otherwise a name that ends in .py is a single
    file. It makes only plain files and directories. Raises SourceError for a link, a device, a name
    that leads out of the directory, and an archive that is damaged or too large.
    """
    writer = Writer(directory, limits)
    with file.open("rb") as stream:
        head = stream.read(4)
    try:
        if head[:2] == b"\x1f\x8b":
            _tar(file, writer)
        elif head in (b"PK\x03\x04", b"PK\x05\x06"):
            _zip(file, writer)
        elif name.endswith(".py"):
            with file.open("rb") as stream:
                writer.write(name, _chunks(stream))
        else:
            raise SourceError("it is no .tar.gz, no .zip and no .py")
    except _DAMAGED as error:
        raise SourceError(f"the archive can't be read: {error}") from None
    except (FileExistsError, NotADirectoryError) as error:
        raise SourceError(f"it has {Path(error.filename).name} twice") from None


def _tar(file: Path, writer: Writer) -> None:
    with tarfile.open(file, "r:gz") as archive:
        for member in archive:
            if member.isdir():
                writer.place(member.name)
                continue
            stream = archive.extractfile(member) if member.isreg() else None
            if stream is None:
                raise SourceError(f"{member.name!r} in it is a link or no plain file")
            writer.write(member.name, _chunks(stream))


def _zip(file: Path, writer: Writer) -> None:
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir():
                writer.place(member.filename)
                continue
            if kind not in (0, stat.S_IFREG):
                raise SourceError(f"{member.filename!r} in it is a link or no plain file")
            with archive.open(member) as stream:
                writer.write(member.filename, _chunks(stream))


def _chunks(stream: IO[bytes]) -> Iterator[bytes]:
    while chunk := stream.read(_CHUNK):
        yield chunk
