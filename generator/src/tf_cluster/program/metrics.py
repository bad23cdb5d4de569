"""The names of the metrics that a program's `evaluate` gives, where its code shows them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeGuard

from tf_cluster.program.classes import Family, Member, member
from tf_cluster.program.resolve import (
    Code,
    Elsewhere,
    FunctionHere,
    Meaning,
    Missing,
    Unknown,
    ValueHere,
)
from tf_cluster.program.scope import (
    Function,
    Module,
    Scope,
    arguments_of,
    names_in_function,
    scope_of,
)

_DEEPEST = 6
_MOST_NODES = 300_000
_PLAIN_DECORATORS = ("staticmethod", "classmethod", "override", "final")
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_READERS = tuple(Elsewhere(f"builtins.{name}") for name in ("print", "len", "sorted", "dict"))
_READING = ("items", "keys", "values", "get", "copy")


class _UnknowableError(Exception):
    """The names can't be known; the text says why."""


def metrics_of(code: Code, program: Family) -> tuple[frozenset[str], str] | Unknown | Missing:
    """Every name that `evaluate` may give, and the function's place.

    Missing if the program has no `evaluate` of its own, which gives none.
    """
    found = member(program, "evaluate")
    if isinstance(found, (Unknown, Missing)):
        return found
    try:
        keys = _of_method(code, program, found, 0, _Budget(_MOST_NODES))
    except _UnknowableError as unknowable:
        return Unknown(str(unknowable))
    return frozenset(keys), found.owner.module.place(found.binding.node)


def _of_method(
    code: Code, program: Family, found: Member, depth: int, budget: "_Budget"
) -> set[str]:
    node = found.binding.node
    if not isinstance(node, ast.FunctionDef):
        raise _UnknowableError(f"{found.owner.module.place(node)}: it is no method")
    module = found.owner.module
    if not all(_is_plain(code.meaning(module, one)) for one in node.decorator_list):
        raise _UnknowableError(f"{found.owner.module.place(node)}: what its decorator gives")
    return _Reader(code, program, found.owner.module, node, depth, budget).keys()


def _is_plain(decorator: Meaning) -> bool:
    """Whether it is `override` or the like, by the module that it comes from."""
    if not isinstance(decorator, Elsewhere):
        return False
    home, _, name = decorator.name.rpartition(".")
    return name in _PLAIN_DECORATORS and home in ("builtins", "typing", "typing_extensions")


@dataclass
class _Budget:
    """How many nodes may still be looked at: functions that call functions can be many."""

    left: int

    def take(self, count: int) -> None:
        """Raise _UnknowableError if there are no more."""
        self.left -= count
        if self.left < 0:
            raise _UnknowableError("evaluate is too large to be read")


