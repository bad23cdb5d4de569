"""Which names a module or a class binds, and whether that can be known."""

import ast
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tf_cluster.program.code_place import CodePlace

# They import or run what a text says.
_RUNNERS = frozenset(
    (
        *("import_module", "__import__", "exec", "eval", "execfile", "run_path", "run_module"),
        *("exec_module", "load_module", "load_source", "iter_modules", "walk_packages"),
    )
)
_MAIN_GUARDS = tuple(
    ast.dump(ast.parse(text, mode="eval").body)
    for text in ("__name__ == '__main__'", "'__main__' == __name__")
)
_CHANGES = ("update", "setdefault", "pop", "popitem", "clear", "__setitem__", "__delitem__")
Statement = ast.stmt | ast.excepthandler | ast.match_case
Function = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Binding:
    """One place that binds a name. `value`: what to, where that is an expression.

    `sure` is False where the statement may not run, or binds by something else than its look.
    """

    node: ast.AST
    value: ast.expr | None = None
    sure: bool = True


@dataclass
class Scope:
    """The names that the statements of a module or a class bind.

    `stars` are its star imports. `is_open`: it may have names besides (`globals()`, `exec`).
    """

    names: dict[str, list[Binding]] = field(default_factory=dict)
    stars: list[ast.ImportFrom] = field(default_factory=list)
    is_open: bool = False

    def only(self, name: str) -> Binding | None:
        """The one binding of a name that is sure; None where there is none, or are several."""
        found = self.names.get(name, [])
        return found[0] if len(found) == 1 and found[0].sure else None


@dataclass(frozen=True)
class Module:
    """A file of code. `name` is its dotted name; `__main__` of a script.

    `file` is its name in messages, `path` where it is.
    """

    name: str
    file: str
    path: str
    tree: ast.Module
    is_package: bool = False
    class_scopes: dict[ast.ClassDef, Scope] = field(default_factory=dict)

    @cached_property
    def scope(self) -> Scope:
        """The names of the module itself."""
        scope = scope_of(self.tree.body)
        scope.is_open = self._is_open or "__getattr__" in scope.names
        for node in self.nodes:
            if isinstance(node, ast.Global):
                for name in node.names:
                    scope.names.setdefault(name, []).append(Binding(node, sure=False))
        return scope

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the file."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node around each node."""
        return {inner: node for node in self.nodes for inner in ast.iter_child_nodes(node)}

    @cached_property
    def changed_outside(self) -> frozenset[str]:
        """Names with an attribute that some statement sets from outside: `Net.flags = Other`."""
        return frozenset(_changed(self.nodes))

    @cached_property
    def attributes_set(self) -> frozenset[str]:
        """Attributes that some statement sets, of whatever object: `self.evaluate = …`."""
        stored = {
            node.attr
            for node in self.nodes
            if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load)
        }
        named = {
            str(name.value) for name in map(_name_set, self.nodes) if isinstance(name, ast.Constant)
        }
        return frozenset(stored | named)

    @cached_property
    def sets_any_attribute(self) -> bool:
        """Whether some statement sets an attribute whose name can't be known."""
        return any(
            (name := _name_set(node)) is not None and not isinstance(name, ast.Constant)
            for node in self.nodes
        ) or any(map(_changes_dict, self.nodes))

    @cached_property
    def runs_unseen_code(self) -> bool:
        """Whether it imports or runs what no line names: `import_module(name)`, `exec(text)`."""
        return self._is_open or any(
            isinstance(node, (ast.Name, ast.Attribute)) and last_word(node) in _RUNNERS
            for node in self.nodes
        )

    @cached_property
    def class_names(self) -> Counter[str]:
        """How many classes bind each name, by a method or in another way."""
        classes = (node for node in self.nodes if isinstance(node, ast.ClassDef))
        return Counter(name for one in classes for name in scope_of(one.body).names)

    def gives_by_star(self, name: str) -> bool | None:
        """Whether `from … import *` may take a name from here; None where it can't be known."""
        if "__all__" not in self.scope.names:
            return not name.startswith("_")
        return None if self._listed is None else name in self._listed

    @cached_property
    def _listed(self) -> frozenset[str] | None:
        """What `__all__` lists; None where that can't be known."""
        binding = self.scope.only("__all__")
        listed = binding.value if binding else None
        if not isinstance(listed, (ast.List, ast.Tuple)) or self._is_open:
            return None
        names = [one.value for one in listed.elts if isinstance(one, ast.Constant)]
        is_read = any(
            isinstance(node, ast.Name) and node.id == "__all__" and isinstance(node.ctx, ast.Load)
            for node in self.nodes
        )
        return None if is_read or len(names) < len(listed.elts) else frozenset(map(str, names))

    @cached_property
    def _is_open(self) -> bool:
        return any(_opens(node, self.sys_names) for node in self.nodes)

    @cached_property
    def sys_names(self) -> frozenset[str]:
        """What the module calls Python's sys."""
        other = (
            alias.asname or alias.name
            for node in self.nodes
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "sys"
        )
        return frozenset(("sys", *other))

    def at_import(self) -> Iterator[ast.stmt]:
        """The statements that run when another module imports this one."""
        return (one for one in self.tree.body if not is_main_guard(one))

    def place(self, node: ast.AST) -> CodePlace:
        """`train.py:12`."""
        return CodePlace(self.file, self.path, getattr(node, "lineno", 1))


