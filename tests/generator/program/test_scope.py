"""The tool and Python agree on which names a function binds. Python's `symtable` is the judge."""

from __future__ import annotations

import ast
import symtable
import sys

import pytest
from tf_cluster.program.scope import names_in_function

BODIES = (
    "a = b = 1",
    "a, (b, *c) = d",
    "a: int = 1",
    "a.b = c[d] = 1",
    "a += 1",
    "del a",
    "import a.b, c.d as e",
    "from a import b, c as d",
    "for a, b in c: d = 1\nelse: e = 1",
    "while a: b = 1",
    "with a as b, c as (d, e): f = 1",
    "try: a = 1\nexcept E as b: c = 1\nelse: d = 1\nfinally: e = 1",
    "if (a := 1): b = [(c := d) for d in e]",
    "return {a: b for a, b in c}",
    "return lambda a: b",
    "def a(b, c=(d := 1)): e = 1",
    "@(a := b)\ndef c(): ...",
    "class a((b := c), metaclass=(d := e)): f = 1",
    "def a() -> (b := c): nonlocal_ = 1",
    "match a:\n    case [b, *c] if (d := 1): e = 1\n    case {'x': f, **g}: ...\n"
    "    case h() | i.j: ...\n    case k: ...",
    "global a\na = 1",
    "global a",
    "return a",
)
HEADS = ("", "a", "a, /, b, *c, d=1, **e", "x=(y := 1)", "self, *, key")
FUNCTIONS = [
    (head, body)
    for head in HEADS
    for body in BODIES
    if not ("global a" in body and head[:1] == "a")  # no valid Python
]


@pytest.mark.parametrize(("head", "body"), FUNCTIONS)
def test_a_function_binds_the_names_that_python_says(head: str, body: str) -> None:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"def function({head}):\n{lines}"

    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)

    assert names_in_function(function) == _bound(text)


if sys.version_info >= (3, 12):

    @pytest.mark.parametrize("text", ["def f():\n    type a = int", "def f[T](a: T): ..."])
    def test_newer_words_bind_names_too(text: str) -> None:
        (function,) = ast.parse(text).body
        assert isinstance(function, ast.FunctionDef)

        assert "a" in names_in_function(function)
        assert ("T" in names_in_function(function)) == ("T" in text)


def test_what_a_function_shares_with_the_one_around_it_is_bound() -> None:
    (outer,) = ast.parse("def f():\n    a = 1\n    def g():\n        nonlocal a\n").body
    assert isinstance(outer, ast.FunctionDef)
    inner = outer.body[1]
    assert isinstance(inner, ast.FunctionDef)

    assert names_in_function(outer) == {"a", "g"}
    assert names_in_function(inner) == {"a"}


@pytest.mark.parametrize("text", ["lambda a, *b: (c := d)", "lambda: [(e := f) for f in g]"])
def test_a_lambda_binds_the_names_that_python_says(text: str) -> None:
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.Lambda)

    assert names_in_function(node) == _bound(text)


def _bound(text: str) -> set[str]:
    """What Python says of the first function of a text."""
    (table,) = symtable.symtable(text, "f.py", "exec").get_children()
    return {
        one.get_name() for one in table.get_symbols() if one.is_local() or one.is_declared_global()
    }
