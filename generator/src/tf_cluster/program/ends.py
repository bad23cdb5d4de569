"""What may end a script with success, in the functions and modules that it uses."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tf_cluster.program.scope import Function, Module, last_word

_EXITS = ("exit", "quit", "_exit", "SystemExit")
_MAIN = "__main__"
_AS_MODULE = "import "


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

    def _is_end(self, node: ast.AST) -> bool:
        return _is_exit(node) or any(
            word.removeprefix(_AS_MODULE) in (self.modules if _is_module(word) else self.calls)
            for word in _words(node)
        )


def ends_of(modules: Iterable[Module]) -> Ends:
    """What may end the process among the functions, classes and modules of a program."""
    modules = tuple(modules)
    parts = [part for module in modules for part in _parts(module)]
    users: dict[str, list[_Part]] = {}
    for part in parts:
        for word in part.words:
            users.setdefault(word, []).append(part)
    other_names = {name for module in modules for name in _other_names(module)}
    waiting = [*other_names, *(part.name for part in parts if part.ends)]
    found: set[str] = set()
    while waiting:  # what calls, or imports, what ends
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [part.name for part in users.get(name, ())]
    names = {name for name in found if _is_module(name)}
    return Ends(
        frozenset(found - names), frozenset(name.removeprefix(_AS_MODULE) for name in names)
    )


@dataclass(frozen=True)
class _Part:
    """A function, a class or a module: whether it ends itself, and what it uses that may.

    `name` and `words` are as they are called; those of modules begin with `_AS_MODULE`.
    """

    name: str
    ends: bool
    words: frozenset[str]


def _parts(module: Module) -> Iterator[_Part]:
    for node in module.nodes:
        if isinstance(node, Function) and node.name != "__init__":
            yield _part(node.name, node.body)
        elif isinstance(node, ast.ClassDef):
            inits = (one for one in node.body if isinstance(one, Function))
            body = [line for one in inits if one.name == "__init__" for line in one.body]
            made = _part(node.name, body)
            bases = frozenset(
                last_word(base.func if isinstance(base, ast.Call) else base) for base in node.bases
            )
            yield _Part(made.name, made.ends or "SystemExit" in bases, made.words | bases)
    if module.name != _MAIN:
        yield _part(_AS_MODULE + _last_part(module.name), module.at_import())


def _part(name: str, body: Iterable[ast.stmt]) -> _Part:
    nodes = [node for statement in body for node in _run_by(statement)]
    words = {word for node in nodes for word in _words(node)}
    return _Part(name, any(map(_is_exit, nodes)), frozenset(words))


def _other_names(module: Module) -> Iterator[str]:
    """What a module calls Python's exit: `from sys import exit as leave`, `leave = sys.exit`."""
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname and alias.name in _EXITS:
                    yield alias.asname
        elif isinstance(node, ast.Assign) and last_word(node.value) in _EXITS:
            for target in node.targets:
                yield last_word(target)


def _run_by(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without the bodies of functions and classes."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (*Function, ast.Lambda, ast.ClassDef)):
            continue
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _words(node: ast.AST) -> Iterator[str]:
    """What a node calls, raises or imports, by last words."""
    if isinstance(node, ast.Call):
        yield last_word(node.func)
    elif isinstance(node, ast.Raise):
        yield last_word(node.exc)
    elif isinstance(node, ast.Import):
        yield from (_AS_MODULE + _last_part(alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        yield _AS_MODULE + _last_part(node.module or "")
        yield from (_AS_MODULE + alias.name for alias in node.names)


def _is_module(word: str) -> bool:
    return word.startswith(_AS_MODULE)


def _is_exit(node: ast.AST) -> bool:
    """Whether it is Python's own way out, with success or with what can't be known."""
    if isinstance(node, ast.Raise):
        return last_word(node.exc) == "SystemExit"
    if not isinstance(node, ast.Call):
        return False
    name = last_word(node.func)
    if name.startswith("exec") and isinstance(node.func, ast.Attribute):
        return True
    if name not in _EXITS:
        return False
    given = node.args[0] if node.args else None
    return not (isinstance(given, ast.Constant) and given.value not in (None, 0))


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
