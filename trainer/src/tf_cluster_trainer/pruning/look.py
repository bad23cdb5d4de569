"""Looks at the runs on a log volume: how large, how old, and which its training can't do without.

Nothing is followed out of the volume: a link is never a run, and neither is anything below one.
"""

from __future__ import annotations

import json
import os
import re
import stat
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tf_cluster_trainer.run_directory import layout

SETTLED_SECONDS = 600.0
"""A run that was written to later than so long ago may still be at work."""
LOOK_SECONDS = 7.0
"""Longer than the time between two signs of life in owner.json or progress.json."""
HALF_REMOVED = ".pruned-"
"""How names begin of runs whose removal has begun: no training takes them for a run."""
TRAINING = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_RUN = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_SIGN_BYTES = 65536
_MOST_OTHERS = 100
_SIGNS = (layout.OWNER, layout.PROGRESS)


@dataclass(frozen=True)
class Run:
    """A run on the volume. `written` is its newest time, in ns; `keeps` is why it has to stay.

    `checkpoint` is the step of its newest checkpoint, None where it has none; `checkpointed` when
    that came. `exports` are the directories of its whole exports, below the run.
    """

    training: str
    run: str
    size: int = 0
    written: int = 0
    checkpoint: int | None = None
    checkpointed: int = 0
    exports: tuple[str, ...] = ()
    keeps: str = ""


@dataclass(frozen=True)
class Left:
    """A run whose removal was begun and not ended."""

    training: str
    name: str
    size: int = 0


@dataclass(frozen=True)
class Look:
    """What was seen: at which time (ns), runs in order, and names that are no run, with why."""

    at: int
    runs: tuple[Run, ...] = ()
    left: tuple[Left, ...] = ()
    others: tuple[tuple[str, str], ...] = ()

    @property
    def size(self) -> int:
        """The bytes of all runs, half removed ones too."""
        return sum(one.size for one in self.runs) + sum(one.size for one in self.left)


def look(
    log: Path,
    training: str | None = None,
    now: Callable[[], int] = time.time_ns,
    sleep: Callable[[float], None] = time.sleep,
) -> Look:
    """What lies on a log volume of all trainings, or of one. Takes some seconds.

    Raises OSError where the volume itself can't be listed.
    """
    others: list[tuple[str, str]] = []
    left: list[Left] = []
    runs: list[Run] = []
    names = _names(log) if training is None else [training]
    for name in names:
        if why := _no_directory(log / name, TRAINING):
            others.append((name, why))
            continue
        try:
            mine, begun, rest = _of_training(log, name)
        except OSError as error:
            others.append((name, _words(error)))
            continue
        runs += mine
        left += begun
        others += rest if mine or begun else [(name, "it holds no run")]
    before = {(one.training, one.run): signs(log / one.training / one.run) for one in runs}
    if runs:
        sleep(LOOK_SECONDS)
    at = now()
    runs = [_at_work(one, log, before[one.training, one.run], at) for one in runs]
    return Look(at, tuple(map(_needed(runs), runs)), tuple(left), tuple(others))


def _of_training(log: Path, name: str) -> tuple[list[Run], list[Left], list[tuple[str, str]]]:
    """The runs in a directory, those half removed, and what is neither. Raises OSError."""
    runs: list[Run] = []
    left: list[Left] = []
    others: list[tuple[str, str]] = []
    for one in _names(log / name):
        path = log / name / one
        try:
            if one.startswith(HALF_REMOVED) and not path.is_symlink() and path.is_dir():
                left.append(Left(name, one, walked(path).size))
            elif why := _no_directory(path, _RUN) or _no_run(path):
                others.append((f"{name}/{one}", why))
            else:
                runs.append(run_at(path))
        except FileNotFoundError:
            continue  # somebody else removed it just now
    return runs, left, others


def run_at(path: Path) -> Run:
    """What a run's directory holds, whatever other runs there are."""
    tree = walked(path)
    run = Run(path.parent.name, path.name, tree.size, tree.written, keeps=tree.trouble)
    try:
        found = layout.whole_checkpoints(layout.checkpoints(path))
        exports = [
            f"{kind}/{each.name}"
            for kind in (layout.EXPORT, layout.BEST)
            if (path / kind).is_dir()
            for each in sorted((path / kind).iterdir())
            if each.name.isdecimal()
        ]
    except OSError as error:
        return replace(run, keeps=run.keeps or f"it can't be read: {_words(error)}")
    run = replace(run, exports=tuple(exports))
    if not found:
        return run
    step, directory = found[0]
    return replace(run, checkpoint=step, checkpointed=os.lstat(directory).st_mtime_ns)


@dataclass(frozen=True)
class Tree:
    """Bytes of a directory on the disk, a file of several names once, and its newest time in ns.

    `trouble` is why it can't be removed whole; empty where nothing is known to be in the way.
    """

    size: int
    written: int
    trouble: str


