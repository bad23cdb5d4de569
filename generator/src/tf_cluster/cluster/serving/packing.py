"""Packs a version of a model into the build context of an image, which a server copies it from."""

import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from tf_cluster.exits import RefusedError

SAVED_MODEL, INDEX = "saved_model.pb", "variables/variables.index"
MANIFEST = "assets.extra/tf-cluster-manifest.json"
_DATA = re.compile(r"variables/variables\.data-\d{5}-of-(\d{5})")
BASE = "busybox:1.37"
"""The image needs `cp` and a shell's loader, and nothing else."""
MODEL = "model"
"""The directory of versions: in the context, and at the root of the image."""
_DOCKERFILE = """\
# Written by tf-cluster package.
# An image of version {number} of a model, for charts/tf-serving:
#   models: {{NAME: {{source: {{image: {{reference: THIS_IMAGE, path: /{model}}}}}}}}}
ARG BASE={base}
FROM ${{BASE}}
COPY {model} /{model}
"""


@dataclass(frozen=True)
class Packed:
    """What was packed: the version's number, and its bytes."""

    number: int
    size: int


def pack(export: Path, number: int | None, context: Path, *, force: bool = False) -> Packed:
    """Copy a version into a new directory, with a Dockerfile; the newest where no number is given.

    `export` is a directory of versions, or one version. The context is there whole, or as it was.
    `force` replaces one that this tool wrote. Raises RefusedError.
    """
    try:
        source, number = _version(export, number)
        files = list(_files(source))
        _refuse_torn(source, {file.as_posix() for file in files})
        _refuse_other(context, source, force=force)
        context.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".tf-cluster-", dir=context.parent) as scratch:
            made = Path(scratch, "context")
            for file in files:
                target = made / MODEL / str(number) / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source / file, target)
            _refuse_changed(made / MODEL / str(number), source)
            (made / "Dockerfile").write_text(_dockerfile(number), encoding="utf-8")
            _let_all_read(made)
            size = sum((made / MODEL / str(number) / file).stat().st_size for file in files)
            _replace(context, made, Path(scratch, "before"))
    except OSError as error:
        raise RefusedError(f"{error.filename or context}: {error.strerror}") from None
    return Packed(number, size)


def _version(export: Path, number: int | None) -> tuple[Path, int]:
    """The directory of a version, and its number. Raises RefusedError."""
    if not export.is_dir():
        raise RefusedError(
            f"{export} is no directory: name export/ or best/ of a run, as runs/digits/1/export"
        )
    if (export / SAVED_MODEL).exists():
        own = _number(export.absolute().name)
        own = 1 if own is None else own
        if number not in (None, own):
            raise RefusedError(f"{export} is a version itself: leave out --version {number}")
        return export, own
    found = {_number(one.name): one for one in export.iterdir() if one.is_dir()}
    found.pop(None, None)
    there = sorted(each for each in found if each is not None)
    if not there:
        raise RefusedError(f"{export} has no version: no directory whose name is a number")
    wanted = there[-1] if number is None else number
    if wanted not in found:
        raise RefusedError(
            f"{export} has no version {wanted}: there are {', '.join(map(str, there))}"
        )
    return found[wanted], wanted


def _number(name: str) -> int | None:
    """A version's number by its name; none for 007, which `check-exports` refuses, too."""
    is_one = name.isascii() and name.isdecimal() and (name == "0" or name[0] != "0")
    return int(name) if is_one else None


def _files(source: Path) -> Iterator[Path]:
    """The files of a version. Raises RefusedError for what is no file, as a link."""
    for folder, folders, names in os.walk(source, onerror=_raise):
        for name in sorted((*folders, *names)):
            path = Path(folder, name)
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode):
                yield path.relative_to(source)
            elif not stat.S_ISDIR(mode):
                raise RefusedError(f"{path} is no file: an image gets files of the version alone")


def _refuse_torn(source: Path, files: set[str]) -> None:
    if SAVED_MODEL not in files:
        raise RefusedError(f"{source} has no {SAVED_MODEL}: it is half copied, or no SavedModel")
    if INDEX not in files and (source / "variables").is_dir():
        raise RefusedError(f"{source} has no {INDEX}: it is half copied")
    parts = [found for found in map(_DATA.fullmatch, files) if found]
    if INDEX in files and not (parts and all(len(parts) == int(one[1]) for one in parts)):
        raise RefusedError(f"{source} has not all of {INDEX[:-5]}data-…: it is half copied")


def _refuse_changed(made: Path, source: Path) -> None:
    """Hold what was copied against the manifest of a published version. Raises RefusedError."""
    try:
        told = json.loads((made / MANIFEST).read_bytes())["files"]
        held = {str(name): str(one["sha256"]) for name, one in told.items()}
    except FileNotFoundError:
        return
    except (ValueError, KeyError, TypeError, AttributeError):
        raise RefusedError(f"{source}/{MANIFEST} can't be read: it is half copied") from None
    files = {path.relative_to(made).as_posix(): path for path in made.rglob("*") if path.is_file()}
    files.pop(MANIFEST)
    for name in sorted(files.keys() ^ held.keys()):
        why = "is not there" if name in held else "is not in its manifest"
        raise RefusedError(f"{source} is not as it was published: {name} {why}")
    for name, path in files.items():
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
        if digest.hexdigest() != held[name]:
            raise RefusedError(f"{source} is not as it was published: {name} is another file")


def _refuse_other(context: Path, source: Path, *, force: bool) -> None:
    """Refuse a directory that somebody else made. Raises RefusedError."""
    ways = source.resolve(), context.resolve()
    if ways[0].is_relative_to(ways[1]):
        raise RefusedError(f"{context} holds the export itself: name another directory")
    if ways[1].is_relative_to(ways[0]):
        raise RefusedError(f"{context} would be a part of the export: name another directory")
    if not os.path.lexists(context):
        return
    if context.is_symlink() or not context.is_dir():
        raise RefusedError(f"{context} is there and no directory")
    if not any(context.iterdir()):
        return
    if not force:
        raise RefusedError(f"{context} exists: --force replaces it")
    if not _is_ours(context):
        raise RefusedError(
            f"{context} is not as tf-cluster package wrote it: remove it, or name another"
        )


def _is_ours(context: Path) -> bool:
    """Whether all that is in a directory was written here, and by nobody else since."""
    try:
        there = {one.name for one in context.iterdir()}
        (version,) = (context / MODEL).iterdir()
        text = (context / "Dockerfile").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError, ValueError):
        return False
    return there == {"Dockerfile", MODEL} and text == _dockerfile(_number(version.name))


def _dockerfile(number: int | None) -> str:
    return _DOCKERFILE.format(number=number, model=MODEL, base=BASE)


def _replace(context: Path, made: Path, before: Path) -> None:
    """Put a new directory in the place of another, or leave that one there."""
    if context.exists():
        context.rename(before)
    try:
        made.rename(context)
    except BaseException:
        if before.exists():
            before.rename(context)
        raise


def _raise(error: OSError) -> NoReturn:
    raise error


def _let_all_read(made: Path) -> None:
    """The server's user is another one than whoever packs."""
    for path in (made, *made.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