def is_main_guard(node: ast.AST) -> bool:
    """`if __name__ == "__main__":`."""
    if not isinstance(node, ast.If) or node.orelse:
        return False
    return ast.dump(node.test) in _MAIN_GUARDS


def _opens(node: ast.AST, names: Collection[str]) -> bool:
    """Whether this may bind names of the module that no statement names; `names` are sys's."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name = node.func.id
        return name in ("globals", "exec") or (name in ("vars", "locals") and not node.args)
    if isinstance(node, ast.Attribute) and node.attr == "modules":
        return isinstance(node.value, ast.Name) and node.value.id in names
    return isinstance(node, ast.ImportFrom) and node.module == "sys" and _imports(node, "modules")


def last_word(node: ast.AST | None) -> str:
    """`exit` of `sys.exit`, and a name itself; empty for what has no name."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _name_set(node: ast.AST) -> ast.expr | None:
    """The name that a call of setattr, delattr or `__setattr__` sets; None for anything else."""
    if not isinstance(node, ast.Call):
        return None
    name = last_word(node.func)
    if name in ("setattr", "delattr", "__delattr__") and len(node.args) > 1:
        return node.args[1]
    if name in ("__setattr__", "__delattr__") and node.args:  # object's, with self, or super()'s
        return node.args[-2] if len(node.args) > 1 else node.args[0]
    return None


def _changes_dict(node: ast.AST) -> bool:
    """Whether it changes the names of an object: `self.__dict__["a"] = 1`, `vars(x).update(…)`."""
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return _is_dict_of(node.value)
    if isinstance(node, ast.Attribute):
        return node.attr in _CHANGES and _is_dict_of(node.value)
    return isinstance(node, ast.Assign) and _is_dict_of(node.value)


def _is_dict_of(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "vars" and bool(node.args)
    return isinstance(node, ast.Attribute) and node.attr == "__dict__"


def _imports(node: ast.ImportFrom, name: str) -> bool:
    return any(alias.name == name for alias in node.names)


def _changed(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, (ast.Store, ast.Del))
            and isinstance(node.value, ast.Name)
        ):
            yield node.value.id
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("setattr", "delattr")
            and node.args
            and isinstance(node.args[0], ast.Name)
        ):
            yield node.args[0].id


def scope_of(body: Iterable[ast.stmt]) -> Scope:
    """The names that statements bind, nested ones too, but not inside functions or classes."""
    scope = Scope()
    waiting: list[tuple[ast.AST, bool]] = [(statement, True) for statement in body]
    while waiting:
        node, sure = waiting.pop()
        for name, value in _bound(node):
            simple = isinstance(
                node,
                (ast.ClassDef, *Function, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign),
            )
            scope.names.setdefault(name, []).append(Binding(node, value, sure and simple))
        if isinstance(node, ast.ImportFrom) and _imports(node, "*"):
            scope.stars.append(node)
        for inner in ast.iter_child_nodes(node):
            is_inside = isinstance(inner, Statement) and not isinstance(
                node, (ast.ClassDef, *Function)
            )
            if is_inside or isinstance(inner, ast.withitem | ast.pattern):
                waiting.append((inner, False))
        for walrus in _walruses(node):
            scope.names.setdefault(walrus, []).append(Binding(node, sure=False))
    return scope


AnyFunction = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


def arguments_of(function: AnyFunction) -> frozenset[str]:
    """The names of a function's arguments."""
    every = function.args
    found = (*every.posonlyargs, *every.args, *every.kwonlyargs, every.vararg, every.kwarg)
    return frozenset(one.arg for one in found if one is not None)


def names_in_function(function: AnyFunction) -> frozenset[str]:
    """The names that mean something of the function's own: what its arguments and its body bind.

    Those that `global` and `nonlocal` share with the outside are among them, those of functions in
    it are not.
    """
    types = {one.name for one in getattr(function, "type_params", ())}  # def f[T](…)
    if isinstance(function, ast.Lambda):
        return arguments_of(function) | {*_walruses(function)}
    return arguments_of(function) | types | scope_of(function.body).names.keys()


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    """The names that this node binds, without those that nodes inside it bind."""
    if isinstance(node, (ast.ClassDef, *Function)):
        yield node.name, None
    elif isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0], None
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            if alias.name != "*":
                yield alias.asname or alias.name, None
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _targets(target, node.value)
    elif isinstance(node, ast.AnnAssign):
        if node.value is not None:
            yield from _targets(node.target, node.value)
    elif isinstance(node, ast.AugAssign | ast.For | ast.AsyncFor):
        yield from _targets(node.target)
    elif isinstance(node, ast.Delete):
        for target in node.targets:
            yield from _targets(target)
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from _targets(node.optional_vars)
    elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
        yield node.name, None
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest, None
    elif isinstance(node, (ast.Global, ast.Nonlocal)):
        yield from ((name, None) for name in node.names)
    elif type(node).__name__ == "TypeAlias":  # type Words = …, of Python 3.12
        yield from _targets(node.name)  # type: ignore[attr-defined]


def _targets(
    target: ast.expr, value: ast.expr | None = None
) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    else:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                yield node.id, None


def _walruses(node: ast.AST) -> Iterator[str]:
    """Names that `:=` binds in the expressions of a statement, or in the head of a definition."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, (ast.expr, ast.arguments, ast.keyword)):
            for one in ast.walk(inner):
                if isinstance(one, ast.NamedExpr):
                    yield one.target.id