class _Reader:
    """Reads what one function returns."""

    def __init__(
        self,
        code: Code,
        program: Family,
        module: Module,
        function: ast.FunctionDef,
        depth: int,
        budget: _Budget,
    ) -> None:
        self._code = code
        self._program = program
        self._module = module
        self._function = function
        self._depth = depth
        self._nodes = tuple(_inside(function))
        self._budget = budget
        budget.take(len(self._nodes))
        self._names = names_in_function(function)
        self._following: set[str] = set()

    @cached_property
    def _scope(self) -> Scope:
        return scope_of(self._function.body)

    def keys(self) -> set[str]:
        """The keys of all that is returned. Raises _UnknowableError."""
        if self._module.scope.is_open:
            raise self._unknowable(self._function, "names that no line says")
        if self._depth > _DEEPEST:
            raise self._unknowable(self._function, "functions call each other too deeply")
        odd = (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)
        if any(isinstance(node, odd) for node in self._nodes):
            raise self._unknowable(self._function, "it is no plain function")
        returns = [node for node in self._nodes if isinstance(node, ast.Return)]
        if not returns:
            raise self._unknowable(self._function, "it returns nothing")
        found: set[str] = set()
        for node in returns:
            if node.value is None:
                raise self._unknowable(node, "it returns nothing")
            found |= self._keys_of(node.value)
        return found

    def _unknowable(self, node: ast.AST, why: str) -> _UnknowableError:
        return _UnknowableError(f"{self._module.place(node)}: {why}")

    def _keys_of(self, node: ast.expr) -> set[str]:
        if isinstance(node, ast.Dict):
            found = set()
            for key, value in zip(node.keys, node.values, strict=True):
                found |= self._keys_of(value) if key is None else {self._key(key)}
            return found
        if isinstance(node, ast.IfExp):
            return self._keys_of(node.body) | self._keys_of(node.orelse)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._keys_of(node.left) | self._keys_of(node.right)
        if isinstance(node, ast.Name):
            return self._keys_of_local(node)
        if isinstance(node, ast.Call):
            return self._keys_of_call(node)
        raise self._unknowable(node, "the names that it returns")

    def _key(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        if isinstance(node, ast.Name) and node.id not in self._names:
            meant = self._code.meaning(self._module, node)
            if isinstance(meant, ValueHere) and isinstance(meant.node, ast.Constant):
                return str(meant.node.value)
        raise self._unknowable(node, "a name of a metric")

    def _keys_of_local(self, node: ast.Name) -> set[str]:
        """A variable that is set to dictionaries, and gets more keys by name."""
        name = node.id
        if name in self._following:
            raise self._unknowable(node, f"what {name} is")
        bindings = self._scope.names.get(name, [])
        is_set = bindings and all(isinstance(one.node, _ASSIGNMENTS) for one in bindings)
        if not is_set or name in arguments_of(self._function):
            raise self._unknowable(node, f"what {name} has")
        self._following.add(name)
        self._budget.take(3 * len(self._nodes))
        found: set[str] = set()
        accounted: set[ast.AST] = set()
        for statement in self._nodes:
            accounted.update(self._reads(statement))
            if isinstance(statement, ast.Call) and _is_update_of(statement, name):
                accounted.update(ast.iter_child_nodes(statement.func))
                found |= {self._named(keyword) for keyword in statement.keywords}
                for argument in statement.args:
                    found |= self._keys_of(argument)
                continue
            target, value = _assignment(statement)
            if _is_name(target, name) and value is not None:
                accounted.add(target)
                found |= self._keys_of(value)
            elif isinstance(target, ast.Subscript) and _is_name(target.value, name):
                accounted.add(target.value)
                found.add(self._key(target.slice))
        self._following.discard(name)
        for use in self._nodes:
            if _is_name(use, name) and use not in accounted:
                raise self._unknowable(use, f"what happens to {name}")
        return found

    def _reads(self, node: ast.AST) -> Iterator[ast.expr]:
        """Expressions that a node only reads: a dictionary there stays what it is."""
        if isinstance(node, ast.Return):
            yield from [node.value] if node.value else []
        elif isinstance(node, ast.FormattedValue):
            yield node.value
        elif isinstance(node, ast.Subscript):
            yield from [node.value] if isinstance(node.ctx, ast.Load) else []
        elif isinstance(node, ast.Dict):  # {**metrics}
            yield from (value for key, value in zip(node.keys, node.values, strict=True) if not key)
        elif isinstance(node, ast.Call):
            function = node.func
            if self._is_reader(function):
                yield from node.args
            elif isinstance(function, ast.Attribute) and function.attr in _READING:
                yield function.value

    def _is_reader(self, function: ast.expr) -> bool:
        """Whether it is a function of Python that changes no dictionary."""
        if not isinstance(function, ast.Name) or function.id in self._names:
            return False
        return self._code.meaning(self._module, function) in _READERS

    def _named(self, keyword: ast.keyword) -> str:
        if keyword.arg is None:
            raise self._unknowable(keyword.value, "names by **")
        return keyword.arg

    def _keys_of_call(self, node: ast.Call) -> set[str]:
        function = node.func
        if isinstance(function, ast.Attribute):
            owner = function.value
            if (
                isinstance(owner, ast.Name)
                and owner.id == "self"
                and "self" not in self._scope.names
            ):
                found = member(self._program, function.attr)
                if isinstance(found, Member):
                    return _of_method(
                        self._code, self._program, found, self._depth + 1, self._budget
                    )
            raise self._unknowable(node, "what it calls")
        if not isinstance(function, ast.Name) or function.id in self._names:
            raise self._unknowable(node, "what it calls")
        meant = self._code.meaning(self._module, function)
        if meant == Elsewhere("builtins.dict"):
            found_keys = {self._named(keyword) for keyword in node.keywords}
            for argument in node.args:
                found_keys |= self._keys_of(argument)
            return found_keys
        if isinstance(meant, FunctionHere) and isinstance(meant.node, ast.FunctionDef):
            if meant.node.decorator_list:
                raise self._unknowable(node, "what its decorator gives")
            return _Reader(
                self._code,
                self._program,
                meant.module,
                meant.node,
                self._depth + 1,
                self._budget,
            ).keys()
        raise self._unknowable(node, "what it calls")


def _is_update_of(node: ast.Call, name: str) -> bool:
    function = node.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "update"
        and _is_name(function.value, name)
    )


def _is_name(node: ast.AST | None, name: str) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and node.id == name


def _assignment(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    """Target and value of an assignment to one target; None and None for anything else."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.targets[0], node.value
    if isinstance(node, ast.AnnAssign):
        return node.target, node.value
    if isinstance(node, ast.AugAssign) and (
        isinstance(node.op, ast.BitOr) or isinstance(node.target, ast.Subscript)
    ):
        return node.target, node.value
    return None, None


def _inside(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function's body; of functions and classes in it, only that they are there."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, (*Function, ast.Lambda, ast.ClassDef)):
            # What they read is read all the same: a closure may change a variable.
            yield from (one for one in ast.walk(node) if isinstance(one, ast.Name))
            continue
        waiting.extend(ast.iter_child_nodes(node))
