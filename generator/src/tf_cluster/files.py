"""Reads and writes files: clear errors, and no file half written."""

import errno
import os
import re
import shutil
import stat
import sys
import tempfile
from pathlib import Path

from tf_cluster.exits import RefusedError

STDIO = "-"
STDIN_NAME = "<stdin>"


def read_input(name: str, most: int) -> bytes:
    """The first `most` bytes of a file, or of standard input for `-`.

    Raises RefusedError for what can't be read, including pipes and devices, which may never end.
    """
    refuse_no_name(name)
    try:
        if name == STDIO:
            return sys.stdin.buffer.read(most)
        if is_open_here(name):
            with Path(name).open("rb") as file:
                return file.read(most)
        return read_regular(Path(name), most)
    except FileNotFoundError:
        raise RefusedError(f"{name}: there is no such file{_near(name)}") from None
    except OSError as error:
        raise RefusedError(f"{shown_name(name)}: can't be read: {error.strerror}") from error


def is_folder(name: str) -> bool:
    """Whether there is a folder of this name; a name that no file can have is none."""
    try:
        return bool(name) and Path(name).is_dir()
    except OSError:
        return False


UNSET = "is a variable of the shell not set?"
"""What to ask of an empty name or option."""


def refuse_no_name(name: str) -> None:
    """Raise RefusedError for an empty name, which a Path would take for the folder we are in."""
    if not name:
        raise RefusedError(f"an empty name: {UNSET}")


def refuse_folder(name: str) -> None:
    """Raise RefusedError for the name of a folder, by its end, where a file is to be written."""
    if name.endswith("/"):
        raise RefusedError(f"{name} is a folder: name a file in it")


def read_regular(path: Path | str, most: int = -1) -> bytes:
    """The first `most` bytes of a regular file, or all of them. Raises OSError for anything else.

    Never waits: a pipe that nobody writes to, or a device, is not even opened.
    """
    _refuse_irregular(os.stat(path).st_mode)  # noqa: PTH116 (it may be a text)
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags), "rb") as file:
        _refuse_irregular(os.fstat(file.fileno()).st_mode)
        return file.read(most)


_KINDS = (
    (stat.S_ISFIFO, "a pipe, not a regular file"),
    (stat.S_ISCHR, "a device, not a regular file"),
    (stat.S_ISBLK, "a device, not a regular file"),
    (stat.S_ISSOCK, "a socket, not a regular file"),
)


def _refuse_irregular(mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    for is_one, words in _KINDS:
        if is_one(mode):
            raise OSError(errno.EINVAL, words)


def is_open_here(name: str) -> bool:
    """`/dev/stdin`, and `/dev/fd/63` of a shell's `<(…)`: open already, so reading ends."""
    return name == "/dev/stdin" or re.fullmatch(r"/dev/fd/[0-9]+", name, re.ASCII) is not None


def shown_name(name: str) -> str:
    """The name of an input in messages."""
    return STDIN_NAME if name == STDIO else name


def is_one_file(one: str, other: str) -> bool:
    """Whether two names lead to one file. Standard streams are no file."""
    if STDIO in (one, other):
        return False
    try:
        return Path(one).samefile(other)
    except OSError:  # missing or unreadable: refused when it is used
        return False


def beside(name: str, output: str) -> str:
    """What an output is called in the folder of the file it is made of; empty for standard output.

    Both names may lead elsewhere on another machine, but from one to the other the way is the same.
    """
    if output == STDIO:
        return ""
    if name == STDIO or is_open_here(name):
        return Path(output).name
    return os.path.relpath(output, Path(name).parent)


def refuse_link_out(path: Path) -> None:
    """Raise RefusedError for a link that leaves its folder.

    A pull request may contain one: its target would be printed, copied or replaced.
    """
    try:
        is_special = path.exists() and not (path.is_file() or path.is_dir())  # refused in use
        leads_out = path.is_symlink() and not is_inside(path, path.parent)
    except OSError as error:  # a name too long for a file, before Python 3.14
        raise RefusedError(f"{path}: can't be used: {error.strerror}") from error
    if leads_out and not is_special:
        kind = "folder" if path.is_dir() else "file"
        raise RefusedError(f"{path} is a link out of its folder: name the {kind} that it leads to")


def is_inside(path: Path, folder: Path) -> bool:
    """Whether a path leads to somewhere in a folder, both with their links followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def write_whole(path: Path, text: str) -> None:
    """Replace `path` by a temporary file beside it: readers see the old text or the new.

    Keeps the old file's mode. Raises RefusedError, with the old file as it was.
    """
    target = _target(path)
    if target.exists() and not target.is_file():
        raise RefusedError(f"{path}: can't be written: not a regular file (- is stdout)")
    try:
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:
        raise RefusedError(f"{path}: can't be written: {error.strerror}") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(mode)
        Path(temporary).replace(target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise RefusedError(f"{path}: can't be written: {error.strerror}") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _target(path: Path) -> Path:
    """The target of a path, existing or not. Raises RefusedError for a loop of links."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except OSError as error:
        raise RefusedError(f"{path}: can't be written: {error.strerror}") from error


def keep_copy(path: Path) -> Path:
    """Copy a file to the first of `path.orig`, `path.orig.2`, … that is free. Raises RefusedError.

    Nothing is copied of a pipe, device or folder: `write_whole` refuses those.
    """
    if not path.is_file():
        return path
    number = 1
    while True:
        kept = path.with_name(f"{path.name}.orig" + (f".{number}" if number > 1 else ""))
        try:
            with path.open("rb") as file, kept.open("xb") as copy:
                try:
                    shutil.copyfileobj(file, copy)
                except BaseException:
                    kept.unlink()
                    raise
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise RefusedError(f"{path}: can't be kept as {kept}: {error.strerror}") from error
        return kept


_NO_INPUT = (".values.yaml", ".orig")
"""Ends of names that this tool gives to what it writes."""


def _near(name: str) -> str:
    from difflib import get_close_matches

    folder = Path(name).parent
    try:
        names = [
            entry.name
            for entry in folder.iterdir()
            if entry.is_file() and not entry.name.endswith(_NO_INPUT)
        ]
    except OSError:
        return ""
    file, begin_of = Path(name).name, {one: one.partition(".")[0] for one in names}
    begin = file.partition(".")[0]
    # Of the ends, which many names have in common, no letter counts.
    begins = get_close_matches(begin, {*begin_of.values()}, n=1, cutoff=0.7)
    close = get_close_matches(file, [one for one in names if begin_of[one] in begins], n=1)
    return f" (did you mean {folder / close[0]}?)" if close else ""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
