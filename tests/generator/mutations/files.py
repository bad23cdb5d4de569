"""Params files as people, editors, templates and attackers break them, drawn from a seed."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable
from functools import cache

from tf_cluster.params.schema_files import params_schema, values_schema
from tf_cluster.params.schema_violations import key_paths
from tf_cluster.params.synonyms import CLOSE, ELSEWHERE, SAME, SENTENCES

from tests.generator.conftest import ROOT

Chance = random.Random

_PIECES = [
    *("null", "[]", "{}", "true", "1e400", "-1", "'x'", "yes", "~", "\t", "\x00", "\x85", "\u2028"),
    *(": ", "\n", "  ", "- ", "&a ", "*a", "!!x ", "!!str ", "<<: *a", "? ", "|\n", ">-\n", "..."),
    *("---\n", "'", '"', "{", "}", "[", "]", ",", "#", "%", "@", "\\", "\r", "\u202e", "😀", "::"),
    *("99999999999999999999", "0.5", "017", "1.10", "0x10", "1_000", "2 cores", "RWX", "fp16"),
    *("{{ name }}", "{% if x %}", "${NAME}", "<<<<<<< HEAD\n", "=======\n", ">>>>>>> x\n"),
    *("\x1b[31m", "\n::error ::x\n", "##[error]x", "##vso[x]", "\ufeff", "\u200b", "\udfff"),
    "\nextraValues: {run: {id: 3}, train: {steps: x, checkpoint: 4}}",
    "\nextraValues: {image: {repository: q}, worker: 3, ps: null, fullnameOverride: [1]}",
    "\nextraValues: {train: {optimizer: {momentum: a}}, ps: {resources: {requests: [1]}}}",
    "\na: &a {b: [1, 2]}\nc: *a\nd: [*a, *a]\n",
    "\napiVersion: v1\nkind: ConfigMap\n",
]
_WORDS = [*SAME, *CLOSE, *ELSEWHERE, *SENTENCES, "batch_size", "learning_rate", "nmae", "notebook"]
_VALUES = [
    *("yes", "off", "017", "0x1F", "1.10", "'3'", "'017'", "'yes'", "1e400", "1e3", "-0", ".5"),
    *("[a]", "{a: b}", "[]", "{}", "", "null", "'null'", "adam", "rwx", "[RWX, ROX]", "train.py"),
    *("p.m.C", "p.m:C", "My Name", "2Gi", "my-claim", "2026-01-01", "1:30", '"a\\u0001b"', "|"),
    *("9" * 5_000, "x" * 3_000, "!!str 5", "!!map {a: 1}", "&b 5", "*b", "{{ n }}", "'{{ n }}'"),
]


@cache
def examples() -> list[str]:
    """The texts of the examples, and what they do not have."""
    files = sorted((ROOT / "values-examples").glob("*.params.yaml"))
    return [*(file.read_text() for file in files), *map(json.dumps, ({"name": "a"}, _ODD))]


_ODD = {
    "nmae": "a",
    "image": "r/i:1",
    "program": {"module": "p.m:C"},
    "workers": "3",
    "update": "synchronous",
    "train": {"stpes": "017", "optimizer": "adam", "xla": "on"},
    "extraValues": {"wroker": {"replicas": "3", "extraEnv": [{"nmae": "A", "value": 1}]}},
}


@cache
def _known_keys() -> list[str]:
    paths = [*key_paths(params_schema()), *key_paths(values_schema())]
    return sorted({str(path[-1]) for path in paths})


def mutated(chance: Chance) -> bytes:
    """One file: an example with a few mistakes, or nothing but chance."""
    if chance.random() < 0.05:
        return chance.choice(_FROM_NOTHING)(chance)
    text = chance.choice(examples())
    for _ in range(chance.choice((1, 1, 2, 3, 5, 20))):
        text = chance.choice(_MISTAKES)(text, chance)
    raw = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.05:
        raw = raw.replace(b"\n", b"\r\n")
    if chance.random() < 0.03:
        raw = b"\xef\xbb\xbf" + raw
    if chance.random() < 0.03:
        place = chance.randrange(len(raw) + 1)
        raw = raw[:place] + chance.randbytes(chance.randint(1, 5)) + raw[place:]
    return raw


def _typed_wrong(word: str, chance: Chance) -> str:
    """A word with a letter missing, added, changed or out of its place."""
    at = chance.randrange(len(word))
    letter = chance.choice(string.ascii_letters + "_-")
    return chance.choice(
        (
            word[:at] + word[at + 1 :],
            word[:at] + letter + word[at:],
            word[:at] + letter + word[at + 1 :],
            word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :],
            word.upper(),
            re.sub("([A-Z])", r"_\1", word).lower(),
        )
    )


_KEY = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)(?=\"?:)")
_VALUE = re.compile(r"(?<=: )([^\n{}\[\]#,]+)")


def _at_a_match(
    pattern: re.Pattern[str], text: str, chance: Chance, new: Callable[[str], str]
) -> str:
    matches = list(pattern.finditer(text))
    if not matches:
        return text
    match = chance.choice(matches)
    return text[: match.start(1)] + new(match[1]) + text[match.end(1) :]


def _mistype_a_key(text: str, chance: Chance) -> str:
    return _at_a_match(_KEY, text, chance, lambda word: _typed_wrong(word, chance))


def _another_key(text: str, chance: Chance) -> str:
    words = chance.choice((_WORDS, _known_keys()))
    return _at_a_match(_KEY, text, chance, lambda _: chance.choice(words))


def _mistype_a_value(text: str, chance: Chance) -> str:
    return _at_a_match(_VALUE, text, chance, lambda word: _typed_wrong(word, chance))


def _another_value(text: str, chance: Chance) -> str:
    return _at_a_match(_VALUE, text, chance, lambda _: chance.choice(_VALUES))


def _a_line_more(text: str, chance: Chance) -> str:
    key = chance.choice((_WORDS, _known_keys()))
    line = f"{chance.choice(key)}: {chance.choice(_VALUES)}"
    lines = text.split("\n")
    at = chance.randrange(len(lines))
    indent = re.match(" *", lines[at])
    lines.insert(at, (indent[0] if indent else "") + line)
    return "\n".join(lines)


def _lines_moved(text: str, chance: Chance) -> str:
    lines = text.split("\n")
    one, other = (chance.randrange(len(lines)) for _ in range(2))
    how = chance.randrange(4)
    if how == 0:
        lines[one], lines[other] = lines[other], lines[one]
    elif how == 1:
        lines.insert(one, lines[other])
    elif how == 2:
        del lines[one]
    else:
        lines[one] = " " * chance.randint(1, 3) + lines[one]
    return "\n".join(lines)


def _cut(text: str, chance: Chance) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + text[at + chance.randint(1, 20) :]


def _a_piece_more(text: str, chance: Chance) -> str:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(_PIECES) + text[at:]


_MISTAKES = (
    *(_mistype_a_key, _another_key, _mistype_a_value, _another_value, _another_value),
    *(_a_line_more, _a_line_more, _lines_moved, _cut, _a_piece_more, _a_piece_more),
)


def _bytes(chance: Chance) -> bytes:
    return chance.randbytes(chance.randint(0, 400))


def _characters(chance: Chance) -> bytes:
    letters = string.printable + "\u2028\u202e\x85é東😀\x00"
    return "".join(chance.choices(letters, k=chance.randint(0, 400))).encode()


def _pieces(chance: Chance) -> bytes:
    pieces = chance.choices([*_PIECES, *_VALUES, *_known_keys()], k=chance.randint(1, 60))
    return "".join(pieces).encode("utf-8", "surrogatepass")


def _the_same_many_times(chance: Chance) -> bytes:
    piece = chance.choice([*_PIECES, *(f"{value}, " for value in _VALUES), "k: [", "- - "])
    number = min(chance.choice((50, 50, 1_000, 100_000)), 400_000 // max(1, len(piece)))
    key = chance.choice(_known_keys())
    return f"name: a\n{key}: {piece * number}\n".encode("utf-8", "surrogatepass")


def _many_lines(chance: Chance) -> bytes:
    key, value = chance.choice([*_WORDS, *_known_keys()]), chance.choice(_VALUES)
    head = chance.choice(("", "flags:\n", "extraValues:\n", "resources:\n", "extraValues:\n ps:\n"))
    indent = " " * 3 if head else ""
    number = min(
        chance.choice((100, 100, 100, 2_000, 20_000)), 400_000 // (len(key) + len(value) + 10)
    )
    return (head + "".join(f"{indent}{key}{i}: {value}\n" for i in range(number))).encode()


_FROM_NOTHING = (_bytes, _characters, _pieces, _pieces, _the_same_many_times, _many_lines)
