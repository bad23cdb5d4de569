"""From what a user names to params files: files, folders and patterns."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tf_cluster.files import STDIO, is_folder, is_inside, refuse_no_name
from tf_cluster.findings.formats import Unread

SUFFIXES = (".params.yaml", ".params.yml")
"""How the names of params files end; of a folder no other file is taken."""

_PLAIN = "params.yaml"
"""A name that DVC, for one, has for its own file: a folder's is not taken."""
_MAGIC = re.compile(r"[*?\[]")
_NOBODYS = {"node_modules", "__pycache__", "site-packages"}
"""Folders that hold nobody's params, as those do that begin with a dot, and environments."""
_DEEPEST = 64

_Wanted = Callable[[str], object]


@dataclass(frozen=True)
class Found:
    """The files to look at, each once.

    `unread` could not be looked at; `left_out` are links that lead out of the folder that was
    named, `links` those to another of the files, by name. `several`: a folder or a pattern was
    named, or more than one file.
    """

    files: tuple[str, ...]
    unread: tuple[Unread, ...] = ()
    left_out: tuple[str, ...] = ()
    several: bool = False
    links: Mapping[str, str] = field(default_factory=dict)


@dataclass
class _Seen:
    """What a folder, or a pattern, has."""

    top: str
    files: list[str] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


def find(names: Sequence[str]) -> Found:
    """The params files that names of files, folders and patterns stand for, in their order.

    Those of a folder are sorted. A file that is not there is kept: reading it tells why. Raises
    RefusedError for an empty name.
    """
    called: dict[str, list[str]] = {}
    unread: list[Unread] = []
    left_out: list[str] = []
    several = len(names) > 1
    for name in names:
        refuse_no_name(name)
        seen = _stands_for(name)
        several = several or seen is not None
        here = [name] if seen is None else sorted(seen.files, key=lambda file: file.split("/"))
        if seen is not None:
            unread += seen.unread
            left_out += sorted(seen.left_out)
        for file in here:
            called.setdefault(file if file == STDIO else os.path.realpath(file), []).append(file)
    # The values stand beside the file itself, whichever name comes first.
    files = {real: min(found, key=os.path.islink) for real, found in called.items()}
    links = {
        file: files[real]
        for real, found in called.items()
        for file in found
        if file != files[real] and os.path.islink(file)  # noqa: PTH114 (it is a text)
    }
    return Found(tuple(files.values()), tuple(unread), tuple(left_out), several, links)


def _stands_for(name: str) -> _Seen | None:
    """What a folder or a pattern has; None for the name of one file."""
    if name == STDIO:
        return None
    if is_folder(name):
        seen = _Seen(name)
        _look(seen, "" if name == "." else name, _is_params)
        nothing = f"{name}: there is no *{SUFFIXES[0]} in it or below it"
        plain = os.path.join(seen.top, _PLAIN)  # noqa: PTH118 (a Path has no `./`)
        if os.path.lexists(plain):
            nothing += f"; {_PLAIN} may be another tool's: name it itself, or NAME{SUFFIXES[0]}"
    elif os.path.lexists(name) or not _MAGIC.search(name):
        return None
    else:
        seen = _Seen(_fixed_part(name))
        nothing = f"{name}: no file has a name of this form"
        try:
            wanted = re.compile(_expression(name), re.DOTALL).fullmatch
        except re.error as error:
            nothing = f"{name}: no pattern of names: {error}"
        else:
            if is_folder(seen.top or "."):
                deepest = _DEEPEST if "**" in name else name.count("/") - seen.top.count("/") + 1
                _look(seen, seen.top, wanted, deepest)
    if not seen.files and not seen.unread:
        seen.unread.append(Unread(name, nothing))
    return seen


def _is_params(path: str) -> bool:
    return path.endswith(SUFFIXES)


def _look(seen: _Seen, folder: str, wanted: _Wanted, deepest: int = _DEEPEST) -> None:
    """Note the wanted files in a folder and below it. Links to folders are not followed."""
    try:
        with os.scandir(folder or ".") as listed:
            entries = list(listed)
    except OSError as error:
        seen.unread.append(Unread(folder, f"{folder}: can't be read: {error.strerror}"))
        return
    for entry in entries:
        path = os.path.join(folder, entry.name)  # noqa: PTH118 (a Path has no `./`)
        if path.startswith("-"):  # no option of a command that names it
            path = f"./{path}"
        if entry.is_dir(follow_symlinks=False):
            if _is_nobodys(entry) or not deepest:
                continue
            if wanted is not _is_params and wanted(path):
                _look(seen, path, _is_params)  # a pattern for folders
            else:
                _look(seen, path, wanted, deepest - 1)
        elif wanted(path) and not (wanted is _is_params and entry.name.startswith(".")):
            leads_out = entry.is_symlink() and not is_inside(Path(path), Path(seen.top or "."))
            (seen.left_out if leads_out else seen.files).append(path)


def _is_nobodys(entry: "os.DirEntry[str]") -> bool:
    if entry.name.startswith(".") or entry.name in _NOBODYS:
        return True
    environment = os.path.join(entry.path, "pyvenv.cfg")  # noqa: PTH118
    return os.path.exists(environment)  # noqa: PTH110 (a Path raises where it may not look)


def _fixed_part(pattern: str) -> str:
    """The folder that all names of a pattern are in."""
    parts = pattern.split("/")
    fixed = parts[: next(at for at, part in enumerate(parts) if _MAGIC.search(part))]
    return "/".join(fixed) or ("/" if pattern.startswith("/") else "")


def _expression(pattern: str) -> str:
    """A shell's pattern as a regular expression: `**` stands for any folders.

    As in a shell, a sign for any letters stands for no dot at the start of a name.
    """
    text, at = "", 0
    while at < len(pattern):
        if pattern[at] in "*?[" and pattern[at - 1 : at] in ("", "/"):
            text += r"(?!\.[^/])"
        if pattern.startswith("**/", at):
            text, at = text + "(?:.*/)?", at + 3
        elif pattern.startswith("**", at):
            ends = "|".join(map(re.escape, SUFFIXES))
            text, at = text + rf"(?:.*/)?(?!\.)[^/]*(?:{ends})", at + 2
        elif pattern[at] == "*":
            text, at = text + "[^/]*", at + 1
        elif pattern[at] == "?":
            text, at = text + "[^/]", at + 1
        elif pattern[at] == "[" and (end := pattern.find("]", at + 2)) > 0:
            inner = pattern[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            text, at = text + f"[{'^' + inner[1:] if inner[0] == '!' else inner}]", end + 1
        else:
            text, at = text + re.escape(pattern[at]), at + 1
    return text
