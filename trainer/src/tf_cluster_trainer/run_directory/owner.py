"""Who owns the run: owner.json and successor.json, read and written whole (docs/formats.md).

Imports no TensorFlow: supervisor and child both ask before they write.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from tf_cluster_trainer.run_directory import layout

_NO_HARD_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS}


class OwnerUnreadableError(Exception):
    """The file exists but is not one of ours; the message names it."""


@dataclass(frozen=True)
class Owner:
    """owner.json: the one writer of the run. `status` is the address of its status port."""

    job_uid: str
    pod_uid: str
    attempt: str
    counter: int = 0
    released: bool = False
    superseded: tuple[str, ...] = ()
    status: str = ""


@dataclass(frozen=True)
class Successor:
    """successor.json: the chief that waits for the run, and the Jobs that it was posted over."""

    job_uid: str
    pod_uid: str
    attempt: str
    superseded: tuple[str, ...] = ()


def arrivals(run_dir: Path) -> dict[int, str]:
    """The UIDs of the Jobs whose chiefs have come to the run, by number, in order.

    The UID is empty for a file that is unreadable or not ours. Raises OSError if the directory
    can't be listed.
    """
    try:
        found = [path for path in (run_dir / layout.ARRIVALS).iterdir() if path.name.isdecimal()]
    except FileNotFoundError:
        return {}
    return {
        int(path.name): _job_in(path) for path in sorted(found, key=lambda path: int(path.name))
    }


def arrived(run_dir: Path) -> tuple[str, ...]:
    """The same Jobs in their order."""
    return tuple(arrivals(run_dir).values())


def put_arrival(run_dir: Path, number: int, job_uid: str) -> bool:
    """Note this Job under this number; False if the number is taken. Raises OSError."""
    directory = run_dir / layout.ARRIVALS
    directory.mkdir(exist_ok=True)
    return _put_if_absent(directory / str(number), {"jobUid": job_uid})


def owns(run_dir: Path, job_uid: str, pod_uid: str) -> bool:
    """Whether this pod of this Job owns the run at this moment.

    A missing or unreadable file gives nobody permission to write. Raises OSError if the directory
    can't be read at all.
    """
    try:
        owner = read_owner(run_dir)
    except OwnerUnreadableError:
        return False
    return owner is not None and (owner.job_uid, owner.pod_uid) == (job_uid, pod_uid)


def read_owner(run_dir: Path) -> Owner | None:
    """Read owner.json; None if there is none. Raises OwnerUnreadableError if it is not ours."""
    document = _read(run_dir / layout.OWNER)
    if document is None:
        return None
    try:
        return Owner(
            job_uid=str(document["jobUid"]),
            pod_uid=str(document["podUid"]),
            attempt=str(document["attempt"]),
            counter=int(document["counter"]),
            released=bool(document["released"]),
            superseded=tuple(document["superseded"]),
            status=str(document.get("status", "")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise OwnerUnreadableError(f"{run_dir / layout.OWNER}: {error!r}") from None


def read_successor(run_dir: Path) -> Successor | None:
    """Read successor.json; None if there is none. Raises OwnerUnreadableError if it is not ours."""
    document = _read(run_dir / layout.SUCCESSOR)
    if document is None:
        return None
    try:
        return Successor(
            job_uid=str(document["jobUid"]),
            pod_uid=str(document["podUid"]),
            attempt=str(document["attempt"]),
            superseded=tuple(document.get("superseded", ())),
        )
    except (KeyError, TypeError) as error:
        raise OwnerUnreadableError(f"{run_dir / layout.SUCCESSOR}: {error!r}") from None


def create_owner(run_dir: Path, owner: Owner) -> bool:
    """Write owner.json if there is none; return False if there is one."""
    return _put_if_absent(run_dir / layout.OWNER, _owner_document(owner))


def replace_owner(
    run_dir: Path, owner: Owner, *, is_ours: Callable[[], bool] | None = None
) -> bool:
    """Replace owner.json; False, and nothing is written, if `is_ours` says that it is not.

    `is_ours` is called last, between the fsync, which a bad disk can delay, and the rename.
    """
    with _written(run_dir / layout.OWNER, _owner_document(owner)) as temporary:
        if is_ours is not None and not is_ours():
            return False
        temporary.replace(run_dir / layout.OWNER)
    return True


def post_successor(run_dir: Path, successor: Successor) -> None:
    """Write successor.json in place of the one that is there."""
    document = {
        "jobUid": successor.job_uid,
        "podUid": successor.pod_uid,
        "attempt": successor.attempt,
        "superseded": list(successor.superseded),
    }
    replace_json(run_dir / layout.SUCCESSOR, document)


def replace_json(
    path: Path, document: Mapping[str, Any], *, check: Callable[[], None] = lambda: None
) -> None:
    """Write a whole document in place: temporary file, fsync, rename.

    Raises OSError, or what `check` raises, which is called between the fsync and the rename; the
    old document then stays.
    """
    with _written(path, document) as temporary:
        check()
        temporary.replace(path)


def _owner_document(owner: Owner) -> dict[str, Any]:
    return {
        "jobUid": owner.job_uid,
        "podUid": owner.pod_uid,
        "attempt": owner.attempt,
        "counter": owner.counter,
        "released": owner.released,
        "superseded": list(owner.superseded),
        "status": owner.status,
    }


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise OwnerUnreadableError(f"{path}: not JSON: {error}") from None
    if not isinstance(document, dict):
        raise OwnerUnreadableError(f"{path}: not an object")
    return document


def _job_in(path: Path) -> str:
    try:
        return str((_read(path) or {}).get("jobUid", ""))
    except (OSError, OwnerUnreadableError):
        return ""  # half written where there are no hard links, or a disk that can't read this one


def _put_if_absent(path: Path, document: Mapping[str, Any]) -> bool:
    """Write a whole document if there is none; return False if there is one.

    A hard link shows it whole and is safe on old NFS. Some volumes have no hard links (CIFS, exFAT,
    some FUSE): there the file is created exclusively, and a reader may see it half written once.
    """
    with _written(path, document) as temporary:
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            return _create(path, document)
    return True


def _create(path: Path, document: Mapping[str, Any]) -> bool:
    try:
        with path.open("x", encoding="utf-8") as stream:
            _write(stream, document)
    except FileExistsError:
        return False
    return True


def _write(stream: TextIO, document: Mapping[str, Any]) -> None:
    json.dump(document, stream)
    stream.write("\n")
    stream.flush()
    os.fsync(stream.fileno())


@contextlib.contextmanager
def _written(path: Path, document: Mapping[str, Any]) -> Iterator[Path]:
    """A temporary file beside `path` with the document, flushed to disk and removed at the end."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as stream:
            _write(stream, document)
        yield temporary
    finally:
        temporary.unlink(missing_ok=True)
