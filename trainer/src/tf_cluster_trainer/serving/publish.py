"""`tf-trainer publish-export`: copies a checked version under the next number of a directory."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory.flushing import flush
from tf_cluster_trainer.serving import manifest
from tf_cluster_trainer.serving.check import WrongPlaceError, checked, versions
from tf_cluster_trainer.serving.manifest import File, ManifestError

VERSION = 1
BEGUN = ".publishing-"
"""How the names of copies begin that are not whole; a server overlooks them."""
LEFT_SECONDS = 3600.0
"""A copy that was not written to for so long is one whose publisher was killed."""
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


def publish(source: Path, target: Path, number: int | None, tolerance: float) -> dict[str, Any]:
    """Copy the version, or the newest one, and return the document that says where it is.

    Nothing is ever overwritten, and the copy has its number when it is whole. Several may publish
    to one directory at once. Raises WrongPlaceError; then the target is as it was.
    """
    given, path = versions(source, number)[0]
    seen = checked(path, tolerance)
    if seen.problem:
        why = seen.problem if path.exists() else "it was removed meanwhile, so try again"
        raise WrongPlaceError(f"version {given} of {source} is not published: {why}")
    if target.resolve() == source.resolve():
        raise WrongPlaceError(f"{target} is where the version is: name another directory")
    if path.resolve() in (target.resolve(), *target.resolve().parents):
        raise WrongPlaceError(f"{target} is in the version itself: name another directory")
    temporary, made = target / f"{BEGUN}{uuid.uuid4().hex[:8]}", not target.exists()
    try:
        target.mkdir(parents=True, exist_ok=True)
        temporary.mkdir()
        _remove_left(temporary)
        held = _copied(path, temporary)
        _finish(temporary, path, given, held)
        free = _renamed(temporary, target)
    except (OSError, ManifestError) as error:
        words = _words(error, target, seen.bytes)
        _take_back(temporary, made)
        raise WrongPlaceError(f"version {given} of {source} is not published: {words}") from error
    except BaseException:
        _take_back(temporary, made)
        raise
    size = sum(one.bytes for one in held.values())
    return {"version": VERSION, "number": free, "bytes": size, "from": given}


def _copied(source: Path, temporary: Path) -> dict[str, File]:
    """Copy all files; what they hold, by name. Raises OSError and ManifestError."""
    held = {}
    for name in manifest.files(source):
        to = temporary / name
        to.parent.mkdir(parents=True, exist_ok=True)
        held[name] = _copy(source / name, to)
    return held


def _copy(source: Path, target: Path) -> File:
    """Copy a file, onto the disk; what was read of it."""
    sha256, size = hashlib.sha256(), 0
    with source.open("rb") as read, target.open("xb") as written:
        while chunk := read.read(manifest.CHUNK):
            sha256.update(chunk)
            size += written.write(chunk)
        written.flush()
        os.fsync(written.fileno())
    return File(size, sha256.hexdigest())


def _finish(temporary: Path, source: Path, number: int, held: dict[str, File]) -> None:
    """Write the manifest, and read the copy again. Raises OSError and ManifestError."""
    own = temporary / manifest.OWN
    own.parent.mkdir(exist_ok=True)
    own.write_bytes(manifest.content(source.parent, number, held))
    flush(own)
    for folder in (*(one for one in temporary.rglob("*") if one.is_dir()), temporary):
        flush(folder)
    try:
        manifest.check(temporary)
    except ManifestError as error:
        raise ManifestError(f"what was copied is not what was read: {error}") from None


def _renamed(temporary: Path, target: Path) -> int:
    """Give it the next number that is free, and return that. Raises OSError."""
    while True:
        free = 1 + max(layout.numbered(target), default=0)
        try:
            # Another publisher's version is never empty, so a rename can't replace it.
            temporary.rename(target / str(free))
        except OSError as error:
            if error.errno not in _TAKEN:
                raise
        else:
            flush(target)
            return free


def _take_back(temporary: Path, made: bool) -> None:
    """Remove what was begun, and the target, if it was made for that and is empty."""
    shutil.rmtree(temporary, ignore_errors=True)
    if made:
        with suppress(OSError):
            temporary.parent.rmdir()


def _remove_left(own: Path) -> None:
    """Remove the copies of publishers that were killed. Our own tells the volume's time."""
    now = own.stat().st_mtime
    for left in own.parent.glob(f"{BEGUN}*"):
        try:
            newest = max(one.lstat().st_mtime for one in (left, *left.rglob("*")))
        except OSError:
            continue  # its publisher is at work
        if now - newest > LEFT_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _words(error: Exception, target: Path, needed: int) -> str:
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} is gone: it was removed meanwhile, so try again"
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{target} is full: the version has {needed} bytes"
    return str(error)
