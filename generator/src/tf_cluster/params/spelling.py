"""Finds the word that a mistyped one stands for."""

from collections.abc import Iterable
from difflib import get_close_matches

_LONGEST = 64
"""Longest word that is compared: the time grows with the square of its length."""


def meant(word: str, words: Iterable[str]) -> str:
    """The one of `words` that `word` mistypes; empty if there are none or several.

    At most a third of its letters may be wrong: missing, added, another one, or two that have
    changed places.
    """
    if len(word) > _LONGEST:
        return ""
    limit = len(word) // 3
    near: dict[int, list[str]] = {}
    for other in words:
        if abs(len(other) - len(word)) <= limit:
            near.setdefault(_errors(word.lower(), other.lower()), []).append(other)
    least = min(near, default=limit + 1)
    return near[least][0] if least <= limit and len(near[least]) == 1 else ""


def close_to(word: str, words: Iterable[str]) -> str:
    """The one of `words` that looks most like `word`; empty where none does."""
    if len(word) > _LONGEST:
        return ""
    folded = {other.lower(): other for other in words}
    close = get_close_matches(word.lower(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def _errors(one: str, other: str) -> int:
    """The optimal string alignment distance of two words."""
    before: list[int] = []
    last = list(range(len(other) + 1))
    for i, letter in enumerate(one, 1):
        row = [i]
        for j, another in enumerate(other, 1):
            least = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (letter != another))
            if i > 1 and j > 1 and letter == other[j - 2] and one[i - 2] == another:
                least = min(least, before[j - 2] + 1)
            row.append(least)
        before, last = last, row
    return last[-1]
