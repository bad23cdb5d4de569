"""`tf-trainer check-exports`: which versions of a directory a server may get, and why not."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.serving.look import Version

VERSION = 1
_MOST_OTHERS = 100
_SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()
_LOOK = (sys.executable, *_SAFE_PATH, "-m", "tf_cluster_trainer.serving.look")
# Of a CPU: a GPU that others use must not be needed for a look, and its log is of no use here.
_ENVIRONMENT = {"CUDA_VISIBLE_DEVICES": "-1", "TF_CPP_MIN_LOG_LEVEL": "2"}


class WrongPlaceError(Exception):
    """What was asked for can't be done; the message says what to do instead. Exit code 2."""


def check(
    directory: Path, number: int | None, tolerance: float, *, until_good: bool = False
) -> dict[str, Any]:
    """The document on a directory's versions, the newest first, or on one of them.

    `until_good`: it ends with the first good one; if another version was asked for, that is looked
    at first, and where there is none of its number none is. Raises WrongPlaceError.
    """
    found = versions(directory, None if until_good else number)
    wanted = sorted(found, key=lambda one: one[0] != number)
    if number not in (None, wanted[0][0]):
        wanted = []
    seen: list[tuple[Path, Version]] = []
    for _, path in wanted:
        seen.append((path, checked(path, tolerance)))
        if until_good and not seen[-1][1].problem:
            break
    seen.sort(key=lambda one: one[1].number, reverse=True)
    looked_at = {path for path, _ in seen}
    return {
        "version": VERSION,
        # An evaluator removes versions that it has better ones for.
        "exports": [
            one.as_json() for path, one in seen if not one.problem or os.path.lexists(path)
        ],
        "unseen": [each for each, path in found if path not in looked_at],
        "others": [{"name": name, "why": why} for name, why in _others(directory)][:_MOST_OTHERS],
    }


def versions(directory: Path, number: int | None = None) -> list[tuple[int, Path]]:
    """The versions in a directory by number, the newest first; one, where it is asked for.

    Raises WrongPlaceError where there is none.
    """
    try:
        found = sorted(layout.numbered(directory).items(), reverse=True)
    except FileNotFoundError:
        raise WrongPlaceError(
            f"{directory} is not there: an export comes when a training is done, and best/ with "
            "the first evaluation where `evaluator.exportBest` is set"
        ) from None
    except OSError as error:
        raise WrongPlaceError(f"{directory} can't be read: {error.strerror}") from None
    if not found:
        if (directory / layout.SAVED_MODEL).exists():
            raise WrongPlaceError(
                f"{directory} is a version itself: name the directory above, and call this one by "
                "a number"
            )
        raise WrongPlaceError(
            f"{directory} has no version: a server looks for directories called by a number"
        )
    if number is None:
        return found
    there = ", ".join(str(each) for each, _ in found)
    found = [each for each in found if each[0] == number]
    if not found:
        raise WrongPlaceError(f"{directory} has no version {number}; its versions: {there}")
    return found


def checked(path: Path, tolerance: float) -> Version:
    """Look at a version in a process of its own. Raises WrongPlaceError without TensorFlow."""
    done = subprocess.run(
        (*_LOOK, str(path), repr(tolerance)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env={**os.environ, **_ENVIRONMENT},
    )
    if done.returncode == 0:
        lines = done.stdout.splitlines()
        return Version(**json.loads(lines[-1]))
    said = done.stderr.strip().splitlines()
    if done.returncode == 2 and said:
        raise WrongPlaceError(said[-1])
    if done.returncode < 0:
        ended = f"it ended its process with {_signal(-done.returncode)}"
    else:
        ended = f"it ended its process with {done.returncode} ({said[-1] if said else 'no word'})"
    return Version(int(path.name), problem=f"TensorFlow can't load it: {ended}")


def _others(directory: Path) -> Iterator[tuple[str, str]]:
    """What a server overlooks in a directory, but what is being written there."""
    known = layout.numbered(directory).values()
    for path in sorted({*directory.iterdir()}.difference(known)):
        if not path.name.startswith("."):
            yield path.name, "a server looks for names that are a number, and nothing else"


def _signal(number: int) -> str:
    name = signal.Signals(number).name
    return f"{name}: the memory was too little, or it was killed" if name == "SIGKILL" else name
