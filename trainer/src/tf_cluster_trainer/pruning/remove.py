"""Removes runs from a log volume, each after a last look; what is interrupted goes on next time."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from tf_cluster_trainer.pruning.look import HALF_REMOVED, Look, signs, walked


@dataclass(frozen=True)
class Wanted:
    """A run that is to go, and the newest time (ns) that it had when that was decided."""

    training: str
    run: str
    written: int


@dataclass(frozen=True)
class Result:
    """What became of a run: `removed`, `stays`, `gone` (it was not there) or `failed`, and why."""

    training: str
    run: str
    outcome: str
    why: str = ""


def remove(
    log: Path, seen: Look, wanted: Iterable[Wanted], say: Callable[[Result], None]
) -> tuple[Result, ...]:
    """Remove runs that nothing on the volume keeps, and what earlier removals have left.

    `seen` is a look of this moment.
    """
    results: list[Result] = []

    def note(result: Result) -> None:
        results.append(result)
        say(result)

    for left in seen.left:
        why = _removed(log / left.training / left.name)
        note(Result(left.training, left.name, "failed" if why else "removed", why))
    known = {(one.training, one.run): one for one in seen.runs}
    for one in wanted:
        found = known.get((one.training, one.run))
        if found is None:
            note(Result(one.training, one.run, "gone", "no such run is there"))
        elif found.keeps:
            note(Result(one.training, one.run, "stays", found.keeps))
        else:
            note(_taken(log, one))
    return tuple(results)


def _taken(log: Path, one: Wanted) -> Result:
    """Rename a run, so that no training finds half of it, and remove it."""
    path = log / one.training / one.run
    aside = path.with_name(f"{HALF_REMOVED}{one.run}-{uuid.uuid4().hex[:8]}")
    try:
        before, written = signs(path), walked(path).written
        if written != one.written:
            why = "it was written to since it was looked at"
            return Result(one.training, one.run, "stays", why)
        path.rename(aside)
    except FileNotFoundError:
        return Result(one.training, one.run, "gone", "somebody else removed it")
    except OSError as error:
        return Result(one.training, one.run, "failed", f"it can't be renamed: {error.strerror}")
    if signs(aside) != before:
        return _put_back(aside, path, one)
    why = _removed(aside)
    return Result(one.training, one.run, "failed" if why else "removed", why)


def _put_back(aside: Path, path: Path, one: Wanted) -> Result:
    """Take back the rename of a run that somebody wrote to at the same moment."""
    if os.path.lexists(path):
        why = f"it was written to while it was renamed, and is begun anew: it is {aside.name}"
        return Result(one.training, one.run, "failed", why)
    try:
        aside.rename(path)
    except OSError as error:
        why = f"it is being written to, and is {aside.name} now: {error.strerror}"
        return Result(one.training, one.run, "failed", why)
    return Result(one.training, one.run, "stays", "it is being written to")


def _removed(path: Path) -> str:
    """Remove a directory as far as it can be; why something is left, or empty."""
    troubles: list[OSError] = []

    def note(_function: object, _path: object, info: tuple[object, BaseException, object]) -> None:
        error = info[1]
        if not isinstance(error, OSError):
            raise error
        if not isinstance(error, FileNotFoundError):
            troubles.append(error)

    shutil.rmtree(path, onerror=note)
    if not os.path.lexists(path):
        return ""
    first = troubles[0] if troubles else OSError("something is left of it")
    return f"{first.strerror or first}: {first.filename}" if first.filename else str(first)
