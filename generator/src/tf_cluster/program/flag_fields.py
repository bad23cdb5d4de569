"""The flags that a program declares: the fields of its frozen dataclass."""

import ast
from dataclasses import dataclass

from tf_cluster.program.classes import (
    PROGRAM_CLASS,
    Family,
    Member,
    decorators,
    family,
    makes_instances,
    member,
    own_scope,
)
from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.dataclass_fields import (
    Dataclasses,
    Fault,
    Made,
    UnknowableError,
    annotated_name,
    annotations,
)
from tf_cluster.program.kinds import Anything, Kind, kind_of, unquoted
from tf_cluster.program.resolve import (
    ClassHere,
    Code,
    Elsewhere,
    FunctionHere,
    Meaning,
    Missing,
    Unknown,
    ValueHere,
)
from tf_cluster.program.scope import last_word

# Calls of Python's own that surely give no dataclass.
_VALUES = tuple(f"builtins.{name}" for name in ("dict", "list", "tuple", "set", "str", "int"))

# What a class may do as an instance of it is made; a `__post_init__` that only checks does nothing.
_MAKERS = ("__post_init__", "__init__", "__new__", "__getattribute__", "__setattr__")
_SETTERS = frozenset(("__setattr__", "setattr", "__dict__", "vars", "super"))


@dataclass(frozen=True)
class FlagField:
    """A flag: its type, whether it has a default (None: can't be known), and where it stands.

    `default` is the default's expression, where it is one; of a name, the constant that it has.
    """

    name: str
    kind: Kind
    has_default: bool | None
    place: CodePlace
    default: ast.expr | None = None


@dataclass(frozen=True)
class Declared:
    """The flags class of a program, `place` where it stands, and its fields by name."""

    name: str
    place: CodePlace
    fields: dict[str, FlagField]


@dataclass(frozen=True)
class Undeclared:
    """The program declares no flags: any are good."""


@dataclass(frozen=True)
class Flags:
    """What a program declares, as it is meant, and what is wrong with the declaration."""

    what: Declared | Undeclared | Unknown
    faults: tuple[Fault, ...] = ()


def flags_of(code: Code, program: Family) -> Flags:
    """What a program says in its class attribute `flags`."""
    fault = _annotation(code, program)
    if fault is not None:
        return Flags(Unknown(f"{fault.place}: {fault.why}"), (fault,))
    found = member(program, "flags")
    if isinstance(found, Missing):
        return Flags(Undeclared())
    if isinstance(found, Unknown):
        return Flags(found)
    meant = _bound(code, found)
    if isinstance(meant, ValueHere):
        if isinstance(meant.node, ast.Constant) and meant.node.value is None:
            return Flags(Undeclared())
        if isinstance(meant.node, (ast.Constant, ast.Dict, ast.List, ast.Tuple, ast.Set)):
            return _no_dataclass(ast.unparse(meant.node), meant.module.place(meant.node))
        if isinstance(meant.node, ast.Call):
            return _called(code, found, meant, meant.node)
    if isinstance(meant, FunctionHere) and not meant.node.decorator_list:
        return _no_dataclass(meant.node.name, meant.module.place(meant.node))
    if not isinstance(meant, ClassHere):
        place = found.owner.module.place(found.binding.node)
        return Flags(Unknown(f"{place}: the class of the flags"))
    return _declared(code, meant)


def _called(code: Code, found: Member, meant: ValueHere, call: ast.Call) -> Flags:
    """The flags where a call stands: an instance is refused, a class of flags or not."""
    place = meant.module.place(call)
    is_own = call is found.binding.value
    made = _meant(code, found.owner, call.func) if is_own else code.meaning(meant.module, call.func)
    if isinstance(made, ClassHere) and makes_instances(code, made):
        name = made.node.name
        fix = f"write flags = {name}" if _is_dataclass(code, made) else ""
        return _no_dataclass(f"an instance of {name}", place, fix)
    if isinstance(made, Elsewhere) and made.name in _VALUES:
        return _no_dataclass(f"what {ast.unparse(call.func)}(…) gives", place)
    return Flags(Unknown(f"{place}: the class of the flags"))


def _annotation(code: Code, program: Family) -> Fault | None:
    """Why a line `flags: F` is refused: it names the flags' class, and gives no value."""
    for one in (None if program.unknown else program.order) or (program.itself,):
        if one == PROGRAM_CLASS:  # Program's own flags come first
            return None
        if not isinstance(one, ClassHere):
            continue
        scope = own_scope(one)
        if scope.is_open or "flags" in scope.names or code.setter_of("flags"):
            return None
        lines = [line for line in annotations(one) if annotated_name(line) == "flags"]
        kind = unquoted(lines[-1].annotation) if lines else None
        meant = _meant(code, one, kind) if kind else None
        if isinstance(meant, ClassHere) and _is_dataclass(code, meant):
            found = member(program, "flags")
            value = _bound(code, found) if isinstance(found, Member) else found
            if isinstance(value, Unknown) or (
                isinstance(value, ClassHere) and value.node is meant.node
            ):
                return None
            name = meant.node.name
            why = f"{one.node.name} has the line flags: {name}, which gives flags no value"
            return Fault(why, f"write flags = {name}", one.module.place(lines[-1]))
    return None


