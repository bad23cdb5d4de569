"""A module with the way up from each node: what runs for sure, and what runs at all."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from tf_cluster.program.ends import Ends
from tf_cluster.program.resolve import Code, Meaning, Unknown, absolute
from tf_cluster.program.scope import (
    AnyFunction,
    Function,
    Module,
    is_main_guard,
    last_word,
    names_in_function,
)

_MOST_PARTS = 20
_MOST_ITEMS = 10
# Contexts of TensorFlow and of Python that hide no error.
_CONTEXTS = frozenset(
    (
        *("scope", "as_default", "device", "name_scope", "variable_scope", "Session", "Graph"),
        *("GradientTape", "control_dependencies", "MonitoredTrainingSession", "GFile", "open"),
        *("catch_warnings", "TemporaryDirectory", "NamedTemporaryFile"),
    )
)


@dataclass
class Tree:
    """A module with the parent of each node. `ends` is what may end the script."""

    module: Module
    _bound: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    _argparse: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    _behind_ends: dict[ast.AST, frozenset[ast.AST]] = field(default_factory=dict)
    ends: Ends = field(default_factory=Ends)

    @property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return self.module.parents

    def scope_of(self, node: ast.AST) -> ast.AST:
        """The function around a node, or the module."""
        while node in self.parents:
            node = self.parents[node]
            if isinstance(node, (*Function, ast.Lambda)):
                return node
        return self.module.tree

    def outermost(self, node: ast.AST) -> ast.AST:
        """The statement of the module that a node stands in."""
        while self.parents.get(node, self.module.tree) is not self.module.tree:
            node = self.parents[node]
        return node

    @cached_property
    def uses(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        """Where each name is read, as itself or as an attribute."""
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in self.module.nodes:
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                name = node.id if isinstance(node, ast.Name) else node.attr
                found.setdefault(name, []).append(node)
        return found

    @cached_property
    def augmented(self) -> frozenset[str]:
        """Names and attributes that `+=` and the like change, or `del` takes away."""
        changed = (
            target
            for node in self.module.nodes
            if isinstance(node, (ast.AugAssign, ast.Delete))
            for target in (node.targets if isinstance(node, ast.Delete) else [node.target])
        )
        return frozenset(map(last_word, changed))

    @cached_property
    def texts(self) -> frozenset[str]:
        """Every text that stands in the module, but for the names that it lists in `__all__`."""
        return frozenset(
            node.value
            for node in self.module.nodes
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            if not self._is_listed(node)
        )

    def _is_listed(self, node: ast.Constant) -> bool:
        outer = self.parents.get(self.parents.get(node, node))
        return isinstance(outer, ast.Assign) and last_word(outer.targets[0]) == "__all__"

    def uses_of(self, name: str) -> Iterator[ast.Name | ast.Attribute]:
        """Where a name is read, also as what an import calls it here."""
        for one in (name, *sorted(self.aliases_of(name))):
            yield from self.uses.get(one, ())

    def aliases_of(self, name: str) -> frozenset[str]:
        """What imports call a name here."""
        return frozenset(self._other_names.get(name, ()))

    @cached_property
    def _other_names(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for node in self.module.nodes:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.asname:
                        found.setdefault(alias.name, set()).add(alias.asname)
        return found

    def is_local(self, node: ast.expr) -> bool:
        """Whether the first name of an expression is one that a function around it binds."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        return any(root.id in self.bound_in(scope) for scope in self.functions_around(node))

    def meaning(self, code: Code, node: ast.expr) -> Meaning:
        """What an expression stands for where it is; Unknown for a function's own names."""
        if self.is_local(node):
            return Unknown("a name of a function")
        return code.meaning(self.module, node)

    def functions_around(self, node: ast.AST) -> Iterator[AnyFunction]:
        """The functions that a node stands in, the innermost first."""
        scope = self.scope_of(node)
        while isinstance(scope, AnyFunction):
            yield scope
            scope = self.scope_of(scope)

    def bound_in(self, function: AnyFunction) -> frozenset[str]:
        """The names that a function binds itself: arguments, and what its statements bind."""
        if function not in self._bound:
            self._bound[function] = names_in_function(function)
        return self._bound[function]

    def argparse_in(self, scope: ast.AST) -> frozenset[str]:
        """The names under which a function imports argparse."""
        if scope not in self._argparse:
            self._argparse[scope] = frozenset(
                alias.asname or alias.name
                for node in ast.walk(scope)
                if isinstance(node, ast.Import)
                for alias in node.names
                if alias.name == "argparse"
            )
        return self._argparse[scope]

    def never_runs(self, node: ast.AST) -> bool:
        """Whether it stands below the main guard of a module that is not the script."""
        return self.module.name != "__main__" and is_main_guard(self.outermost(node))

    def is_sure(self, node: ast.AST) -> bool:
        """Whether a node runs whenever its function, or its module as the script, runs to its end.

        What may end them before is `may_end_before`'s.
        """
        inner = node
        while inner in self.parents:
            outer = self.parents[inner]
            if isinstance(outer, (*Function, ast.Module)):
                return inner not in getattr(outer, "decorator_list", ())
            if not _leads_on(outer, inner):
                return False
            inner = outer
        return True

    def may_end_before(self, node: ast.AST) -> bool:
        """Whether a statement before a node may end its function, or the script with success."""
        if isinstance(node, ast.Call) and self._arguments_end(node):
            return True
        inner = node
        while inner in self.parents and not isinstance(inner, (*Function, ast.Lambda)):
            outer = self.parents[inner]
            if outer not in self._behind_ends:
                self._behind_ends[outer] = frozenset(self._behind_ends_in(outer))
            if inner in self._behind_ends[outer]:
                return True
            if isinstance(outer, (ast.expr, ast.keyword)) and self._ends_first(outer, inner):
                return True
            inner = outer
        return False

    def _ends_first(self, outer: ast.AST, inner: ast.AST) -> bool:
        """Whether a part of an expression before the one that holds a node may end the script.

        What is called runs after its arguments.
        """
        if isinstance(outer, ast.Call) and outer.func is inner:
            return self._arguments_end(outer)
        for part in ast.iter_child_nodes(outer):
            if part is inner:
                return False
            if any(map(self.ends.is_end, ast.walk(part))):
                return True
        return False

    def _arguments_end(self, call: ast.Call) -> bool:
        return any(
            self.ends.is_end(part) for one in (*call.args, *call.keywords) for part in ast.walk(one)
        )

    def _behind_ends_in(self, node: ast.AST) -> Iterator[ast.stmt]:
        """The statements of a node that stand behind one that may end all."""
        heads = (getattr(node, name, None) for name in ("test", "iter", "subject"))
        items = [item.context_expr for item in getattr(node, "items", None) or ()]
        parts = [one for one in (*heads, *items) if isinstance(one, ast.expr)]
        head_ends = isinstance(node, ast.stmt) and any(
            self.ends.is_end(part) for one in parts for part in ast.walk(one)
        )
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            may_have_ended = head_ends
            for statement in block if isinstance(block, list) else ():
                if may_have_ended:
                    yield statement
                may_have_ended = may_have_ended or self.ends.may_end(statement)


