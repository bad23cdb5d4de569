"""Can this process use the directories it was given? Asked before anything is waited for."""

from __future__ import annotations

import os
import stat
import uuid
from pathlib import Path


class UnusableError(Exception):
    """A directory can't be used; the message names it and what to set. Exit code 2."""


def writable(directory: Path, what: str) -> None:
    """Make the directory if need be; write, fsync, rename and delete a file in it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        first = directory / f".probe.{uuid.uuid4().hex}.tmp"
        second = first.with_suffix(".renamed.tmp")
        try:
            with first.open("wb") as stream:
                stream.write(b"probe\n")
                stream.flush()
                os.fsync(stream.fileno())
            first.rename(second)
        finally:
            first.unlink(missing_ok=True)
            second.unlink(missing_ok=True)
    except OSError as error:
        raise UnusableError(_message(directory, what, "written", error)) from None


def readable(directory: Path, what: str) -> None:
    """List the directory and touch what it lists. It need not be writable: data is only read."""
    try:
        with os.scandir(directory) as entries:
            next(entries, None)
        if not os.access(directory, os.R_OK | os.X_OK):
            raise PermissionError(13, os.strerror(13))
    except OSError as error:
        raise UnusableError(_message(directory, what, "read", error)) from None


def _message(directory: Path, what: str, verb: str, error: OSError) -> str:
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    try:
        found = place.stat()
        facts = f"{place} belongs to {found.st_uid}:{found.st_gid}, mode {_mode(found.st_mode)}"
    except OSError as unseen:
        facts = f"{place} can't be looked at ({unseen.strerror})"
    me = f"{os.geteuid()}:{os.getegid()}"
    return (
        f"the {what} directory {directory} can't be {verb}: {error.strerror}; {facts}; "
        f"this process is {me}.\n"
        f"On Kubernetes set security.podSecurityContext.fsGroup to a group that may use it (it has "
        f"no effect on hostPath and NFS volumes), or security.podSecurityContext.runAsUser to its "
        f"owner, or another volume with storage.{what}.existingClaim. On this machine give "
        f"{place} to {me} (chown), or name another directory in the params file."
    )


def _mode(mode: int) -> str:
    return f"{stat.S_IMODE(mode):04o}"
