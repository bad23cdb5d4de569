"""What no Python reads is found, past the grammar too; the compiler itself is the judge."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import pytest
from tf_cluster.check import check
from tf_cluster.program.parse import NotParsed, parsed

WRONG = (
    *("return 1", "if 1:\n return", "class A:\n return 1", "break", "for x in y:\n pass\ncontinue"),
    *("yield 1", "await x", "def f(): await x", "async with x: pass", "async for x in y: pass"),
    *("def f(a, a): pass", "lambda a, a: 1", "def f(self, ctx, *, ctx=1): pass", "f(a=1, a=2)"),
    *("def f():\n x = 1\n global x", "def f():\n print(x)\n global x", "def f(x):\n global x"),
    *("nonlocal x", "def f():\n nonlocal x", "def f():\n x: int\n global x", "*a = 1"),
    *("x = 1\nfrom __future__ import annotations", "from __future__ import nothing"),
    *("def f():\n from a import *", "try: pass\nexcept: pass\nexcept A: pass", "*a, *b = c"),
    *("[x := 1 for x in y]", "class A:\n [j := 1 for i in y]", "[(yield) for x in y]"),
    *("async def f():\n yield 1\n return 2", "async def f():\n yield from x"),
)
GOOD = (
    *(
        "def f():\n return",
        "lambda: (yield)",
        "while 1:\n break\nelse:\n pass",
        "async def f(): await x",
    ),
    *("x is 1", "assert (1, 2)", "print('\\d')", "def f():\n try: return\n finally: g()"),
    *("for x in y:\n try: pass\n finally: continue", "def f():\n def g(): nonlocal x\n x = 1"),
    *(
        '"""Text."""\nfrom __future__ import annotations',
        "global x\nx = 1",
        "a, *b = c",
        "from a import *",
    ),
)


@pytest.mark.parametrize("text", WRONG)
def test_what_the_compiler_refuses_is_sure(text: str) -> None:
    ast.parse(text)
    with pytest.raises(SyntaxError):
        compile(text, "x", "exec", dont_inherit=True)

    wrong = parsed(text.encode())

    assert isinstance(wrong, NotParsed)
    assert wrong.certain


@pytest.mark.parametrize("text", GOOD)
def test_what_the_compiler_takes_is_read(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(parsed(text.encode()), ast.Module)


def test_what_one_python_alone_refuses_is_read() -> None:
    text = "async def f():\n return [[await x for x in y] for z in w]"  # from 3.11 on

    assert isinstance(parsed(text.encode()), ast.Module)


@pytest.mark.parametrize("program", ["script: train.py", "module: 'train:Net'"])
def test_a_return_outside_a_function_is_told_with_its_place(program: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import sys\n\nif len(sys.argv) > 9:\n    return\n")
    text = f"name: a\nimage: r/i:1\nprogram: {{{program}, source: {{files: [train.py]}}}}\n"

    (finding,) = check("p.yaml", text.encode(), folder=tmp_path).findings

    assert (finding.code, finding.severity) == ("TFC501", "error")
    assert finding.message == "train.py:4:5: 'return' outside function"
