"""A module with the way up from each node: what runs for sure, and what runs at all."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from tf_cluster.program.resolve import absolute
from tf_cluster.program.scope import Function, Module

_MAIN_GUARDS = tuple(
    ast.dump(ast.parse(text, mode="eval").body)
    for text in ("__name__ == '__main__'", "'__main__' == __name__")
)


@dataclass
class Tree:
    """A module with the parent of each node."""

    module: Module
    parents: dict[ast.AST, ast.AST] = field(default_factory=dict)
    _bound: dict[ast.AST, frozenset[str]] = field(default_factory=dict)
    _argparse: dict[ast.AST, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, module: Module) -> "Tree":
        """Note the parent of each node."""
        tree = cls(module)
        for node in module.nodes:
            for inner in ast.iter_child_nodes(node):
                tree.parents[inner] = node
        return tree

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

    def uses_of(self, name: str) -> Iterator[ast.Name | ast.Attribute]:
        """Where a name is read, also as what an import calls it here."""
        for one in (name, *sorted(self._other_names.get(name, ()))):
            yield from self.uses.get(one, ())

    @cached_property
    def _other_names(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for node in self.module.nodes:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.asname:
                        found.setdefault(alias.name, set()).add(alias.asname)
        return found

    def bound_in(self, scope: ast.AST) -> frozenset[str]:
        """The names that a function's body or arguments bind."""
        if scope not in self._bound:
            names = set()
            for node in ast.walk(scope):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    names.add(node.id)
                elif isinstance(node, ast.arg):
                    names.add(node.arg)
            self._bound[scope] = frozenset(names)
        return self._bound[scope]

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

    @cached_property
    def definitions(self) -> dict[str, ast.stmt]:
        """The functions and classes that stand in the module itself."""
        return {
            one.name: one
            for one in self.module.tree.body
            if isinstance(one, (*Function, ast.ClassDef))
        }

    @cached_property
    def reads(self) -> dict[ast.AST, list[ast.Name | ast.Attribute]]:
        """What each statement of the module reads, as names or attributes."""
        found: dict[ast.AST, list[ast.Name | ast.Attribute]] = {}
        for uses in self.uses.values():
            for use in uses:
                found.setdefault(self.outermost(use), []).append(use)
        return found

    def is_imported(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether it begins with a name that an import of the module binds, or may bind."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name):
            return False
        scope = self.module.scope
        bound = scope.names.get(root.id, ())
        return any(isinstance(one.node, (ast.Import, ast.ImportFrom)) for one in bound) or (
            not bound and bool(scope.stars)
        )

    def never_runs(self, node: ast.AST) -> bool:
        """Whether it stands below the main guard of a module that is not the script."""
        return self.module.name != "__main__" and is_main_guard(self.outermost(node))

    def is_sure(self, node: ast.AST) -> bool:
        """Whether a node runs whenever its function, or its module as the script, does."""
        inner = node
        while inner in self.parents:
            outer = self.parents[inner]
            if isinstance(outer, (*Function, ast.Module)):
                return inner not in getattr(outer, "decorator_list", ())
            is_expression = isinstance(outer, (ast.expr, ast.keyword)) and not isinstance(
                outer,
                (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp),
            )
            is_plain = isinstance(outer, (ast.Expr, ast.Assign, ast.AnnAssign, ast.Return))
            if not (is_expression or is_plain or is_main_guard(outer)):
                return False
            inner = outer
        return True


def is_main_guard(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    return ast.dump(node.test) in _MAIN_GUARDS


def named_modules(module: Module, node: ast.Import | ast.ImportFrom) -> list[str]:
    """The modules that an import names itself; empty for one from outside its package."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    source = absolute(module, node)
    return [source] if source else []


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
