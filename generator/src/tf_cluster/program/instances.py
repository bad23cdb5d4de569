"""Whether Python makes an instance of a program's class, as the trainer asks: without arguments."""

import ast
from collections.abc import Collection, Iterator, Sequence

from tf_cluster.program.classes import (
    Family,
    Member,
    decorators,
    member,
    own_scope,
)
from tf_cluster.program.dataclass_fields import Fault
from tf_cluster.program.order import PROTOCOL
from tf_cluster.program.resolve import ClassHere, Code, Elsewhere

_ABC = Elsewhere("abc.ABC")
_ABSTRACT = Elsewhere("abc.abstractmethod")
# Decorators beside which an abstract method stays one.
_KEEPING = tuple(Elsewhere(f"builtins.{name}") for name in ("property", "staticmethod"))
_KEEPING += (Elsewhere("builtins.classmethod"), _ABSTRACT)
_HARMLESS = ("typing.final", "typing_extensions.final", "typing.runtime_checkable")
_SHOWN = 3  # abstract methods besides the first
# With one of these in a class its making, or a call of it, may do anything.
_MAKERS = ("__new__", "__init_subclass__", "__abstractmethods__")


def is_abstract(code: Code, of: Family, found: Member) -> bool:
    """Whether an attribute of a class is an abstract method that Python surely refuses to call.

    Without ABC it does not refuse: then it is one whose body is empty.
    """
    if not _is_marked(code, found):
        return False
    if _is_of_abc(of, found.owner):
        return _is_simple(code, of)
    return isinstance(found.binding.node, ast.FunctionDef) and _is_empty(found.binding.node)


def refusals(code: Code, of: Family, hooks: Collection[str]) -> Iterator[Fault]:
    """Why Python surely makes no instance of a program's class, abstract hooks aside."""
    name = of.itself.node.name
    if of.unknown:
        return
    if of.order is None:
        why = f"Python can't define {name}: its bases contradict each other"
        yield Fault(why, "change their order", of.place)
        return
    if not _is_simple(code, of):
        return
    methods = [one for one in _abstract(code, of) if one[0] not in hooks]
    if methods:
        yield _of_methods(name, sorted(methods, key=_line))
    init = member(of, "__init__")
    asked = _asked(init) if isinstance(init, Member) and PROTOCOL not in of.order else ""
    if asked and isinstance(init, Member):
        why = f"{name}() fails: __init__ asks for {asked}, and the trainer gives no arguments"
        place = init.owner.module.place(init.binding.node)
        yield Fault(why, "give it a default, or make it a flag", place)


def _of_methods(name: str, methods: Sequence[tuple[str, Member]]) -> Fault:
    """Why Python makes no instance of a class with these abstract methods."""
    (method, first), *rest = methods
    others = [other for other, _ in rest[:_SHOWN]] + ["…"] * (len(rest) > _SHOWN)
    also = f", and so: {', '.join(others)}" if others else ""
    why = f"Python makes no {name}(): {first.owner.node.name}.{method} is abstract{also}"
    place = first.owner.module.place(first.binding.node)
    return Fault(why, f"define {'them' if others else method} in {name}", place)


def _abstract(code: Code, of: Family) -> Iterator[tuple[str, Member]]:
    """The abstract methods that a class still has, by name."""
    names = {
        name: None
        for one in of.classes
        if _is_of_abc(of, one)
        for name, bound in own_scope(one).names.items()
        if isinstance(bound[0].node, ast.FunctionDef) and bound[0].node.decorator_list
    }
    for name in names:
        found = member(of, name)
        if isinstance(found, Member) and _is_of_abc(of, found.owner) and _is_marked(code, found):
            yield name, found


def _line(found: tuple[str, Member]) -> int:
    return getattr(found[1].binding.node, "lineno", 0)


def _is_marked(code: Code, found: Member) -> bool:
    """Whether a method has @abstractmethod, and nothing that may undo it."""
    node, owner = found.binding.node, found.owner
    if not isinstance(node, ast.FunctionDef):
        return False
    own = own_scope(owner).names
    meant = [
        code.meaning(owner.module, one)
        for one in node.decorator_list
        if not (isinstance(one, ast.Name) and one.id in own)
    ]
    is_known = len(meant) == len(node.decorator_list) and all(one in _KEEPING for one in meant)
    return is_known and _ABSTRACT in meant


def _is_of_abc(of: Family, one: ClassHere) -> bool:
    """Whether ABCMeta makes a class, so that it minds its abstract methods."""
    return any(
        bool(base.node.keywords) if isinstance(base, ClassHere) else base in (_ABC, PROTOCOL)
        for base in of.order_of(one)
    )


def _is_simple(code: Code, of: Family) -> bool:
    """Whether nothing but its lines says how a class is made, and what a call of it does."""
    if of.unknown or of.order is None:
        return False
    for one in of.classes:
        made = [meant for _, meant in decorators(code, one)]
        if not all(isinstance(meant, Elsewhere) and meant.name in _HARMLESS for meant in made):
            return False
        scope = own_scope(one)
        if scope.is_open or any(word in scope.names for word in _MAKERS):
            return False
        if "__abstractmethods__" in one.module.attributes_set:
            return False
    return True


def _is_empty(function: ast.FunctionDef) -> bool:
    """Whether a body does nothing, or says that it is not there."""
    return all(
        isinstance(line, ast.Pass)
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
        or (isinstance(line, ast.Raise) and _is_not_implemented(line.exc))
        for line in function.body
    )


def _is_not_implemented(raised: ast.expr | None) -> bool:
    raised = raised.func if isinstance(raised, ast.Call) else raised
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _asked(init: Member) -> str:
    """The arguments that a constructor surely asks for; empty where there are none."""
    node = init.binding.node
    if not isinstance(node, ast.FunctionDef) or node.decorator_list:
        return ""
    given = node.args
    positional = [*given.posonlyargs, *given.args]
    required = positional[1 : len(positional) - len(given.defaults)]
    pairs = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    required += [one for one, default in pairs if default is None]
    return ", ".join(one.arg for one in required[:3])
