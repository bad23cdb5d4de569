"""From the bytes of a file of code to its syntax tree, whatever the bytes are."""

import ast
import re
import sys
import warnings
from dataclasses import dataclass

from tf_cluster.findings.finding import Place

# Encodings whose decoders take time in proportion to the text. The others (punycode, one of them)
# may take its square.
_PLAIN_ENCODING = re.compile(
    r"(utf[-_]?8([-_]sig)?|u8|(us[-_]?)?ascii|latin[-_]?1|iso[-_]?8859[-_]?\d{1,2}"
    r"|(cp|windows[-_]?)12\d\d|koi8[-_]?[ru]|euc[-_]?(jp|kr)|shift[-_]?jis|gbk|gb2312|gb18030|big5)",
    re.ASCII | re.IGNORECASE,
)
_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)", re.ASCII)
_NEWEST = (3, 13)  # the images' newest Python; its grammar holds that of the older ones
# What Pythons up to the newest read and an older one may not, wherever it stands in a file.
_NEWER = re.compile(
    r"""^[ \t]*type[ ]+\w+[ ]*[\[=]      # type X = …
    |\bexcept[ ]*\*                      # except* E
    |\b(?:def|class)[ ]+\w+[ ]*\[        # def f[T](), class C[T]
    |\[[^\]\n]*\*\w                      # a[*b]
    |:[ ]*\*\w                           # *args: *T
    |\b[fF][rR]?['"]|\b[rR][fF]['"]      # f-strings: what may stand in them
    """,
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True)
class NotParsed:
    """Code without a tree. `certain`: no Python of an image reads it either."""

    why: str
    place: Place
    certain: bool


_START = Place(1, 1)


def parsed(raw: bytes) -> ast.Module | NotParsed:
    """The tree of a file; what is wrong with it otherwise. Raises nothing."""
    if b"\0" in raw:
        return NotParsed("it has a NUL in it", _START, certain=False)
    for line in raw.split(b"\n", 2)[:2]:
        cookie = _COOKIE.match(line)
        if cookie and not _PLAIN_ENCODING.fullmatch(cookie[1].decode("ascii")):
            why = f"its encoding is {cookie[1].decode('ascii')}"
            return NotParsed(why, _START, certain=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(raw)
    except SyntaxError as error:
        return _not_parsed(error, raw)
    except (RecursionError, MemoryError):
        return NotParsed("it is nested too deeply to be read", _START, certain=False)
    except (ValueError, LookupError, OverflowError) as error:
        return NotParsed(f"it can't be read: {error}", _START, certain=False)


def _not_parsed(error: SyntaxError, raw: bytes) -> NotParsed:
    place = Place(max(1, error.lineno or 1), max(1, error.offset or 1))
    words = error.msg or "invalid syntax"
    if "Missing parentheses in call to" in words:
        return NotParsed(f"{words} This is Python 2", place, certain=True)
    return NotParsed(words, place, certain=_is_certain(words, raw))


def _is_certain(words: str, raw: bytes) -> bool:
    """Whether it is wrong in the Python of every image, and not a limit of this one."""
    limits = ("encoding", "Exceeds the limit", "too many", "too complex", "nested", "unicode error")
    if any(limit in words for limit in limits):
        return False
    if sys.version_info[:2] > _NEWEST:
        return False
    if sys.version_info[:2] == _NEWEST:
        return True
    return not _NEWER.search(raw.decode("utf-8", errors="replace"))
