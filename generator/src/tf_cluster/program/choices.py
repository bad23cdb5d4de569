"""The choices of an option or a flag: as they stand, or of a constant that nothing changes."""

import ast
from collections.abc import Callable, Sequence
from typing import Any

from tf_cluster.program.resolve import Code, Elsewhere, Meaning, ValueHere
from tf_cluster.program.scope import Module, last_word
from tf_cluster.program.tree import Tree

_COPIES = ("list", "sorted", "tuple", "set", "frozenset")
_READERS = (
    *(*_COPIES, "len", "enumerate", "print", "str", "repr", "bool", "zip", "iter", "reversed"),
    *("any", "all", "max", "min"),
)
_READING_MODULES = ("logging.", "absl.logging.")
_READING = ("keys", "values", "items", "get", "index", "count", "copy")
_DEEPEST = 5

_MeaningOf = Callable[[ast.expr], Meaning]


class Choices:
    """Reads the choices of a script's options; `modules` are all of the program that were read."""

    def __init__(self, code: Code, modules: Sequence[Module]) -> None:
        self._code = code
        self._modules = modules
        self._trees: list[Tree] = []
        self._changed: dict[str, bool] = {}

    def of(self, node: ast.expr | None, meaning_of: _MeaningOf) -> tuple[Any, ...] | None:
        """What an expression lists; None where that can't be known.

        `meaning_of` says what the names mean where the expression stands.
        """
        for _ in range(_DEEPEST):
            if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
                return _constants(node.elts)
            if isinstance(node, ast.Dict):
                return _constants(node.keys)
            if isinstance(node, ast.Call):
                node = _copied(node, meaning_of)
            elif isinstance(node, (ast.Name, ast.Attribute)):
                meant = meaning_of(node)
                if not isinstance(meant, ValueHere) or self._may_change(meant):
                    return None
                node = meant.node
                meaning_of = _in_module(self._code, meant.module)
            else:
                return None
        return None

    def _may_change(self, value: ValueHere) -> bool:
        """Whether the code may give a constant another value, or change the one that it has.

        A list may grow, and a table of models is filled by others. A use that may take it out of
        sight counts, too.
        """
        name = _name_of(value)
        if not name or self._code.setter_of(name):
            return True
        if isinstance(value.node, ast.Tuple):
            return False
        if name not in self._changed:
            self._changed[name] = self._changes(name)
        return self._changed[name]

    def _changes(self, name: str) -> bool:
        self._trees = self._trees or [Tree(module) for module in self._modules]
        if any(name in tree.texts for tree in self._trees):  # getattr(consts, "KINDS")
            return True
        names, waiting = {name}, [name]
        while waiting:
            one = waiting.pop()
            for tree in self._trees:
                if one in tree.augmented or not all(
                    self._only_reads(tree, use) for use in tree.uses.get(one, ())
                ):
                    return True
                others = tree.aliases_of(one) - names
                names |= others
                waiting += others
        return False

    def _only_reads(self, tree: Tree, use: ast.expr) -> bool:
        """Whether what is done with a list or a table, where it is named, leaves it as it is."""
        outer = tree.parents.get(use)
        if isinstance(outer, ast.Attribute):
            call = tree.parents.get(outer)
            return outer.attr in _READING and isinstance(call, ast.Call) and call.func is outer
        if isinstance(outer, ast.Subscript):
            return outer.value is use and isinstance(outer.ctx, ast.Load)
        if isinstance(outer, (ast.For, ast.AsyncFor, ast.comprehension)):
            return outer.iter is use
        if isinstance(outer, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            return outer.test is use
        if isinstance(outer, ast.BinOp):
            other = outer.right if outer.left is use else outer.left
            return isinstance(other, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant))
        if isinstance(outer, (ast.keyword, ast.Starred)):
            call = tree.parents.get(outer)
            return isinstance(call, ast.Call) and self._reads(tree, call, outer)
        if isinstance(outer, ast.Call):
            return use in outer.args and self._reads(tree, outer, use)
        return isinstance(outer, (ast.Compare, ast.FormattedValue, ast.UnaryOp))

    def _reads(self, tree: Tree, call: ast.Call, argument: ast.AST) -> bool:
        """Whether a call only reads what it is given."""
        function, name = call.func, last_word(call.func)
        is_own = any(one.module.class_names[name] for one in self._trees)
        if name == "add_argument" and not is_own:
            return isinstance(argument, ast.keyword) and argument.arg == "choices"
        if name in ("join", "format") and isinstance(function, ast.Attribute):
            return isinstance(function.value, (ast.Constant, ast.JoinedStr))
        meant = tree.meaning(self._code, function)
        if not isinstance(meant, Elsewhere):
            return False
        defines = name.startswith("DEFINE_") and meant.name.startswith(("absl.", "tensorflow."))
        return defines or _is_builtin(meant, _READERS) or meant.name.startswith(_READING_MODULES)


def _name_of(value: ValueHere) -> str:
    """The one name that a module gives a value; empty where that is not all it does with it."""
    outer = value.module.parents.get(value.node)
    if isinstance(outer, ast.AnnAssign):
        return last_word(outer.target)
    targets = outer.targets if isinstance(outer, ast.Assign) else []
    return last_word(targets[0]) if len(targets) == 1 else ""


def _in_module(code: Code, module: Module) -> _MeaningOf:
    return lambda node: code.meaning(module, node)


def _constants(nodes: Sequence[ast.expr | None]) -> tuple[Any, ...] | None:
    values = [one.value if isinstance(one, ast.Constant) else None for one in nodes]
    return None if None in values or not values else tuple(values)


def _copied(call: ast.Call, meaning_of: _MeaningOf) -> ast.expr | None:
    """What a call lists again: `list(X)`, `sorted(X)`, `X.keys()`; None for any other."""
    function = call.func
    if call.keywords or len(call.args) > 1:
        return None
    if isinstance(function, ast.Attribute):
        return function.value if function.attr == "keys" and not call.args else None
    is_copy = bool(call.args) and _is_builtin(meaning_of(function), _COPIES)
    return call.args[0] if is_copy else None


def _is_builtin(meant: Meaning, names: Sequence[str]) -> bool:
    home, _, name = meant.name.rpartition(".") if isinstance(meant, Elsewhere) else ("", "", "")
    return home == "builtins" and name in names
