"""Whether code changes sys.argv: then the arguments that a parser gets can't be known."""

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from tf_cluster.program.imports import TooMany, is_unread, walk
from tf_cluster.program.resolve import (
    ClassHere,
    Code,
    Elsewhere,
    FunctionHere,
    Unknown,
)
from tf_cluster.program.scope import Module, is_main_guard, last_word
from tf_cluster.program.tree import Tree

_DEEPEST = 5
_MOST_ARGUMENTS = 100
# What reads the list that it is given, and keeps no hold of it.
_BUILTINS = frozenset(
    (
        *("all", "any", "bool", "dict", "enumerate", "frozenset", "len", "list", "max", "min"),
        *("print", "repr", "set", "sorted", "str", "tuple", "zip"),
    )
)
_METHODS = frozenset(
    (
        *("FLAGS", "parse_args", "parse_known_args", "join", "format", "write", "writelines"),
        *("debug", "info", "warn", "warning", "error", "critical", "exception", "log", "print"),
    )
)
_OF_LIBRARIES = frozenset(
    (
        *("run", "call", "check_call", "check_output", "Popen", "execv", "execvp"),
        *("copy", "deepcopy", "dump", "dumps", "pprint"),
    )
)


def argv_change(code: Code, script: Module) -> str:
    """Where the script, or a module of the program that it imports, may change sys.argv.

    Empty if none does. A module that can't be read may.
    """
    for module in imported_modules(code, script):
        if isinstance(module, Unknown):
            return module.why
        change = _change(code, Tree(module))
        if change is not None:
            return f"{module.place(change)}: sys.argv is changed"
    return ""


def imported_modules(code: Code, script: Module) -> Iterator[Module | Unknown]:
    """The script and every module of the program that it imports, and those import.

    Unknown for what is among the program's code, but can't be read.
    """
    for one in walk(code, script):
        if isinstance(one, Module):
            yield one
        elif isinstance(one, TooMany):
            yield Unknown(f"{script.file} imports too much")
        elif is_unread(code, one.name, one.found):
            yield Unknown(f"{one.place}: {one.name} was not read")


def _change(code: Code, tree: Tree) -> ast.AST | None:
    """What may change sys.argv in a module; None if all of it only reads."""
    lists = _Lists(code, tree)
    sys_names = tree.module.sys_names
    for node in tree.module.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "sys":
            if any(alias.name in ("argv", "*") for alias in node.names):
                return node
        elif isinstance(node, ast.Call):
            if (_names_it(node, sys_names) or _patches_it(node)) and _may_run(tree, node):
                return node
        elif isinstance(node, ast.Attribute) and node.attr == "__dict__":
            if getattr(node.value, "id", "") in sys_names:
                return node
        elif isinstance(node, ast.Attribute) and node.attr == "argv":
            is_read = isinstance(node.ctx, ast.Load) and lists.only_read(node)
            if not is_read and _may_run(tree, node):
                return node
    return None


def _names_it(call: ast.Call, sys_names: Collection[str]) -> bool:
    """`setattr(sys, "argv", …)` and the like: `vars(sys)`, or a name that can't be known."""
    names = {node.id for node in call.args if isinstance(node, ast.Name)}
    if names.isdisjoint(sys_names):
        return False
    texts = {node.value for node in call.args if isinstance(node, ast.Constant)}
    return not texts or "argv" in texts


def _patches_it(call: ast.Call) -> bool:
    """`mock.patch("sys.argv", …)`."""
    texts = (node.value for node in call.args if isinstance(node, ast.Constant))
    return last_word(call.func) == "patch" and "sys.argv" in texts


def _may_run(tree: Tree, node: ast.AST) -> bool:
    """Whether a node may run: what is below the main guard does in the script alone."""
    if tree.module.name == "__main__":
        return True
    while node in tree.parents:
        node = tree.parents[node]
        if is_main_guard(node):
            return False
    return True


@dataclass
class _Lists:
    """What a module does with sys.argv as a value. `known`: see `_only_read_inside`."""

    code: Code
    tree: Tree
    known: dict[tuple[ast.AST, str], tuple[int, bool]] = field(default_factory=dict)

    def only_read(self, node: ast.expr, depth: int = 0) -> bool:
        """Whether an expression that is the list is read where it stands, and not kept."""
        parents = self.tree.parents
        outer = parents.get(node)
        if isinstance(outer, ast.Subscript):
            return outer.value is node and isinstance(outer.ctx, ast.Load)
        if isinstance(outer, (ast.For, ast.comprehension)):
            return outer.iter is node
        if isinstance(outer, ast.Attribute):
            return outer.attr in ("index", "count", "copy")
        if isinstance(outer, (ast.If, ast.While, ast.IfExp, ast.Assert)):
            return outer.test is node
        if isinstance(outer, ast.keyword):
            call = parents.get(outer)
            return isinstance(call, ast.Call) and self._reads(call, outer.arg or "", depth)
        if isinstance(outer, ast.Call):
            if len(outer.args) > _MOST_ARGUMENTS or node not in outer.args:
                return False
            return self._reads(outer, outer.args.index(node), depth)
        reading = (ast.Compare, ast.BinOp, ast.UnaryOp, ast.Starred, ast.FormattedValue, ast.Expr)
        return isinstance(outer, reading)

    def _reads(self, call: ast.Call, argument: str | int, depth: int) -> bool:
        """Whether a function only reads the list that is this argument of it."""
        function = call.func
        module = self.tree.module
        if isinstance(function, ast.Attribute):
            meant = self.code.meaning(module, function)
            is_here = isinstance(meant, (FunctionHere, ClassHere)) or any(
                one.class_names[function.attr]
                for one in self.code.modules.values()
                if isinstance(one, Module)
            )
            return (function.attr in _METHODS and not is_here) or (
                function.attr in _OF_LIBRARIES and isinstance(meant, Elsewhere)
            )
        if not isinstance(function, ast.Name) or depth > _DEEPEST:
            return False
        binding = module.scope.only(function.id)
        here = binding.node if binding else None
        if not isinstance(here, ast.FunctionDef):
            is_builtin = function.id in _BUILTINS and function.id not in module.scope.names
            return is_builtin or function.id == "FLAGS"
        names = [one.arg for one in (*here.args.posonlyargs, *here.args.args)]
        if isinstance(argument, int):
            before = any(isinstance(one, ast.Starred) for one in call.args[:argument])
            argument = names[argument] if argument < len(names) and not before else ""
        is_one = argument in (*names, *(one.arg for one in here.args.kwonlyargs))
        return is_one and not here.decorator_list and self._only_read_inside(here, argument, depth)

    def _only_read_inside(self, function: ast.FunctionDef, argument: str, depth: int) -> bool:
        """Whether all of a function only reads this argument.

        `known` has what was found, and at which depth: a no may be a yes from less deep.
        """
        key = (function, argument)
        known_at, known = self.known.get(key, (_DEEPEST + 1, False))
        if known or known_at <= depth:
            return known
        uses = (
            node
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and node.id == argument
        )
        found = all(
            self.only_read(use, depth + 1)
            if isinstance(use.ctx, ast.Load)
            else not isinstance(self.tree.parents.get(use), ast.AugAssign)
            for use in uses
        )
        self.known[key] = depth, found
        return found
