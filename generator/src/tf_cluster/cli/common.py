"""What the commands share: reading, writing and telling."""

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable, printable_lines

ParamsFile = Annotated[str, typer.Argument(metavar="FILE", help="Params file; - is stdin.")]


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
    path = Path(output)
    if os.path.lexists(path) and not force:
        raise RefusedError(f"{output} exists: --force overwrites it")
    write_whole(path, text)
    tell(printable(f"wrote {output}" + (f". Next: {shlex.join(then)}" if then else "")))


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
