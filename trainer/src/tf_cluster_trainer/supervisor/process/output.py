"""What a child prints, line by line: read from two pipes, written as records."""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import threading
from collections.abc import Callable

from tf_cluster_trainer.log import CRITICAL, ERROR, INFO, LONGEST, MARK, WARNING, Line, marked

HOLD_SECONDS = 0.5
_LONGEST = LONGEST + 200  # bytes of a line: a record of `log` has room in it
_TRACEBACK = "Traceback (most recent call last):"
_LETTERS = {"D": "DEBUG", "I": INFO, "W": WARNING, "E": ERROR, "F": CRITICAL}
_SAYS_LETTER = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+: ([IWEF]) "  # TensorFlow's C++
    r"|([DIWEF])\d{4} \d\d:\d\d:[\d.]+ "  # absl, in C++ and in Python
)
_SAYS_WORD = re.compile(r"(DEBUG|INFO|WARNING|ERROR|CRITICAL):[^:]+:")  # Python's logging
_WARNS = re.compile(r"\S+:\d+: \w*Warning: ")  # Python's warnings


class Lines:
    """The lines in a stream of bytes.

    A line longer than _LONGEST bytes comes in pieces. A traceback of Python's is one line: it is
    held until its last line, which is not indented, or until `idle`.
    """

    def __init__(self) -> None:
        self._rest = b""
        self._cut = False  # the last line given was a piece, and its end is still to come
        self._held: list[str] = []

    @property
    def holds(self) -> bool:
        """Whether a traceback waits for its last line."""
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
        held, self._held = self._held, []
        return [Line("\n".join(held), ERROR)] if held else []

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
        if self._held:
            self._held.append(text)
            within = text.startswith(" ") and sum(map(len, self._held)) < _LONGEST
            return [] if within else self.idle()
        if text == _TRACEBACK:
            self._held.append(text)
            return []
        return [_raw(text)]


class Output:
    """The pipes for a child's stdout and stderr, and the thread that reads them."""

    def __init__(self, take: Callable[[Line, str], None]) -> None:
        self._take = take
        self._reads: dict[int, str] = {}
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

    def drain(self, seconds: float) -> None:
        """Wait until all is read and written, unless another process still holds a pipe."""
        self._thread.join(max(0.0, seconds))

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
        while selector.get_map():
            holds = any(key.data[1].holds for key in selector.get_map().values())
            ready = selector.select(HOLD_SECONDS if holds else None)
            if not ready:
                for key in selector.get_map().values():
                    stream, lines = key.data
                    self._write(lines.idle(), stream)
            for key, _ in ready:
                stream, lines = key.data
                data = os.read(key.fd, 65536)
                self._write(lines.feed(data) if data else lines.end(), stream)
                if not data:
                    selector.unregister(key.fd)

    def _write(self, lines: list[Line], stream: str) -> None:
        for line in lines:
            self._take(line, stream)


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
