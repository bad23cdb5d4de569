"""Makes foreign text safe to print: it can't control a terminal or a CI runner."""

import re
import unicodedata

# Controls, invisible formats (bidirectional overrides, for one), lone surrogates, line breaks.
_UNSAFE = ("Cc", "Cf", "Cs", "Zl", "Zp")
_BLANK = "\u115f\u1160\u3164\uffa0"  # fillers of Hangul: letters that draw as nothing
_JOINERS = "\u200c\u200d"  # parts of emoji and of some scripts
# GitHub's runner obeys lines that begin with `::`, and `##[` anywhere; Azure's obeys `##vso[`.
_COMMAND = "::"
OLD_COMMAND = re.compile(r"##(?=[A-Za-z]*\[)")
"""A command anywhere in a line."""
_NOT_ASCII = re.compile(r"[^\n -~]")  # nor a control character


def printable(text: str, keep: str = "") -> str:
    r"""One line for people: what is unsafe stands there as Python escapes it (`\x1b`, `\u2028`)."""
    line = "".join(c if c in keep or not _is_unsafe(c) else _escaped(c) for c in text)
    line = OLD_COMMAND.sub(r"#\\x23", line)
    if line.lstrip().startswith(_COMMAND):
        line = line.replace(_COMMAND, r"\x3a:", 1)
    return line


def printable_lines(text: str) -> str:
    r"""Lines for people, each made printable by itself; `\n` ends them and tabs stay."""
    return "\n".join(printable(line, keep="\t") for line in text.split("\n"))


def escaped_json(text: str) -> str:
    r"""Equal JSON text, with unsafe characters in its strings as `\u…`."""
    safe = "".join(c if c == "\n" or not _is_unsafe(c) else _escaped_in_json(c) for c in text)
    return OLD_COMMAND.sub(r"#\\u0023", safe)


def escaped_yaml(text: str) -> str:
    r"""Equal YAML text, with unsafe characters as `\x…` and `\u…`.

    Those may stand in double quotes only; `\n` between tokens stays.
    """
    safe = _NOT_ASCII.sub(lambda c: _escaped(c[0]) if _is_unsafe(c[0]) else c[0], text)
    return OLD_COMMAND.sub(r"#\\x23", safe)


def _is_unsafe(character: str) -> bool:
    if " " <= character <= "~":
        return False
    if character in _BLANK:
        return True
    return unicodedata.category(character) in _UNSAFE and character not in _JOINERS


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _escaped_in_json(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2))


def cut(text: str, limit: int = 60) -> str:
    """The text, or its beginning when it has more than `limit` characters."""
    return text if len(text) <= limit else text[: limit - 1] + "…"