def _leads_on(outer: ast.AST, inner: ast.AST) -> bool:
    """Whether what runs `outer` runs `inner`, a part of it, and can't catch an exit there."""
    if isinstance(outer, (ast.expr, ast.keyword)):
        if isinstance(outer, ast.Compare) and inner not in (outer.left, outer.comparators[0]):
            return False  # of `a < b < c` the last may not be looked at
        may_skip = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp)
        return not isinstance(outer, (*may_skip, ast.GeneratorExp))
    if isinstance(outer, ast.With):
        return len(outer.items) <= _MOST_ITEMS and all(map(_lets_errors_out, outer.items))
    if isinstance(outer, ast.Try):
        is_first = outer.body[0] is inner and not outer.finalbody
        return is_first and all(map(_catches_interrupts, outer.handlers))
    if isinstance(outer, (ast.If, ast.While)) and outer.test is inner:
        return True
    plain = (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return, ast.Raise)
    return isinstance(outer, plain) or is_main_guard(outer)


def _catches_interrupts(handler: ast.ExceptHandler) -> bool:
    """Whether it is `except KeyboardInterrupt`: other errors end the script."""
    return getattr(handler.type, "id", "") == "KeyboardInterrupt"


def _lets_errors_out(item: ast.withitem) -> bool:
    """Whether it is `open(…)`, or one of TensorFlow's: one of the program's may hide an error."""
    call = item.context_expr
    function = call.func if isinstance(call, ast.Call) else call
    if isinstance(function, ast.Name):
        return function.id == "open"
    return isinstance(function, ast.Attribute) and function.attr in _CONTEXTS


def called_name(call: ast.Call) -> str:
    """The last word of what is called: `run` of `app.run(…)`; empty where it has no name."""
    return last_word(call.func)


def named_modules(module: Module, node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that an import names itself; empty for one from outside its package.

    Of a name with very many parts only the first are looked at: no program has such packages.
    """
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    else:
        names = [absolute(module, node)]
    return [".".join(name.split(".", _MOST_PARTS)[:_MOST_PARTS]) for name in names if name]


def imported_names(module: Module, node: ast.Import | ast.ImportFrom) -> list[str]:
    """What an import runs: modules, the packages that they are in, and names that may be modules.

    `from package import name` runs package.name if there is such a module. Empty for an import from
    outside its package.
    """
    names = named_modules(module, node)
    if isinstance(node, ast.ImportFrom):
        inner = [alias.name for alias in node.names if alias.name != "*"]
        names += [f"{source}.{name}" for source in names for name in inner]
    return [part for name in names for part in accumulate(name.split("."), "{}.{}".format)]


def iterate_imports(module: Module) -> Iterator[ast.Import | ast.ImportFrom]:
    """Every import of a module, wherever it stands."""
    for node in module.nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node
