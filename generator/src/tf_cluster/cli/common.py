"""What the commands share: reading, writing and telling."""

import os
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from tf_cluster.exits import RefusedError
from tf_cluster.files import UNSET, shown_name
from tf_cluster.findings.formats import Format
from tf_cluster.params.wording import either
from tf_cluster.printable import printable, printable_lines

if TYPE_CHECKING:
    from tf_cluster.findings.source_line import Screen


def not_empty(option: typer.CallbackParam, value: str | None) -> str | None:
    """The value of an option. An empty one does not stand for one that is left out."""
    if value == "":
        raise RefusedError(f"{option.opts[0]} is empty: {UNSET}")
    return value


ParamsFile = Annotated[str, typer.Argument(metavar="FILE", help="Params file; - is stdin.")]
ParamsFiles = Annotated[
    list[str],
    typer.Argument(metavar="FILE...", help="Params files, folders, quoted patterns; - is stdin."),
]
PlannedFile = Annotated[
    str, typer.Argument(metavar="FILE", help="Params file or values file; - is stdin.")
]
ReleaseName = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", callback=not_empty, help="The release's name; else the training's."
    ),
]
_FORMATS = either(form.value for form in Format)
FindingsFormat = Annotated[
    Format, typer.Option("--format", metavar="FORMAT", help=f"Print findings as {_FORMATS}.")
]


class TextOrJson(str, Enum):
    """What `--format` takes where there are no findings."""

    TEXT = "text"
    JSON = "json"


def tell(words: str) -> None:
    """Print a message, which may contain names of files, on stderr."""
    print(printable_lines(words), file=sys.stderr)


def read(file: str) -> bytes:
    """The bytes of a params file. Of a file that is too long: one more than the reader accepts."""
    from tf_cluster.files import read_input
    from tf_cluster.yaml.reader import MAX_BYTES

    return read_input(file, MAX_BYTES + 1)


def write(text: str, output: str, *, force: bool, then: Sequence[str] = ()) -> None:
    """Write a text to a file, whole or not at all, or to stdout for `-`. Raises RefusedError.

    `then` is the command that is most likely next.
    """
    from tf_cluster.files import STDIO, write_whole

    if output == STDIO:
        sys.stdout.write(text)
        sys.stdout.flush()
        return
    refuse_existing(output, force=force)
    write_whole(Path(output), text)
    tell(printable(f"wrote {output}{next_step(then)}"))


def refuse_existing(output: str, *, force: bool) -> None:
    """Refuse to write over a file; `-` is none. Raises RefusedError."""
    from tf_cluster.files import STDIO

    if output != STDIO and os.path.lexists(output) and not force:
        raise RefusedError(f"{output} exists: --force overwrites it")


def next_step(command: Sequence[str]) -> str:
    """What is added to words on a file that was written: the command that is most likely next."""
    return f". Next: {shlex.join(command)}" if command else ""


def screen(stream: TextIO, files: Mapping[str, bytes]) -> "Screen | None":
    """How findings on these files are shown on a stream; None where it is no terminal."""
    if not stream.isatty():
        return None
    from tf_cluster.findings.source_line import Screen

    lines = {shown_name(name): raw.split(b"\n") for name, raw in files.items()}
    has_colors = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return Screen(_columns(stream), has_colors, lines)


def _columns(stream: TextIO) -> int:
    said = os.environ.get("COLUMNS", "")
    if said.isascii() and said.isdigit() and len(said) < 5:
        return int(said) or 80
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


def tell_left_out(out: Iterable[str], to_others: Mapping[str, str]) -> None:
    """Tell which links of a folder were not followed: those out of it, and to a file of it."""
    for link in out:
        tell(printable(f"left out: {link} is a link out of the folder: name the file itself"))
    for link, file in to_others.items():
        tell(printable(f"left out: {link} is a link to {file}, which is looked at"))


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
