"""The word that a wrong one stands for, looked for in bounded time: code may have many words."""

from collections.abc import Iterable
from itertools import islice

from tf_cluster.params.spelling import likely, meant, most_alike
from tf_cluster.printable import cut

_MOST_WORDS = 300
_SHOWN = 12


def near(word: str, words: Iterable[str]) -> str:
    """The one that the word stands for, else the most alike; empty where none is.

    A guess that would be bold for a key does for an option: people shorten those.
    """
    some = list(islice(words, _MOST_WORDS))
    found = likely(word, some)
    if found:
        return found.word
    return most_alike(word, some)


def mistyped(word: str, words: Iterable[str]) -> str:
    """The one that is mistyped; empty where none is, or several."""
    return meant(word, islice(words, _MOST_WORDS))


def listed(words: Iterable[str]) -> str:
    """The words, or the first of them; `none` where there are none."""
    some = [cut(word) for word in islice(words, _SHOWN + 1)]
    return ", ".join((*some[:_SHOWN], *("…" for _ in some[_SHOWN:]))) or "none"
