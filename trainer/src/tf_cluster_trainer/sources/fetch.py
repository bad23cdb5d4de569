"""Puts a program's code into a directory: from the configuration, over HTTP, or from Git."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from ..config import Download, Files, GitCommit, Source
from .download import download, name_of
from .errors import SourceError, UnreachableError
from .git import check_out
from .limits import Limits
from .unpack import unpack
from .writing import Writer


def fetch(
    source: Source,
    directory: Path,
    scratch: Path,
    limits: Limits,
    log: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Fill `directory`; `scratch` is a directory for temporary files.

    Raises SourceError or, after several tries, UnreachableError; both name the source.
    """
    pause = limits.pause
    for number in range(1, limits.tries + 1):
        try:
            return _fetch_once(source, directory, scratch / str(number), limits, log)
        except SourceError as error:
            raise SourceError(f"program.source: {described(source)}: {error}") from None
        except (UnreachableError, OSError) as error:
            words = f"program.source: {described(source)}: {error}"
            if number == limits.tries:
                raise UnreachableError(f"{words}; given up after {number} tries") from None
            log(f"{words}; trying again in {pause:g} s")
            shutil.rmtree(directory)
            directory.mkdir()
            sleep(pause)
            pause *= 2
    raise AssertionError("a fetch returns or raises")


def described(source: Source) -> str:
    """The source in words."""
    if isinstance(source, Download):
        return source.url
    if isinstance(source, GitCommit):
        return f"{source.repository} at {source.commit}"
    return f"{len(source.contents)} file(s)"


def _fetch_once(
    source: Source, directory: Path, scratch: Path, limits: Limits, log: Callable[[str], None]
) -> None:
    if isinstance(source, Files):
        writer = Writer(directory, limits)
        for name, text in source.contents.items():
            writer.write(name, [text.encode()])
    elif isinstance(source, Download):
        scratch.mkdir(parents=True)
        file = scratch / "download"
        download(source.url, source.sha256, file, limits)
        unpack(file, name_of(source.url), directory, limits)
    else:
        scratch.parent.mkdir(parents=True, exist_ok=True)
        check_out(source.repository, source.commit, directory, scratch, limits, log)
