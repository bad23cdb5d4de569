"""What may end a script with success, in the functions and modules that it uses."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tf_cluster.program.scope import Function, Module

_EXITS = ("exit", "quit", "_exit", "SystemExit")
_MAIN = "__main__"


@dataclass(frozen=True)
class Ends:
    """Names whose call may end the process, and modules whose import may.

    `calls`: functions, methods and classes by their last words, and other names of Python's exit.
    """

    calls: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()

    def may_end(self, statement: ast.stmt) -> bool:
        """Whether a statement returns, or ends the process with exit code 0 or an unknown one."""
        return any(
            isinstance(node, ast.Return) or self._is_end(node) for node in _run_by(statement)
        )

    def ends_in(self, body: Iterable[ast.AST]) -> bool:
        """Whether the process may end in these statements, not counting what they return."""
        return any(self._is_end(node) for statement in body for node in _run_by(statement))

    def _is_end(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Call):
            return _last_word(node.func) in self.calls or _is_exit(node)
        if isinstance(node, ast.Raise):
            name = _last_word(node.exc, plain=True)
            return name == "SystemExit" or name in self.calls
        if isinstance(node, ast.Import):
            return any(_last_part(alias.name) in self.modules for alias in node.names)
        if isinstance(node, ast.ImportFrom):
            names = (_last_part(node.module or ""), *(alias.name for alias in node.names))
            return not self.modules.isdisjoint(names)
        return False


def ends_of(modules: Iterable[Module]) -> Ends:
    """What may end the process among the functions, classes and modules of a program."""
    modules = tuple(modules)
    calls = {name for module in modules for name in _other_names(module)}
    ended: set[str] = set()
    nodes = [node for module in modules for node in module.nodes]
    functions = [node for node in nodes if isinstance(node, Function) and node.name != "__init__"]
    classes = [node for node in nodes if isinstance(node, ast.ClassDef)]
    before = -1
    while before != len(calls) + len(ended):  # functions that call functions that end
        before = len(calls) + len(ended)
        ends = Ends(frozenset(calls), frozenset(ended))
        calls |= {
            node.name
            for node in functions
            if node.name not in ends.calls and ends.ends_in(node.body)
        }
        calls |= {node.name for node in classes if _class_ends(node, ends)}
        for module in modules:
            if module.name != _MAIN and ends.ends_in(module.at_import()):
                ended.add(_last_part(module.name))
    return Ends(frozenset(calls), frozenset(ended))


def _class_ends(node: ast.ClassDef, ends: Ends) -> bool:
    """Whether a call of a class may end the process, or makes what does when it is raised."""
    if any(_last_word(base) in ("SystemExit", *ends.calls) for base in node.bases):
        return True
    return any(
        isinstance(one, Function) and one.name == "__init__" and ends.ends_in(one.body)
        for one in node.body
    )


def _other_names(module: Module) -> Iterator[str]:
    """What a module calls Python's exit: `from sys import exit as leave`, `leave = sys.exit`."""
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname and alias.name in _EXITS:
                    yield alias.asname
        elif isinstance(node, ast.Assign) and _last_word(node.value, plain=True) in _EXITS:
            for target in node.targets:
                yield _last_word(target)


def _run_by(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without the bodies of functions and classes."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*Function, ast.Lambda, ast.ClassDef)):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _is_exit(call: ast.Call) -> bool:
    name = _last_word(call.func)
    if name.startswith("exec") and isinstance(call.func, ast.Attribute):
        return True
    if name not in _EXITS:
        return False
    given = call.args[0] if call.args else None
    return not (isinstance(given, ast.Constant) and given.value not in (None, 0))


def _last_word(node: ast.AST | None, *, plain: bool = False) -> str:
    """`exit` of `sys.exit`, and of a call of it unless `plain`; empty where it has no name."""
    if isinstance(node, ast.Call) and not plain:
        node = node.func
    return str(node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", ""))


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
