"""Modules that are kept, so that many params files read one program once."""

from __future__ import annotations

import pytest
from tf_cluster.program import known
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.scope import Module


@pytest.fixture(autouse=True)
def _none_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "_KEPT", known._Kept())


def read(name: str, raw: bytes) -> Module | NotParsed:
    return known.module_of(name, f"{name}.py", f"/{name}.py", raw, is_package=False)


def test_a_module_is_read_once() -> None:
    assert read("a", b"A = 1") is read("a", b"A = 1")
    assert read("a", b"A = 1") is not read("a", b"A = 2")


def test_a_module_over_the_bound_is_not_kept_and_puts_no_other_out() -> None:
    small, large = read("a", b"A = 1"), b"A = 1\n" * 11_000

    assert read("large", large) is not read("large", large)
    assert read("a", b"A = 1") is small


def test_empty_modules_take_a_place_too() -> None:
    first = read("first", b"")
    for number in range(1_000):
        read(f"m{number}", b"")

    assert len(known._KEPT.modules) == 250
    assert read("first", b"") is not first


def test_the_module_that_was_used_longest_ago_goes() -> None:
    code = b"A = 1\n" * 3_000
    a, b = read("a", code), read("b", code)
    read("c", code)
    assert read("a", code) is a
    read("d", code)

    assert read("a", code) is a
    assert read("b", code) is not b