def _is_dataclass(code: Code, one: ClassHere) -> bool:
    return isinstance(_declared(code, one).what, Declared)


def _bound(code: Code, found: Member) -> Meaning:
    owner, node = found.owner, found.binding.node
    if isinstance(node, ast.ClassDef):
        return ClassHere(owner.module, node)
    value = found.binding.value
    return Unknown("a method") if value is None else _meant(code, owner, value)


def _meant(code: Code, owner: ClassHere, value: ast.expr) -> Meaning:
    """What an expression in the body of a class stands for."""
    if isinstance(value, ast.Name):
        beside = own_scope(owner).names.get(value.id, [])
        if len(beside) == 1 and isinstance(beside[0].node, ast.ClassDef):
            return ClassHere(owner.module, beside[0].node)
        if beside:
            return Unknown("a name of the class")
    return code.meaning(owner.module, value)


def _no_dataclass(name: str, place: CodePlace, fix: str = "") -> Flags:
    why = f"{name} is no dataclass"
    fault = Fault(_declaring(why), fix or "name a frozen dataclass", place)
    return Flags(Unknown(f"{place}: {why}"), (fault,))


def _declaring(why: str) -> str:
    return f"{why}, and it declares the program's flags"


def _declared(code: Code, start: ClassHere) -> Flags:
    whole = family(code, start)
    if whole.unknown:
        return Flags(Unknown(whole.unknown))
    name, place = start.node.name, start.module.place(start.node)
    if not any(decorators(code, one) for one in whole.classes):
        return _no_dataclass(name, place)
    orders = whole.orders
    if orders is None:
        why = f"Python can't define {name}: its bases contradict each other"
        fault = Fault(why, "change their order", place)
        return Flags(Unknown(f"{place}: what {name} inherits"), (fault,))
    maker = Dataclasses(code, orders)
    try:
        shape = maker.make(start)
    except UnknowableError as unknowable:
        return Flags(Unknown(str(unknowable)), tuple(maker.faults))
    if shape.fields is None:
        return _no_dataclass(name, place)
    made = shape.fields.values()
    faults = [*maker.faults, *filter(None, map(_never_given, made))]
    if not shape.frozen and not shape.has_frozen_base:
        fix = "write @dataclass(frozen=True)"
        faults.append(Fault(_declaring(f"{name} can be changed by any hook"), fix, place))
    at_fault = {fault.name for fault in faults}
    is_filled = any(map(_fills, whole.classes))
    fields = {
        one.name: _field(code, one, is_at_fault=one.name in at_fault, is_filled=is_filled)
        for one in made
        if one.form == "field" and one.init is not False
    }
    return Flags(Declared(name, place, fields), tuple(faults))


def _never_given(made: Made) -> Fault | None:
    if made.form != "InitVar" or made.has_default is not False or made.init is False:
        return None
    place = made.owner.module.place(made.node)
    why = f"{made.name} is InitVar and has no default, and no flag gives it a value"
    return Fault(why, "give it a default", place, made.name)


def _fills(one: ClassHere) -> bool:
    """Whether a class may give fields other values than their defaults as an instance is made."""
    for name in _MAKERS:
        for binding in own_scope(one).names.get(name, ()):
            if name != "__post_init__" or _sets(binding.node):
                return True
    return False


def _sets(function: ast.AST) -> bool:
    """Whether a method may set an attribute, itself or by what it gives its instance to."""
    arguments = function.args.args if isinstance(function, ast.FunctionDef) else []
    if not arguments:
        return True
    nodes = tuple(ast.walk(function))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    read = {node.value for node in nodes if isinstance(node, ast.Attribute) and node not in called}
    return any(
        last_word(node) in _SETTERS
        or (isinstance(node, ast.Name) and node.id == arguments[0].arg and node not in read)
        for node in nodes
    )


def _field(code: Code, made: Made, *, is_at_fault: bool, is_filled: bool) -> FlagField:
    """`is_filled`: its value may be another than its default says."""
    module, node = made.owner.module, made.node
    kind: Kind = kind_of(code, module, node.annotation)
    own = own_scope(made.owner).names
    if any(isinstance(n, ast.Name) and n.id in own for n in ast.walk(node.annotation)):
        kind = Anything(f"{module.place(node)}: a type of the class itself")
    has_default = None if is_at_fault and made.has_default is False else made.has_default
    default = None if is_filled else _default(code, made)
    return FlagField(made.name, kind, has_default, module.place(node), default)


def _default(code: Code, made: Made) -> ast.expr | None:
    """A default's expression; that of a constant, where it is surely one by its name."""
    node, module = made.default, made.owner.module
    if not isinstance(node, ast.Name) or node.id in own_scope(made.owner).names:
        return node
    if code.setter_of(node.id) or not any(one is node for one in ast.walk(made.node)):
        return node  # the name of a base's default may be one of another module
    meant = code.meaning(module, node)
    if isinstance(meant, ValueHere) and not meant.module.scope.is_open:
        return meant.node
    return node
