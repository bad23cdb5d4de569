"""The flags that a program declares: the fields of its frozen dataclass."""

import ast
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.program.classes import Family, Member, decorators, family, member, own_scope
from tf_cluster.program.kinds import Anything, Kind, kind_of
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


@dataclass(frozen=True)
class FlagField:
    """A flag: its type, whether it has a default (None: can't be known), and where it stands.

    `default` is the default's expression, where it is one.
    """

    name: str
    kind: Kind
    has_default: bool | None
    place: str
    default: ast.expr | None = None


@dataclass(frozen=True)
class Declared:
    """The flags class of a program, `place` where it stands, and its fields by name."""

    name: str
    place: str
    fields: dict[str, FlagField]


@dataclass(frozen=True)
class Undeclared:
    """The program declares no flags: any are good."""


@dataclass(frozen=True)
class Fault:
    """Why the trainer refuses a flags class; the words say why and what to write."""

    why: str
    fix: str
    place: str


@dataclass(frozen=True)
class Flags:
    """What a program declares, as it is meant, and what is wrong with the declaration."""

    what: Declared | Undeclared | Unknown
    faults: tuple[Fault, ...] = ()


class _UnknowableError(Exception):
    """The fields can't be known; the text says why."""


def flags_of(code: Code, program: Family) -> Flags:
    """What a program says in its class attribute `flags`."""
    found = member(program, "flags")
    if isinstance(found, Missing):
        return Flags(Undeclared())
    if isinstance(found, Unknown):
        return Flags(found)
    meant = _meant(code, found)
    if isinstance(meant, ValueHere):
        if isinstance(meant.node, ast.Constant) and meant.node.value is None:
            return Flags(Undeclared())
        if isinstance(meant.node, (ast.Constant, ast.Dict, ast.List)):
            return _no_dataclass(ast.unparse(meant.node), meant.module.place(meant.node))
    if isinstance(meant, FunctionHere) and not meant.node.decorator_list:
        return _no_dataclass(meant.node.name, meant.module.place(meant.node))
    if not isinstance(meant, ClassHere):
        place = found.owner.module.place(found.binding.node)
        return Flags(Unknown(f"{place}: the class of the flags"))
    try:
        return _declared(code, meant)
    except _UnknowableError as unknowable:
        return Flags(Unknown(str(unknowable)))


def _meant(code: Code, found: Member) -> Meaning:
    owner, node = found.owner, found.binding.node
    if isinstance(node, ast.ClassDef):
        return ClassHere(owner.module, node)
    value = found.binding.value
    if value is None:
        return Unknown("a method")
    if isinstance(value, ast.Name):
        beside = own_scope(owner).names.get(value.id, [])
        if len(beside) == 1 and isinstance(beside[0].node, ast.ClassDef):
            return ClassHere(owner.module, beside[0].node)
        if beside:
            return Unknown("a name of the class")
    return code.meaning(owner.module, value)


def _no_dataclass(name: str, place: str) -> Flags:
    why = f"{name} is no dataclass"
    fault = Fault(why, "it has to name a frozen dataclass", place)
    return Flags(Unknown(f"{place}: {why}"), (fault,))


def _declared(code: Code, start: ClassHere) -> Flags:
    whole = family(code, start)
    if whole.unknown:
        raise _UnknowableError(whole.unknown)
    if not whole.is_line:
        raise _UnknowableError(f"{start.module.place(start.node)}: {start.node.name} has two bases")
    fields: dict[str, FlagField] = {}
    frozen: bool | None = None
    for one in reversed(whole.classes):
        is_frozen = _frozen(code, one)
        if is_frozen is None:
            _refuse_plain_values(one, fields)
            continue
        frozen = is_frozen
        for field in _own_fields(code, one, fields):
            fields[field.name] = field
    name, place = start.node.name, start.module.place(start.node)
    if frozen is None:
        return _no_dataclass(name, place)
    faults = []
    if not frozen:
        why = f"{name} can be changed by any hook"
        faults.append(Fault(why, "write @dataclass(frozen=True)", place))
    declared = Declared(name, place, {n: f for n, f in fields.items() if f.place})
    return Flags(declared, tuple(faults))