def walked(path: Path) -> Tree:
    """A directory with all that is below it. Follows no link."""
    own = os.lstat(path)
    size, written, trouble = own.st_blocks * 512, own.st_mtime_ns, ""
    seen: set[tuple[int, int]] = set()
    left = [os.fspath(path)]
    while left:
        folder = left.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    found = entry.stat(follow_symlinks=False)
                    written = max(written, found.st_mtime_ns)
                    if (found.st_dev, found.st_ino) not in seen:
                        size += found.st_blocks * 512
                    if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                        seen.add((found.st_dev, found.st_ino))
                    if stat.S_ISDIR(found.st_mode):
                        if found.st_dev != own.st_dev:
                            trouble = f"another volume is mounted at {entry.path}"
                        else:
                            left.append(entry.path)
        except FileNotFoundError:
            continue  # it went while it was looked at
        except OSError as error:
            trouble = f"it can't be read: {_words(error)}"
    return Tree(size, written, trouble)


def signs(path: Path) -> tuple[bytes, ...]:
    """What whoever works on a run rewrites every few seconds."""
    return tuple(_bytes(path / name) for name in _SIGNS)


def _at_work(run: Run, log: Path, before: tuple[bytes, ...], at: int) -> Run:
    if run.keeps:
        return run
    if signs(log / run.training / run.run) != before:
        return replace(run, keeps="it is being written to")
    seconds = (at - run.written) / 1e9
    if seconds < SETTLED_SECONDS:
        return replace(run, keeps=f"it was written to {max(seconds, 0):.0f} s ago")
    return run


def _needed(runs: list[Run]) -> Callable[[Run], Run]:
    """Mark what a training can't do without: its newest run, and that of its newest checkpoint."""
    newest: dict[str, tuple[int, str]] = {}
    checkpointed: dict[str, tuple[int, str]] = {}
    for one in runs:
        newest[one.training] = max(newest.get(one.training, (-1, "")), (one.written, one.run))
        if one.checkpoint is not None:
            latest = (one.checkpointed, one.run)
            checkpointed[one.training] = max(checkpointed.get(one.training, (-1, "")), latest)

    def marked(run: Run) -> Run:
        if newest[run.training] == (run.written, run.run):
            return replace(run, keeps="it is the newest run of its training")
        if checkpointed.get(run.training) == (run.checkpointed, run.run):
            return replace(run, keeps="it has the newest checkpoint of its training")
        return run

    return marked


def _no_directory(path: Path, pattern: re.Pattern[str]) -> str:
    try:
        mode = os.lstat(path).st_mode
    except OSError as error:
        return _words(error)
    if stat.S_ISLNK(mode):
        return "it is a link"
    if not stat.S_ISDIR(mode):
        return "it is no directory"
    return "" if pattern.fullmatch(path.name) else "no training gives such a name"


def _no_run(path: Path) -> str:
    """Why a directory is no run: the supervisor of every run leaves one of these files."""
    try:
        with os.scandir(path) as entries:
            names = {entry.name for entry in entries if entry.is_file(follow_symlinks=False)}
    except OSError as error:
        return _words(error)
    return "" if names.intersection(_SIGNS) else f"it has no {' and no '.join(_SIGNS)}"


def _bytes(path: Path) -> bytes:
    """The beginning of a regular file; empty for anything else, which might have no end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return os.read(descriptor, _SIGN_BYTES) if is_file else b""
    except OSError:
        return b""
    finally:
        os.close(descriptor)


def _names(folder: Path) -> list[str]:
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries)


def _words(error: OSError) -> str:
    return str(error.strerror or error)


def listing(seen: Look, log: Path) -> Iterator[tuple[str, object]]:
    """The fields of the document that says it."""
    volume = os.statvfs(log)
    yield "at", seen.at
    yield "bytes", seen.size
    yield "freeBytes", volume.f_bavail * volume.f_frsize
    yield (
        "runs",
        [
            {
                "training": one.training,
                "run": one.run,
                "bytes": one.size,
                "written": one.written,
                "checkpoint": one.checkpoint,
                "exports": list(one.exports),
                "keeps": one.keeps,
            }
            for one in seen.runs
        ],
    )
    yield (
        "halfRemoved",
        [{"training": one.training, "name": one.name, "bytes": one.size} for one in seen.left],
    )
    some = seen.others[:_MOST_OTHERS]
    yield "others", [{"name": name, "why": why} for name, why in some]
    yield "othersNotShown", len(seen.others) - len(some)


def as_line(document: dict[str, object]) -> str:
    """A document on one line of ASCII, whatever names are in it."""
    return json.dumps(document, ensure_ascii=True, separators=(",", ":"))
