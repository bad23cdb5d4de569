"""Modules of the program's own packages that it surely imports, and that were forgotten."""

import ast
import re
from collections.abc import Iterator

from tf_cluster.program.image_imports import image_imports
from tf_cluster.program.resolve import Code, Missing, is_standard
from tf_cluster.program.roots import Texts
from tf_cluster.program.scope import Function, Module
from tf_cluster.program.tree import named_modules

_MOST = 20
# With one of these in any file, modules may come from elsewhere.
_OTHER_WAYS = re.compile(r"\bmodules\b|__path__|meta_path|path_hooks|__import__|\bexec\b|importlib")
_QUIET = (ast.Import, ast.ImportFrom, *Function, ast.ClassDef, ast.Assign, ast.AnnAssign, ast.Pass)


def missing_imports(code: Code, module: Module) -> Iterator[tuple[str, str]]:
    """Modules that are not in a package of the source: each with the place of its import."""
    first = code.roots[0]
    if not (isinstance(first, Texts) and first.certain):
        return
    if any(_OTHER_WAYS.search(text) for text in first.texts.values()):
        return
    told: set[str] = set()
    for statement in _first_imports(module):
        for name in named_modules(module, statement):
            top = name.partition(".")[0]
            if is_standard(top) or top in image_imports() or name in told or len(told) >= _MOST:
                continue
            if first.has_folder(top) and isinstance(code.module(name), Missing):
                told.add(name)
                yield name, module.place(statement)


def _first_imports(module: Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """The imports at the top: before anything that may make files, end, or depend on what runs."""
    for statement in module.tree.body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield statement
        is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        calls = isinstance(statement, (ast.Assign, ast.AnnAssign)) and any(
            isinstance(node, ast.Call) for node in ast.walk(statement)
        )
        if calls or not (is_text or isinstance(statement, _QUIET)):
            return
