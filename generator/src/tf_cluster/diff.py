"""The difference between a file and what would be written to it."""

import re
from collections.abc import Iterator
from difflib import unified_diff
from itertools import takewhile
from pathlib import Path

from tf_cluster.exits import RefusedError
from tf_cluster.files import read_regular
from tf_cluster.printable import printable

_MOST_BYTES = 16 << 20
"""Values files are smaller: a ConfigMap holds one MiB."""

_MOST_COMPARED = 4_000
"""Most lines that are compared: the time grows with their square, or faster."""

_CONTEXT = 3


def difference(path: Path, text: str) -> str:
    """A unified diff from the file to `text`; empty when they are equal byte for byte.

    A file that is not there counts as empty. Raises RefusedError when it can't be read.
    """
    return unified(str(path), present(path), text, "generated")


def present(path: Path) -> bytes:
    """What a values file has now; nothing where there is none.

    Raises RefusedError when it can't be read.
    """
    try:
        old = read_regular(path, _MOST_BYTES + 1)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RefusedError(f"{path}: can't be read: {error.strerror}") from error
    if len(old) > _MOST_BYTES:
        raise RefusedError(f"{path}: more than {_MOST_BYTES >> 20} MiB: not a values file")
    return old


def unified(name: str, old: bytes, text: str, what: str) -> str:
    """A unified diff from `old` to `text`, which is called `what`; empty when they are equal."""
    if old == text.encode():
        return ""
    before = old.decode("utf-8", "backslashreplace").splitlines(keepends=True)
    after = text.splitlines(keepends=True)
    lines = _unified(before, after, printable(name), what)
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


def _unified(before: list[str], after: list[str], name: str, what: str) -> Iterator[str]:
    """The lines of the diff, or one line that says that too many differ."""
    first = _equal(before, after)
    last = _equal(before[first:][::-1], after[first:][::-1])
    one, other = len(before) - first - last, len(after) - first - last
    if max(one, other) > _MOST_COMPARED:
        yield f"{name}: {one} lines from line {first + 1} on become {other}: too many to compare\n"
        return
    start, end = max(0, first - _CONTEXT), max(0, last - _CONTEXT)
    one_part, other_part = (lines[start : len(lines) - end] for lines in (before, after))
    for line in unified_diff(one_part, other_part, name, f"{name} ({what})", n=_CONTEXT):
        numbers = re.fullmatch(r"@@ -([0-9]+)(.*) \+([0-9]+)(.*) @@\n", line)
        if numbers:
            here, there = int(numbers[1]) + start, int(numbers[3]) + start
            line = f"@@ -{here}{numbers[2]} +{there}{numbers[4]} @@\n"
        yield line


def _equal(one: list[str], other: list[str]) -> int:
    """How many lines are equal at the beginning."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
