"""What changes argparse, or a parser, from elsewhere than where the parser is made."""

import ast
from collections.abc import Collection, Iterator

from tf_cluster.program.resolve import Code, Elsewhere
from tf_cluster.program.scope import Module
from tf_cluster.program.tree import called_name

_MAIN = "__main__"
_ARGPARSE = "argparse"
_LONGEST = 5  # names of `argparse.ArgumentParser` and the like
_SETTERS = ("setattr", "delattr", "__setattr__")
_OF_PARSERS = frozenset(
    (
        *("ArgumentParser", "add_argument", "convert_arg_line_to_args", "error", "exit"),
        *("parse_args", "parse_known_args", "_check_value", "_get_option_tuples", "_get_value"),
        *("_get_values", "_parse_known_args", "_parse_optional", "_print_message"),
    )
)
"""What argparse reads arguments with: whoever sets one of them, of whatever object, may mean it."""


def patches(code: Code, module: Module) -> Iterator[ast.AST]:
    """Where an attribute of argparse, of a class of it, or sys.exit is set; or exit is caught."""
    has_atexit = any(
        isinstance(node, (ast.Import, ast.ImportFrom)) and "atexit" in _imported(node)
        for node in module.nodes
    )
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Load):
                is_patch = node.attr == "_exit" and has_atexit
            elif node.attr == "exit" and getattr(node.value, "id", "") in module.sys_names:
                is_patch = True
            else:
                owner = getattr(node.value, "id", "")
                is_patch = (
                    (node.attr in _OF_PARSERS and owner != "self")
                    or owner in ("builtins", "__builtins__")
                    or _is_of_argparse(code, module, node.value)
                )
            if is_patch:
                yield node
        elif isinstance(node, ast.Call):
            name = called_name(node)
            if name == "patch" and node.args:  # mock.patch("options.parse")
                yield node
            elif name == "object" and node.args and _is_of_argparse(code, module, node.args[0]):
                yield node  # mock.patch.object
            elif name in _SETTERS and node.args and _is_of_argparse(code, module, node.args[0]):
                yield node


def names_main(module: Module) -> bool:
    """Whether a module is the script, or may reach it."""
    return module.name == _MAIN or any(
        (isinstance(node, (ast.Import, ast.ImportFrom)) and _MAIN in _imported(node))
        or (isinstance(node, ast.Subscript) and getattr(node.slice, "value", "") == _MAIN)
        for node in module.nodes
    )


def use_elsewhere(module: Module, home: Module, names: Collection[str]) -> ast.AST | None:
    """Where a module uses a variable of `home` by one of these names, or sets a name of it."""
    functions = {node.name for node in home.tree.body if isinstance(node, ast.FunctionDef)}
    if not functions.isdisjoint(module.attributes_set):
        return module.tree
    for node in module.nodes:
        if isinstance(node, ast.Attribute):
            if node.attr in names:
                return node
        elif isinstance(node, ast.ImportFrom):
            if any(alias.name in names for alias in node.names):
                return node
        elif isinstance(node, ast.Name) and node.id in names and module.scope.stars:
            return node
    return None


def _is_of_argparse(code: Code, module: Module, node: ast.expr) -> bool:
    """Whether an expression is argparse, or a class of it, by whatever name."""
    root = node
    for _ in range(_LONGEST):
        if not isinstance(root, ast.Attribute):
            break
        root = root.value
    if not isinstance(root, ast.Name):
        return False
    if root.id in (_ARGPARSE, "ArgumentParser"):
        return True
    meant = code.meaning(module, node)
    return isinstance(meant, Elsewhere) and meant.name.partition(".")[0] == _ARGPARSE


def _imported(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = {alias.name for alias in node.names}
    return names if isinstance(node, ast.Import) else {node.module or "", *names}
