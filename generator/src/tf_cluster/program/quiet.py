"""Statements after which the next one surely runs, and finds the same modules as before."""

import ast
from collections.abc import Iterator

from tf_cluster.program.image_imports import image_imports, uses_path
from tf_cluster.program.resolve import Code, Elsewhere, ValueHere
from tf_cluster.program.scope import Function, Module

_DEEPEST = 5
# Modules of Python itself whose functions make no files and end nothing, but for `_ACTS`.
_STANDARD = frozenset(
    (
        *("argparse", "builtins", "collections", "copy", "dataclasses", "datetime", "enum"),
        *("functools", "itertools", "json", "locale", "logging", "math", "operator", "pathlib"),
        *("platform", "random", "re", "string", "sys", "time", "typing", "uuid", "warnings"),
    )
)
_OF_OS = ("os.environ.", "os.path.", "os.getenv", "os.getcwd", "os.getpid", "os.cpu_count")
_MAY_INSTALL = frozenset(("pip", "pkg_resources", "setuptools"))
# What ends, makes files or runs other code, by the last word of its name.
_ACTS = frozenset(
    (
        *("exit", "_exit", "quit", "run", "main", "exec", "eval", "__import__", "open", "input"),
        *("breakpoint", "compile", "copy", "copy_v2", "move", "rename", "extract", "extractall"),
        *("get_file", "download", "install", "save", "write", "write_text", "write_bytes"),
        *("symlink_to", "hardlink_to", "replace", "touch", "unlink", "rmtree"),
        *("system", "popen", "spawn", "parse_args", "parse_known_args", "print_help", "error"),
    )
)
_ENDS = (ast.Raise, ast.Assert, ast.Return, ast.While, ast.Await, ast.Yield, ast.YieldFrom)


def is_quiet(code: Code, module: Module, statement: ast.stmt) -> bool:
    """Whether a statement ends nothing, and neither installs nor makes what is imported later."""
    if isinstance(statement, (*Function, ast.ClassDef)):
        return True
    return not any(
        isinstance(node, _ENDS)
        or uses_path(node)
        or (isinstance(node, ast.Call) and not _is_harmless(code, module, node.func))
        for node in _run_now(statement)
    )


def _run_now(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without the bodies of functions and classes."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (*Function, ast.ClassDef, ast.Lambda)):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _is_harmless(code: Code, module: Module, function: ast.expr) -> bool:
    name = _full_name(code, module, function)
    top, _, _ = name.partition(".")
    if not name or name.startswith("sys.path") or name.rpartition(".")[2].lower() in _ACTS:
        return False
    if top == "os":
        return name.startswith(_OF_OS)
    return top in _STANDARD or (top in image_imports() and top not in _MAY_INSTALL)


def _full_name(code: Code, module: Module, node: ast.expr, depth: int = 0) -> str:
    """`logging.getLogger.info` of a method of what a call gives; empty if it can't be known."""
    if depth > _DEEPEST:
        return ""
    if isinstance(node, ast.Constant):
        return "builtins.str"
    if isinstance(node, ast.Call):
        return _full_name(code, module, node.func, depth + 1)
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return ""
    meant = code.meaning(module, node)
    if isinstance(meant, Elsewhere):
        return meant.name
    if isinstance(meant, ValueHere):
        return _full_name(code, meant.module, meant.node, depth + 1)
    if isinstance(node, ast.Attribute):
        inner = _full_name(code, module, node.value, depth + 1)
        return inner and f"{inner}.{node.attr}"
    return ""
