"""The manifest of a published version: each of its files, with size and SHA-256."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory import layout

VERSION = 1
OWN = f"{layout.EXTRA}/{layout.MANIFEST}"
CHUNK = 1 << 20


@dataclass(frozen=True)
class File:
    """Size in bytes, and the hash as hex digits."""

    bytes: int
    sha256: str


class ManifestError(Exception):
    """The version is not what its manifest says; the message says where."""


def files(version: Path) -> Iterator[str]:
    """The names of all files of a version but the manifest, with / in them, in order.

    Raises ManifestError for what is neither a file nor a directory, and OSError.
    """
    found = []
    for folder, folders, names in os.walk(version, onerror=_raise):
        for name in (*folders, *names):
            path = Path(folder, name)
            if path.is_symlink() or not (path.is_dir() or path.is_file()):
                raise ManifestError(f"{path.relative_to(version)} is a link, or no file")
        found += [Path(folder, name).relative_to(version).as_posix() for name in names]
    yield from sorted(name for name in found if name != OWN)


def file_at(path: Path) -> File:
    """What a file holds now. Raises OSError."""
    sha256, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            sha256.update(chunk)
            size += len(chunk)
    return File(size, sha256.hexdigest())


def content(source: Path, number: int, held: Mapping[str, File]) -> bytes:
    """The manifest of these files, which come from a version of another directory."""
    document = {
        "version": VERSION,
        "from": {"directory": str(source), "number": number},
        "files": {name: {"bytes": one.bytes, "sha256": one.sha256} for name, one in held.items()},
    }
    return json.dumps(document, indent=1, ensure_ascii=False).encode() + b"\n"


def check(version: Path) -> None:
    """Hold a version against its manifest, if it has one. Raises ManifestError and OSError."""
    try:
        told: Any = json.loads((version / OWN).read_bytes())
        held = {name: File(one["bytes"], one["sha256"]) for name, one in told["files"].items()}
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ManifestError(f"{layout.MANIFEST} can't be read: {error!r}") from None
    there = set(files(version))
    for name in sorted(there ^ held.keys()):
        why = "is not there" if name in held else "is not in the manifest"
        raise ManifestError(f"{name} {why}")
    for name, one in held.items():
        got = file_at(version / name)
        if got.bytes != one.bytes:
            raise ManifestError(f"{name} has {got.bytes} bytes, not {one.bytes}")
        if got.sha256 != one.sha256:
            raise ManifestError(f"{name} has another SHA-256 than in the manifest")


def _raise(error: OSError) -> None:
    raise error
