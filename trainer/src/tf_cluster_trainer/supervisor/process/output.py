"""What a child prints, line by line: read from two pipes, written as records."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import threading
import time
from collections.abc import Callable

from tf_cluster_trainer.log import CRITICAL, ERROR, INFO, LONGEST, MARK, WARNING, Line, marked

HOLD_SECONDS = 0.5  # without a byte
MOST_SECONDS = 2.0
_LONGEST = LONGEST + 200  # bytes of a line: a record of `log` has room in it
_TRACEBACK = "Traceback (most recent call last):"
_CHAINS = (  # with an empty line before and after, between two tracebacks
    "During handling of the above exception, another exception occurred:",
    "The above exception was the direct cause of the following exception:",
)
_LETTERS = {"D": "DEBUG", "I": INFO, "W": WARNING, "E": ERROR, "F": CRITICAL}
_SAYS_LETTER = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: ([IWEF]) "  # TensorFlow's C++
    r"|([DIWEF])\d{4} \d\d:\d\d:[\d.]+ "  # absl, in C++ and in Python
)
_SAYS_WORD = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL):[^:]+:")  # Python's logging
_WARNS = re.compile(r"\S+:\d+: \w*Warning: ")  # Python's warnings


class Lines:
    """The lines in a stream of bytes.

    A line longer than _LONGEST bytes comes in pieces. A traceback of Python's is one line, and so
    is a chain of them: it is held until a line shows that it goes on or does not, until `idle`, or
    while it is shorter than _LONGEST. The first line that is not indented is the exception's. What
    follows may be more of its message, which only a further traceback of the chain can show.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._cut = False  # the last line given was a piece, and its end is still to come
        self._held: list[str] = []  # of a traceback, or of a chain
        self._opening = False  # what is held ends in the words between two tracebacks
        self._after: list[str] | None = None  # once its exception is told: what followed

    @property
    def holds(self) -> bool:
        """Whether a traceback waits for its end."""
        return bool(self._held)

    def feed(self, data: bytes) -> list[Line]:
        """Take these bytes, and give the lines that they end."""
        *ended, rest = (self._rest + data).split(b"\n")
        lines = []
        for one in ended:
            lines += self._given(one, ends=True)
        self._rest = b""
        lines += self._given(rest, ends=False)
        return lines

    def idle(self) -> list[Line]:
        """Give what is held: nothing came for a while."""
        held, after = self._held, self._after or []
        self._held, self._after, self._opening = [], None, False
        return [*([Line("\n".join(held), ERROR)] if held else []), *map(_raw, after)]

    def end(self) -> list[Line]:
        """Give what is left: nothing will come any more."""
        rest, self._rest = self._rest, b""
        return [*(self._given(rest, ends=True) if rest else ()), *self.idle()]

    def _given(self, data: bytes, *, ends: bool) -> list[Line]:
        """The lines in the bytes up to the next newline, which may not be there yet."""
        lines = []
        while len(data) > _LONGEST:
            at = _LONGEST
            while at > _LONGEST - 4 and data[at] & 0xC0 == 0x80:  # inside a character
                at -= 1
            lines += [*self.idle(), Line(_text(data[:at]), partial=True)]
            data, self._cut = data[at:], True
        if not ends:
            self._rest = data
        elif self._cut:
            self._cut = False
            lines.append(Line(_text(data)))
        else:
            lines += self._whole(_text(data).removesuffix("\r"))
        return lines

    def _whole(self, text: str) -> list[Line]:
        before, mark, after = text.partition(MARK)
        ours = marked(after) if mark else None
        if ours is not None:
            # Another thread may have left a line without an end.
            return [*self.idle(), *([_raw(before)] if before else []), ours]
        if self._after is not None and (text == _TRACEBACK or _raw(text).severity):
            return [*self.idle(), *self._whole(text)]
        if self._held:
            self._hold(text)
            size = sum(len(line) + 1 for line in (*self._held, *(self._after or ())))
            return [] if size < _LONGEST else self.idle()
        if text == _TRACEBACK:
            self._held.append(text)
            return []
        return [_raw(text)]

    def _hold(self, text: str) -> None:
        if self._after is not None:
            if text in _CHAINS and self._after[-1:] == [""]:
                self._held += [*self._after, text]
                self._after, self._opening = None, True
            else:
                self._after.append(text)
            return
        self._held.append(text)
        self._opening = self._opening and text in ("", _TRACEBACK)
        if not (self._opening or text.startswith(" ")):
            self._after = []


class Output:
    """The pipes for a child's stdout and stderr, and the thread that reads them."""

    def __init__(self, take: Callable[[Line, str], None]) -> None:
        self._take = take
        self._reads: dict[int, str] = {}
        self._taken = 0
        self.ends: list[int] = []
        """Where the child writes: stdout, stderr. Close them here once the child has them."""
        for stream in ("stdout", "stderr"):
            read, write = os.pipe()
            self._reads[read] = stream
            self.ends.append(write)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        """Close our copies of the child's ends, and read."""
        for end in self.ends:
            os.close(end)
        self._thread.start()

    def drain(self, quiet: float, most: float) -> None:
        """Wait until all is read and written, unless another process still holds a pipe.

        So it ends after `quiet` seconds in which no line came, and in any case after `most`.
        """
        deadline = time.monotonic() + most
        while self._thread.is_alive() and time.monotonic() < deadline:
            before = self._taken
            self._thread.join(min(quiet, max(0.0, deadline - time.monotonic())))
            if self._taken == before:
                return

    def _run(self) -> None:
        # If the log can't be written, the pipes close, and the child learns of it as it would
        # without them: by its next print.
        with contextlib.ExitStack() as at_end:
            selector = at_end.enter_context(selectors.DefaultSelector())
            for read, stream in self._reads.items():
                at_end.callback(os.close, read)
                selector.register(read, selectors.EVENT_READ, (stream, Lines()))
            with contextlib.suppress(OSError):
                self._read(selector)

    def _read(self, selector: selectors.BaseSelector) -> None:
        since: dict[int, float] = {}  # when what is held began
        while selector.get_map():
            ready = selector.select(HOLD_SECONDS if since else None)
            for key, _ in ready:
                stream, lines = key.data
                data = os.read(key.fd, 65536)
                self._write(lines.feed(data) if data else lines.end(), stream)
                if not data:
                    selector.unregister(key.fd)
            now = time.monotonic()
            for key in selector.get_map().values():
                stream, lines = key.data
                if not ready or now - since.get(key.fd, now) > MOST_SECONDS:
                    self._write(lines.idle(), stream)
                if lines.holds:
                    since.setdefault(key.fd, now)
                else:
                    since.pop(key.fd, None)

    def _write(self, lines: list[Line], stream: str) -> None:
        for line in lines:
            self._take(line, stream)
            self._taken += 1


def _raw(text: str) -> Line:
    """A line of somebody's, with its severity where it says one."""
    letter = _SAYS_LETTER.match(text)
    if letter is not None:
        return Line(text, _LETTERS[letter[1] or letter[2]])
    word = _SAYS_WORD.match(text)
    if word is not None:
        return Line(text, word[1])
    return Line(text, WARNING if _WARNS.match(text) else None)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
