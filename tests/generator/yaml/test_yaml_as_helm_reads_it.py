"""What we write and what we read have the types that the real helm gives them."""

from __future__ import annotations

import itertools
import random
import unicodedata
from typing import Any

import pytest
import yaml
from tf_cluster.yaml.helm_scalars import AMBIGUOUS, NOT_FINITE, scalar
from tf_cluster.yaml.reader import read_document
from tf_cluster.yaml.writer import yaml_text

from tests.generator.helm_reader import HelmReader

_TOKENS = (
    "y Y n N yes Yes No ON off null Null NULL ~ true True TRUE t T inf Infinity nan .inf -.INF "
    "1e-4 1e3 7e5 12e03 08 017 0o17 0x1F 0b11 1:30 1:30:00 2024-01-01 2024-01-01T00:00:00Z 1_000 "
    "+1 +.5 -.5e3 .5 .5e3 ._5 .5_0 1. 0.1e 0xg 1__0 _1 +0x1F -0b11 0o8 << = - ? 10e808 0_1 -_1 .nan"
)
_TRICKY = tuple(_TOKENS.split())


def _short_texts(alphabet: str, longest: int) -> list[str]:
    return ["".join(t) for n in range(longest + 1) for t in itertools.product(alphabet, repeat=n)]


def _random_texts(alphabet: str, count: int) -> list[str]:
    chance = random.Random(20260901)
    return ["".join(chance.choices(alphabet, k=chance.randint(1, 9))) for _ in range(count)]


def test_every_text_we_write_is_the_same_text_in_helm(helm_reader: HelmReader) -> None:
    letters = "01279eE+-._:xobn yYtT~<=&*!|>%@`#'\"\\,[]{}?\n\tä\u2028\x85\ufeff😀/"
    spaces = ["a\nb", "a\nb\n", "a\nb\n\n", " a\nb", "a \nb", "\n", "\na", "a: b", "a #b", ""]
    texts = [*_TRICKY, *spaces, *_short_texts("019eE+-._xobnyYtT~<= ", 2)]
    texts += _random_texts(letters, 20_000)

    read = helm_reader.read(yaml_text({"texts": texts}))["texts"]

    assert [(text, got) for text, got in zip(texts, read, strict=True) if text != got] == []


_SHOWN_RAW = "äß漢字한עعहि\u200c\u200d\u0301"
_INVISIBLE = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"]


def test_what_is_not_printable_is_written_as_an_escape_and_stays_equal(
    helm_reader: HelmReader,
) -> None:
    unsafe = [c for c in _INVISIBLE if c not in _SHOWN_RAW]
    assert len(unsafe) > 150 and {*"\u202e\u2066\u200b\u200f\u061c\xad"} < {*unsafe}
    texts = [f"a{c}{_SHOWN_RAW}\\{c}{many}" for c in unsafe for many in ("", "\nb\n")]
    document = {"texts": texts, "keys": {f"{c}k{'k' * 150}": c for c in unsafe}}

    written = yaml_text(document)

    assert [c for c in unsafe if c in written] == []
    assert _SHOWN_RAW in written
    assert yaml.safe_load(written) == document
    assert read_document("p", written.encode()).data == document
    assert helm_reader.read(written) == document


def test_every_key_we_write_is_the_same_key_in_helm(helm_reader: HelmReader) -> None:
    letters = "019eE+-._:xobn yYtT~<=#'\"\\,[]{}?\nä"
    keys = list(dict.fromkeys([*_TRICKY, *_random_texts(letters, 4_000)]))

    read = helm_reader.read(yaml_text({"keys": dict.fromkeys(keys, 1)}))["keys"]

    assert set(read) == set(keys)


def test_every_number_we_write_is_the_same_number_in_helm(helm_reader: HelmReader) -> None:
    numbers = [1e-4, 1e-7, 1.5e300, 0.1, 5e-324, 123456789012.5, 2**53, -(2**53), 1_000_000, 3, 0]

    assert helm_reader.read(yaml_text({"numbers": numbers}))["numbers"] == numbers


def _stands_alone(token: str) -> bool:
    """Whether YAML takes `- token` as a list of one plain scalar of just these characters."""
    try:
        node = yaml.compose(f"- {token}", Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return False
    item = node.value[0] if isinstance(node, yaml.SequenceNode) else None
    return isinstance(item, yaml.ScalarNode) and item.style is None and item.value == token


def _equal(ours: Any, helms: Any) -> bool:
    numbers = [isinstance(x, (int, float)) and not isinstance(x, bool) for x in (ours, helms)]
    if all(numbers):
        return float(ours) == float(helms)
    return type(ours) is type(helms) and bool(ours == helms)


def test_every_plain_scalar_is_typed_as_helm_types_it(helm_reader: HelmReader) -> None:
    tokens = [*_TRICKY, *_short_texts("0179eE+-._xoBn", 3)]
    tokens += _random_texts("01789eE+-._xobAfyYnNtT~:", 20_000)
    tokens = [t for t in dict.fromkeys(tokens) if _stands_alone(t)]
    ours = {t: scalar(t) for t in tokens if scalar(t).code != NOT_FINITE}

    read = helm_reader.read("tokens:\n" + "".join(f"- {token}\n" for token in ours))["tokens"]

    pairs = zip(ours.items(), read, strict=True)
    assert [(t, s, h) for (t, s), h in pairs if not _equal(s.value, h)] == []
    assert len(ours) > 10_000


@pytest.mark.parametrize("word", ["y", "Y", "yes", "No", "ON", "off"])
def test_a_word_that_only_some_readers_take_for_a_boolean_is_refused(word: str) -> None:
    document = read_document("p", f"flags: {{a: {word}}}".encode())

    assert [f.code for f in document.findings] == [AMBIGUOUS]
    assert f"'{word}' in quotes" in document.findings[0].fix


@pytest.mark.parametrize(("text", "value"), [("017", 15), ("0o17", 15), ("08", 8), ("-007", -7)])
def test_a_number_that_only_some_readers_take_for_decimal_is_refused(text: str, value: int) -> None:
    assert scalar(text).value == value
    assert scalar(text).code == AMBIGUOUS


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-4", 1e-4), ("1:30", "1:30"), ("2024-01-01", "2024-01-01"), ("=", "="), ("2e3", 2000)],
)
def test_what_pyyaml_types_otherwise_is_typed_as_in_yaml_1_2(text: str, value: object) -> None:
    assert scalar(text).value == value
    assert type(scalar(text).value) is type(value)
    assert not scalar(text).code


def test_a_quoted_scalar_is_always_text() -> None:
    data = read_document("p", b"a: '1'\nb: \"y\"\nc: !!str 5\nd: |\n  7\n").data

    assert data == {"a": "1", "b": "y", "c": "5", "d": "7\n"}
