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
    |\[[^\n]{0,500}\*\w                  # a[*b]
    |:[ ]*\*\w                           # *args: *T
    |\b[fF][rR]?['"]|\b[rR][fF]['"]      # f-strings: what may stand in them
    """,
    re.MULTILINE | re.VERBOSE,
)

# What the compilers of all Pythons from 3.10 to 3.13 refuse, in their words.
_REFUSED = re.compile(
    r"""'(return|yield|await)'[ ]outside[ ]function
    |'(await|async[ ]with|async[ ]for)'[ ]outside[ ]async[ ]function
    |'break'[ ]outside[ ]loop
    |'continue'[ ]not[ ]properly[ ]in[ ]loop
    |'yield'[ ]inside[ ].*
    |'yield[ ]from'[ ]inside[ ]async[ ]function
    |'return'[ ]with[ ]value[ ]in[ ]async[ ]generator
    |duplicate[ ]argument[ ].*
    |keyword[ ]argument[ ]repeated:[ ].*
    |name[ ]'.*'[ ]is[ ](assigned[ ]to|used[ ]prior[ ]to|parameter[ ]and|nonlocal[ ]and)[ ].*
    |nonlocal[ ]declaration[ ]not[ ]allowed[ ]at[ ]module[ ]level
    |no[ ]binding[ ]for[ ]nonlocal[ ].*
    |annotated[ ]name[ ]'.*'[ ]can't[ ]be[ ](global|nonlocal)
    |from[ ]__future__[ ]imports[ ]must[ ]occur[ ].*
    |future[ ]feature[ ].*[ ]is[ ]not[ ]defined
    |import[ ]\*[ ]only[ ]allowed[ ]at[ ]module[ ]level
    |default[ ]'except:'[ ]must[ ]be[ ]last
    |starred[ ]assignment[ ]target[ ].*
    |multiple[ ]starred[ ]expressions[ ]in[ ]assignment
    |assignment[ ]expression[ ](cannot|within)[ ].*
    """,
    re.VERBOSE,
)
# Python writes no number of more than 4,300 decimal digits as text.
_LONG_NUMBER = re.compile(rb"0[xX][0-9a-fA-F_]{3000}|0[oO][0-7_]{4000}|0[bB][01_]{12000}")
_MOST_DOTS = 500  # of a line with an import: Python takes the square of their number
_EXITS = (ast.Return, ast.Break, ast.Continue)
_MOST_COPIED = 20_000  # nodes of a tree that the compiler takes a second time


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
    if _LONG_NUMBER.search(raw):
        return NotParsed("it has a number of thousands of digits", _START, certain=False)
    if any(_is_long_import(line) for line in raw.replace(b"\\\n", b"").split(b"\n")):
        return NotParsed("it imports a name of hundreds of parts", _START, certain=False)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(raw)
            return _refused(tree) or tree
    except SyntaxError as error:
        return _not_parsed(error, raw)
    except (RecursionError, MemoryError):
        return NotParsed("it is nested too deeply to be read", _START, certain=False)
    except (ValueError, LookupError, OverflowError) as error:
        return NotParsed(f"it can't be read: {error}", _START, certain=False)


def _is_long_import(line: bytes) -> bool:
    return b"import" in line and line.count(b".") > _MOST_DOTS


def _refused(tree: ast.Module) -> NotParsed | None:
    """What each Python's compiler surely refuses of a tree; None if it takes it, or may."""
    if not _is_compiled_soon(tree):
        return None
    try:
        compile(tree, "program", "exec", dont_inherit=True)
    except SyntaxError as error:
        words = error.msg or ""
        place = Place(max(1, error.lineno or 1), max(1, error.offset or 1))
        return NotParsed(words, place, certain=True) if _REFUSED.fullmatch(words) else None
    except (RecursionError, MemoryError, ValueError, OverflowError, SystemError):
        return None
    return None


def _is_compiled_soon(tree: ast.Module) -> bool:
    """Whether the code is not much longer than its tree.

    What stands below `finally` is compiled for each way out of its `try`: nested, that doubles.
    """
    sizes: dict[ast.AST, int] = {}
    exits: dict[ast.AST, int] = {}
    nodes = list(ast.walk(tree))
    for node in reversed(nodes):  # what is inside a node comes before it
        inner = list(ast.iter_child_nodes(node))
        size = 1 + sum(sizes[one] for one in inner)
        ways = isinstance(node, _EXITS) + sum(exits[one] for one in inner)
        final: list[ast.stmt] = getattr(node, "finalbody", [])
        if final:
            own = sum(exits[one] for one in final)
            copies = 1 + ways - own
            size += copies * sum(sizes[one] for one in final)
            ways += copies * own
        if size > _MOST_COPIED + len(nodes):
            return False
        sizes[node], exits[node] = size, ways
    return True


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
