"""Checks that this process can use its directories, before it waits for anything."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from pathlib import Path

from tf_cluster_trainer import exit_codes

# Only a change of the set-up cures these errors. A retry may cure all others.
_SET_UP = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
}
_FULL = {errno.ENOSPC, errno.EDQUOT}


class UnusableError(Exception):
    """A directory can't be used; the message names it and what to do.

    `exit_code` is 2 if the set-up is wrong, 1 if a retry may help.
    """

    def __init__(self, message: str, exit_code: int) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def unusable(directory: Path, what: str, verb: str, error: OSError) -> UnusableError:
    """Make the error: `verb` is what can't be done to the directory, `what` names its volume."""
    cant = f"the {what} directory {directory} can't be {verb}: {error.strerror or error}"
    if error.errno in _SET_UP:
        return UnusableError(_wrong_set_up(cant, directory, what), exit_codes.CONFIG)
    if error.errno in _FULL:
        words = f"{cant}; its volume is full, or a quota is: make room, or use a larger volume"
        return UnusableError(words, exit_codes.FAILED)
    words = f"{cant}; its volume does not work at the moment"
    return UnusableError(words, exit_codes.FAILED)


def writable(directory: Path, what: str) -> None:
    """Make the directory if it is missing; write, fsync, rename and delete a file in it."""
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
        raise unusable(directory, what, "written", error) from None


def readable(directory: Path, what: str) -> None:
    """List the directory and stat its entries. It need not be writable: data is only read."""
    try:
        with os.scandir(directory) as entries:
            next(entries, None)
        if not os.access(directory, os.R_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise unusable(directory, what, "read", error) from None


def _wrong_set_up(cant: str, directory: Path, what: str) -> str:
    place = directory
    while not os.path.lexists(place) and place != place.parent:
        place = place.parent
    try:
        found = place.stat()
        facts = f"{place} belongs to {found.st_uid}:{found.st_gid}, mode {_mode(found.st_mode)}"
    except OSError as unseen:
        facts = f"{place} can't be looked at ({unseen.strerror})"
    me = f"{os.geteuid()}:{os.getegid()}"
    return (
        f"{cant}; {facts}; this process is {me}.\n"
        f"On Kubernetes set security.podSecurityContext.fsGroup to a group that may use it (it has "
        f"no effect on hostPath and NFS volumes), or security.podSecurityContext.runAsUser to its "
        f"owner, or another volume with storage.{what}.existingClaim. On this machine give "
        f"{place} to {me} (chown), or name another directory in the params file."
    )


def _mode(mode: int) -> str:
    return f"{stat.S_IMODE(mode):04o}"
