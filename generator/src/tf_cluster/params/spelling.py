"""Finds the word that another one stands for."""

from collections.abc import Iterable
from typing import NamedTuple

from tf_cluster.params.synonyms import ALIKE, CLOSE, SAME

_LONGEST = 64
"""Longest word that is compared: the time grows with the square of its length."""


class Likely(NamedTuple):
    """The word that is meant. `sure`: the same word, written otherwise; else a guess."""

    word: str
    sure: bool


def likely(word: str, words: Iterable[object]) -> Likely | None:
    """The one of `words` that `word` stands for; None if there are none or several.

    It is the same but for capitals, `-` and `_`, or a synonym, or mistyped. A choice that is no
    text, as in `auto, true or false`, is none.
    """
    if len(word) > _LONGEST:
        return None
    known = [one for one in words if isinstance(one, str)]
    plain = folded(word)
    same = [other for other in known if folded(other) == plain]
    if len(same) == 1:
        return Likely(same[0], sure=True)
    for table, sure in ((SAME, True), (CLOSE, False)):
        for other in table.get(plain, ()):
            if other in known:
                return Likely(other, sure)
    if plain in ALIKE:
        return None
    near = meant(word, known)
    return Likely(near, sure=False) if near else None


def folded(word: str) -> str:
    """A word as the tables of synonyms have it."""
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")


def meant(word: str, words: Iterable[str]) -> str:
    """The one of `words` that `word` mistypes; empty if there are none or several.

    At most a third of its letters may be wrong: missing, added, another one, or two that have
    changed places.
    """
    if len(word) > _LONGEST:
        return ""
    least = len(word) // 3
    letters = set(word.lower())
    near: list[str] = []
    for fewest, other in sorted((_fewest(word, letters, other), other) for other in words):
        if fewest > least:
            break
        errors = _errors(word.lower(), other.lower(), least)
        if errors < least:
            near, least = [], errors
        if errors == least:
            near.append(other)
    return near[0] if len(near) == 1 else ""


def most_alike(word: str, words: Iterable[str]) -> str:
    """The one of `words` that looks most like `word`; empty where none does. A bold guess."""
    from difflib import get_close_matches  # most commands need none of it

    return next(iter(get_close_matches(word[:_LONGEST], list(words), n=1, cutoff=0.6)), "")


def _fewest(word: str, letters: set[str], other: str) -> int:
    """So many errors at least: each letter that only one of them has is one, seen at once."""
    others = set(other.lower())
    return max(len(letters - others), len(others - letters), abs(len(other) - len(word)))


def _errors(one: str, other: str, most: int) -> int:
    """The optimal string alignment distance of two words; more than `most` for a larger one."""
    # What both begin with, and what both end with, is right.
    same = _same(one, other)
    one, other = one[same:], other[same:]
    same = _same(one[::-1], other[::-1])
    one, other = one[: len(one) - same], other[: len(other) - same]
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, another in enumerate(other, 1):
            least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def _same(one: str, other: str) -> int:
    """How many letters two words begin with in common."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))
