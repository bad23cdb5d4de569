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
from .login import DEFAULT_LOGIN_DIRECTORY, PROGRAM_SOURCE, Login, login
from .unpack import unpack
from .writing import Writer


def fetch(
    source: Source,
    directory: Path,
    scratch: Path,
    limits: Limits,
    log: Callable[[str], None],
    sleep: Callable[[float], None] = time.sleep,
    logins: Path = Path(DEFAULT_LOGIN_DIRECTORY),
    place: str = PROGRAM_SOURCE,
) -> None:
    """Fill `directory`; `scratch` is a directory for temporary files, `logins` has the login.

    Raises SourceError or, after several tries, UnreachableError; both name the source, and `place`,
    the key of the values that names it.
    """
    pause = limits.pause
    try:
        known = login(source, logins)
    except SourceError as error:
        raise SourceError(f"{place}: {described(source)}: {error}") from None
    hidden = known.hidden if known else str
    if known and described(source).startswith("http:"):
        log(f"the login of {known.words} travels in clear text: the address is not https")
    for number in range(1, limits.tries + 1):
        try:
            return _fetch_once(source, directory, scratch / str(number), limits, log, known, place)
        except SourceError as error:
            raise SourceError(f"{place}: {described(source)}: {hidden(str(error))}") from None
        except (UnreachableError, OSError) as error:
            words = f"{place}: {described(source)}: {hidden(str(error))}"
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
    source: Source,
    directory: Path,
    scratch: Path,
    limits: Limits,
    log: Callable[[str], None],
    known: Login | None,
    place: str,
) -> None:
    if isinstance(source, Files):
        writer = Writer(directory, limits)
        for name, text in source.contents.items():
            writer.write(name, [text.encode()])
    elif isinstance(source, Download):
        scratch.mkdir(parents=True)
        file = scratch / "download"
        download(source.url, source.sha256, file, limits, known, place)
        unpack(file, name_of(source.url), directory, limits)
    else:
        scratch.parent.mkdir(parents=True, exist_ok=True)
        check_out(source.repository, source.commit, directory, scratch, limits, log, known)
