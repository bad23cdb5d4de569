"""Types plain scalars as Helm does, and names those that other YAML readers type otherwise.

Helm's reader (go.yaml.in/yaml/v2 below sigs.k8s.io/yaml) differs from PyYAML: `1e-4` is a number,
`1:30` and `2024-01-01` are strings, `y` is true.
"""

import re
from typing import NamedTuple

from tf_cluster.findings.finding import Code

AMBIGUOUS = Code(
    "TFC106",
    "YAML readers disagree on this value",
    why=(
        "Helm reads `yes` as true and `017` as 15; other readers read a text and 17. The "
        "training would not get what the file seems to say."
    ),
    wrong="train: {xla: yes}",
    right="train: {xla: true}",
)
NOT_FINITE = Code(
    "TFC107",
    "a number is infinite or not a number",
    why="Values travel as JSON, which has no infinity and no NaN.",
    wrong="flags: {limit: .inf}",
    right="flags: {limit: 1.0e+30}",
)
TOO_LARGE_NUMBER = Code(
    "TFC109",
    "a whole number that Helm can't keep exactly",
    why="Helm keeps numbers as floats. Above 2^53 the last digits change without a word.",
    wrong="flags: {id: 9007199254740993}",
    right="flags: {id: '9007199254740993'}",
)

LARGEST_EXACT = 2**53
"""Helm carries numbers as float64: whole numbers beyond this lose digits."""


class Scalar(NamedTuple):
    """A plain scalar as Helm types it, and, with a `code`, what is wrong with it.

    `meant` says how to write that value clearly; empty if there is no such way. `clear` is the
    value so written, if only its form was unclear.
    """

    value: str | int | float | bool | None
    code: Code | None = None
    problem: str = ""
    meant: str = ""
    fix: str = ""
    clear: str = ""


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_YES = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_NO = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FRACTION = re.compile(r"\.[0-9](_?[0-9])*([eE][-+]?[0-9](_?[0-9])*)?")
_PLAIN_TEXT = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_MOST_DIGITS = 300  # more digits than any float; Python's limit is 4,300
_LONGEST_QUOTED = 100
_LEADING_ZERO = re.compile(r"[-+]?0[0-9oO].*")  # 017 is 15, 0o17 is 15, 08 is 8


def scalar(text: str) -> Scalar:
    """Type a plain scalar as Helm does; whole floats are integers, as Helm's JSON has them."""
    if text in _WORDS:
        return Scalar(_WORDS[text])
    if text in _YES or text in _NO:
        word = "true" if text in _YES else "false"
        return _ambiguous(text in _YES, word, text)
    if _NOT_FINITE.fullmatch(text):
        return _not_finite("values files can't hold it", "write a number")
    if text[0] in "+-.0123456789":
        return _number(text)
    return Scalar(text)


def quoted(text: str) -> str:
    """A text of one line in YAML's quotes, for words: a long one is left out."""
    return in_quotes(text) if len(text) <= _LONGEST_QUOTED else "'…'"


def in_quotes(text: str) -> str:
    """A text of one line as YAML."""
    return "'" + text.replace("'", "''") + "'"


def unquoted(text: str) -> str:
    """A text of one line as YAML, without quotes where every reader takes it for that text."""
    typed = scalar(text)
    is_text = isinstance(typed.value, str) and not typed.code
    return text if is_text and _PLAIN_TEXT.fullmatch(text) else in_quotes(text)


def _number(text: str) -> Scalar:
    if text.startswith(".") and not _FRACTION.fullmatch(text):
        return Scalar(text)
    plain = text.replace("_", "")
    number: int | float
    if _INTEGER.fullmatch(plain):
        if len(plain) > _MOST_DIGITS:
            return _not_finite("too large for a number", "write a smaller one")
        number = _integer(plain)
    elif _FLOAT.fullmatch(plain):
        number = float(plain)
        if number in (float("inf"), float("-inf")):
            return _not_finite("too large for a number", "write a smaller one")
        if number.is_integer() and abs(number) <= LARGEST_EXACT:
            number = int(number)
    else:
        return Scalar(text)
    if _LEADING_ZERO.fullmatch(plain):
        return _ambiguous(number, str(number), text)
    if isinstance(number, int) and abs(number) > LARGEST_EXACT:
        problem = "Helm keeps whole numbers exactly only up to 2^53"
        meant, fix = "write a smaller one", "write it in quotes, as a text"
        return Scalar(number, TOO_LARGE_NUMBER, problem, meant, fix)
    return Scalar(number)


def _ambiguous(value: float | bool, word: str, text: str) -> Scalar:
    meant = f"write {word}"
    fix = f"{meant}, or {quoted(text)} in quotes for the text"
    return Scalar(value, AMBIGUOUS, "Helm reads it as " + word, meant, fix, word)


def _not_finite(problem: str, fix: str) -> Scalar:
    return Scalar(None, NOT_FINITE, problem, fix, fix)


def _integer(plain: str) -> int:
    digits = plain.lstrip("+-")
    sign = -1 if plain.startswith("-") else 1
    if digits[:2].lower() in ("0x", "0b", "0o"):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)
