"""Statements after which the next one surely runs, and finds the same modules as before."""

import ast
from collections.abc import Iterator

from tf_cluster.program.classes import own_scope
from tf_cluster.program.image_imports import image_imports, uses_path
from tf_cluster.program.resolve import (
    ClassHere,
    Code,
    Elsewhere,
    FunctionHere,
    Unknown,
    ValueHere,
    is_standard,
)
from tf_cluster.program.scope import Function, Module
from tf_cluster.program.tree import named_modules

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
        *("symlink_to", "hardlink_to", "replace", "touch", "unlink", "rmtree", "partial"),
        *("system", "popen", "spawn", "parse_args", "parse_known_args", "print_help", "error"),
    )
)
_ENDS = (ast.Raise, ast.Assert, ast.Return, ast.While, ast.Await, ast.Yield, ast.YieldFrom)


def is_quiet(code: Code, module: Module, statement: ast.stmt) -> bool:
    """Whether a statement ends nothing, and neither installs nor makes what is imported later."""
    for node in _run_now(statement):
        if isinstance(node, _ENDS) or uses_path(node):
            return False
        if isinstance(node, (ast.Import, ast.ImportFrom)) and not _is_of_others(code, module, node):
            return False
        if isinstance(node, ast.Call) and (
            not _is_harmless(code, module, node.func) or _hands_on(code, module, node)
        ):
            return False
        if isinstance(node, (*Function, ast.ClassDef)) and not _is_plain(code, module, node):
            return False
    return True


def _is_of_others(code: Code, module: Module, node: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import below a condition, or in a try, is of no module of the program."""
    tops = {name.partition(".")[0] for name in named_modules(module, node)}
    return bool(tops) and all(is_standard(top) or code.module(top) is None for top in tops)


def _hands_on(code: Code, module: Module, call: ast.Call) -> bool:
    """Whether a function of the program is given to a call, which may run it."""
    given = (*call.args, *(keyword.value for keyword in call.keywords))
    return any(
        isinstance(one, ast.Lambda)
        or (
            isinstance(one, (ast.Name, ast.Attribute))
            and isinstance(code.meaning(module, one), (FunctionHere, Unknown))
        )
        for one in given
    )


def _is_plain(
    code: Code, module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
) -> bool:
    """Whether the decorators of a definition, and the bases of a class, run no code of its own."""
    asked = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    harmless = all(_is_harmless(code, module, one) for one in asked)
    if not isinstance(node, ast.ClassDef):
        return harmless
    return harmless and not node.keywords and all(_is_bare(code, module, b) for b in node.bases)


def _is_bare(code: Code, module: Module, base: ast.expr) -> bool:
    """Whether a base runs no code for a class that inherits from it."""
    meant = code.meaning(module, base.value if isinstance(base, ast.Subscript) else base)
    if not isinstance(meant, ClassHere):
        return isinstance(meant, Elsewhere)
    names = own_scope(meant).names
    return "__init_subclass__" not in names and not meant.node.keywords


def _run_now(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement, without the bodies of functions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Lambda):
            continue
        yield node
        if isinstance(node, Function):
            waiting += [*node.decorator_list, *node.args.defaults]
            waiting += filter(None, node.args.kw_defaults)
        else:
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