def _frozen(code: Code, one: ClassHere) -> bool | None:
    """Whether a class is made a frozen dataclass, or an open one; None if neither."""
    found = decorators(code, one)
    if not found:
        return None
    place = one.module.place(one.node)
    if len(found) > 1 or found[0][1] != Elsewhere("dataclasses.dataclass"):
        raise _UnknowableError(f"{place}: what its decorators make of {one.node.name}")
    call = found[0][0]
    frozen = False
    for keyword in call.keywords if isinstance(call, ast.Call) else ():
        value = keyword.value
        if not isinstance(value, ast.Constant) or keyword.arg in (None, "init"):
            raise _UnknowableError(f"{place}: how {one.node.name} is made a dataclass")
        if keyword.arg == "frozen":
            frozen = bool(value.value)
    return frozen


def _refuse_plain_values(one: ClassHere, fields: dict[str, FlagField]) -> None:
    """A class without the decorator has no fields of its own; it may have values for its bases'."""
    scope = own_scope(one)
    if scope.is_open or fields.keys() & scope.names.keys() or "__init__" in scope.names:
        raise _UnknowableError(f"{one.module.place(one.node)}: what {one.node.name} changes")


def _own_fields(code: Code, one: ClassHere, before: dict[str, FlagField]) -> list[FlagField]:
    scope = own_scope(one)
    place = one.module.place(one.node)
    if scope.is_open or "__annotations__" in scope.names or "__init__" in scope.names:
        raise _UnknowableError(f"{place}: the fields of {one.node.name}")
    top = set()
    fields: list[FlagField] = []
    names: set[str] = set()
    for statement in one.node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            top.add(statement)
            field = _field(code, one, statement, before)
            if field is not None:
                if field.name in names:
                    raise _UnknowableError(f"{field.place}: {field.name} stands twice")
                names.add(field.name)
                fields.append(field)
    for statement in one.node.body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if any(isinstance(n, ast.AnnAssign) and n not in top for n in ast.walk(statement)):
            raise _UnknowableError(f"{place}: a field of {one.node.name} depends on what runs")
    for name in (names | before.keys()) & scope.names.keys():
        if name not in names or len(scope.names[name]) > 1:
            raise _UnknowableError(f"{place}: {one.node.name}.{name} is set again")
    return fields


def _field(
    code: Code, one: ClassHere, node: ast.AnnAssign, before: dict[str, FlagField]
) -> FlagField | None:
    """The field that a line of a dataclass makes; without a place if it is no flag."""
    assert isinstance(node.target, ast.Name)
    name, module = node.target.id, one.module
    marker = _marker(code, one, node.annotation)
    if marker == "ClassVar" or marker == "KW_ONLY":
        return None
    if marker:
        raise _UnknowableError(f"{module.place(node)}: what {marker} does")
    kind: Kind = kind_of(code, module, node.annotation)
    if any(
        isinstance(n, ast.Name) and n.id in own_scope(one).names for n in ast.walk(node.annotation)
    ):
        kind = Anything(f"{module.place(node)}: a type of the class itself")
    made = FlagField(name, kind, True, module.place(node), node.value)
    if node.value is None:
        inherited = name in before and before[name].has_default is not False
        return replace(made, has_default=None if inherited else False)
    if not isinstance(node.value, ast.Call):
        return made
    made = replace(made, default=None)
    if code.meaning(module, node.value.func) != Elsewhere("dataclasses.field"):
        return replace(made, has_default=None if _may_be_field(code, one, node.value) else True)
    given: dict[str | None, Any] = {key.arg: key.value for key in node.value.keywords}
    if None in given or node.value.args:
        raise _UnknowableError(f"{module.place(node)}: how {name} is a field")
    init = given.get("init")
    if init is not None:
        if not isinstance(init, ast.Constant):
            raise _UnknowableError(f"{module.place(node)}: whether {name} is a flag")
        if not init.value:
            return replace(made, place="")
    if "default" in given:
        return replace(made, default=given["default"])
    return replace(made, has_default="default_factory" in given)


def _may_be_field(code: Code, one: ClassHere, call: ast.Call) -> bool:
    """Whether a call may return dataclasses.field(…): a function that is not a well-known one."""
    meant = code.meaning(one.module, call.func)
    return not (isinstance(meant, Elsewhere) and meant.name.startswith("builtins."))


def _marker(code: Code, one: ClassHere, annotation: ast.expr) -> str:
    """`ClassVar`, `InitVar` or `KW_ONLY` if an annotation is one; else empty."""
    node = annotation
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = [w for w in ("ClassVar", "InitVar", "KW_ONLY") if w in node.value]
        return found[0] if found else ""
    if isinstance(node, ast.Subscript):
        node = node.value
    meant = code.meaning(one.module, node)
    if isinstance(meant, Elsewhere):
        word = meant.name.rpartition(".")[2]
        if word in ("ClassVar", "InitVar", "KW_ONLY"):
            return word
    return ""
