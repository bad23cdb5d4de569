"""The line of a file that a finding is about, with a caret below, for a terminal."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tf_cluster.findings.finding import Place
from tf_cluster.printable import OLD_COMMAND, printable

_LEAST = 20
"""Columns that a line gets on the narrowest terminal."""
_ELLIPSIS = "…"


@dataclass(frozen=True)
class Screen:
    """A terminal: its columns, whether it shows colors, and the lines of the files by name.

    Lines end with a line feed alone, as the reader of params files counts them.
    """

    columns: int
    has_colors: bool
    files: Mapping[str, Sequence[bytes]]

    def lines(self, file: str, place: Place, severity: str) -> list[str]:
        """The line at a place and the caret; nothing of a file or a line that is not there."""
        lines = self.files.get(file, ())
        text = _text(lines[place.line - 1], place.line == 1) if place.line <= len(lines) else ""
        if not text:
            return []
        number = str(place.line)
        gutter = f"{' ' * len(number)} | "
        room = max(_LEAST, self.columns - len(gutter) - 3)
        shown, column = around(text, place.column, room)
        caret = self.colored("^", severity)
        return [f"  {number} | {shown}", f"  {gutter}{' ' * column}{caret}"]

    def colored(self, text: str, severity: str) -> str:
        """A text in the color of a severity, where the terminal has colors."""
        code = {"error": "31", "warning": "33"}.get(severity, "36")
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colors else text


@lru_cache(maxsize=8)
def _text(line: bytes, is_first: bool) -> str:
    """A line as text; one that is not UTF-8 has a character per byte, as its columns are counted.

    A line of a megabyte may have a thousand findings.
    """
    line = line.removesuffix(b"\r")
    try:
        return line.decode("utf-8-sig" if is_first else "utf-8")
    except UnicodeDecodeError:
        return line.decode("latin-1")


def around(line: str, column: int, room: int) -> tuple[str, int]:
    """What of a line is shown around a column (from 1) in so much room, and the caret's column.

    Characters that could control a terminal are escaped; wide ones count two, combining ones none.
    """
    at = min(column - 1, len(line))
    # A finding may be far into a line of a megabyte: only what may be shown is looked at.
    first = max(0, at - 2 * room)
    cells = _cells(line[first : at + 2 * room])
    at -= first
    widths = [_width(cell) for cell in cells]
    begin, end = 0, len(cells)
    cut_left, cut_right = first > 0, len(line) > first + len(cells)
    if sum(widths) > room or cut_left or cut_right:
        begin, end = _window(widths, at, room - 2)
        cut_left, cut_right = cut_left or begin > 0, cut_right or end < len(cells)
    left = _ELLIPSIS if cut_left else ""
    right = _ELLIPSIS if cut_right else ""
    return left + "".join(cells[begin:end]) + right, len(left) + sum(widths[begin:at])


def _window(widths: Sequence[int], at: int, room: int) -> tuple[int, int]:
    """The cells to show: about half of the room before the caret, the rest after it."""
    begin, before = at, 0
    while begin and before + widths[begin - 1] <= room // 2:
        begin -= 1
        before += widths[begin]
    end, after = at, 0
    while end < len(widths) and before + after + widths[end] <= room:
        after += widths[end]
        end += 1
    while begin and before + after + widths[begin - 1] <= room:
        begin -= 1
        before += widths[begin]
    return begin, end


def _cells(line: str) -> list[str]:
    """Each character as it is shown."""
    commands = {match.start() + 1 for match in OLD_COMMAND.finditer(line)}
    return [
        "\\x23" if index in commands else one if " " <= one <= "~" else printable(one)
        for index, one in enumerate(line)
    ]


def _width(cell: str) -> int:
    """The columns of a character, which is longer when it is escaped."""
    if len(cell) > 1 or cell <= "~":
        return len(cell)
    if unicodedata.combining(cell) or unicodedata.category(cell) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1
