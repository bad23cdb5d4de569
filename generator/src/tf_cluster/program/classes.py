"""A class of the program's code: what it inherits, and what its attributes are."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from tf_cluster.program.resolve import (
    ClassHere,
    Code,
    Elsewhere,
    Meaning,
    Missing,
    Unknown,
    is_standard,
)
from tf_cluster.program.scope import Binding, Scope, scope_of

PROGRAM = ("tf_cluster_trainer.Program", "tf_cluster_trainer.program.base.Program")
# Classes of Python itself that are no programs and bring nothing that a program or its flags have.
_BARE = (
    "builtins.object",
    "abc.ABC",
    "typing.Generic",
    "typing.Protocol",
    "typing.NamedTuple",
    "typing.TypedDict",
    "enum.Enum",
)
# Decorators that give back the class, or one that differs in nothing that matters here.
_HARMLESS = (
    *("dataclasses.dataclass", "enum.unique", "functools.total_ordering"),
    *("typing.final", "typing_extensions.final", "typing.runtime_checkable"),
)
_ABC_META = Elsewhere("abc.ABCMeta")
_METACLASSES = ("builtins.type", "abc.ABCMeta", "enum.EnumMeta", "enum.EnumType")
ENUMS = tuple(f"enum.{name}" for name in ("Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
# With one of these a call of the class, or what holds it, gives anything.
_MAKERS = ("__new__", "__get__", "__class__")
_DEEPEST = 30


@dataclass(frozen=True)
class Member:
    """An attribute of a class: its one binding, and the class that has it."""

    owner: ClassHere
    binding: Binding


@dataclass(frozen=True)
class Family:
    """A class with all that it inherits from, itself first, as far as that can be known.

    `is_program`: it inherits from Program. `unknown`: why the rest can't be known; empty when all
    is. `is_line`: no class has two bases that were read.
    """

    classes: tuple[ClassHere, ...]
    is_program: bool
    unknown: str
    is_line: bool

    @property
    def itself(self) -> ClassHere:
        """The class."""
        return self.classes[0]


def family(code: Code, start: ClassHere) -> Family:
    """Follow a class to its bases, each before the bases beside it."""
    classes: list[ClassHere] = []
    unknown: list[str] = []
    is_program, is_line = False, True
    waiting = [start]
    while waiting and len(classes) < _DEEPEST:
        one = waiting.pop(0)
        if any(one.node is other.node for other in classes):
            is_line = False
            continue
        classes.append(one)
        unknown += _oddities(code, one)
        here = []
        for base in one.node.bases:
            meant = _base(code, one, base)
            if _is_program(meant):
                is_program = True
            elif isinstance(meant, ClassHere):
                here.append(meant)
            elif not (isinstance(meant, Elsewhere) and meant.name in _BARE):
                unknown.append(f"{one.module.place(base)}: what {one.node.name} inherits from")
        is_line = is_line and len(here) < 2
        waiting = here + waiting
    if waiting:
        unknown.append(f"{start.node.name} inherits too deeply")
    return Family(tuple(classes), is_program, unknown[0] if unknown else "", is_line)


Orders = dict[ast.ClassDef, tuple[ClassHere, ...]]
"""For each class the order in which Python looks for its attributes, itself first."""


def resolution_orders(code: Code, of: Family) -> Orders | None:
    """Those of a class of which nothing is unknown, and of what it inherits from.

    Classes that were not read are left out. None where there is none, and Python refuses the class.
    """
    orders: Orders = {}

    def order(one: ClassHere) -> tuple[ClassHere, ...]:
        if one.node not in orders:
            bases = [_base(code, one, base) for base in one.node.bases]
            here = [base for base in bases if isinstance(base, ClassHere)]
            orders[one.node] = (one, *_merged([*map(order, here), tuple(here)]))
        return orders[one.node]

    try:
        order(of.itself)
    except _NoOrderError:
        return None
    return orders


class _NoOrderError(Exception):
    """Bases that contradict each other."""


def _merged(lists: list[tuple[ClassHere, ...]]) -> Iterator[ClassHere]:
    """Python's C3: the first head that stands in the tail of none."""
    while lists := [one for one in lists if one]:
        tails = {later.node for one in lists for later in one[1:]}
        head = next((one[0] for one in lists if one[0].node not in tails), None)
        if head is None:
            raise _NoOrderError
        yield head
        lists = [one[1:] if one[0].node is head.node else one for one in lists]


def has_program_before(code: Code, one: ClassHere) -> bool:
    """Whether Program is a base of a class, and another one stands behind it."""
    meant = [_base(code, one, base) for base in one.node.bases]
    return any(map(_is_program, meant[:-1]))


def _is_program(meant: Meaning) -> bool:
    """Whether it is the trainer's own class, read or not."""
    if isinstance(meant, ClassHere):
        return f"{meant.module.name}.{meant.node.name}" in PROGRAM
    return isinstance(meant, Elsewhere) and meant.name in PROGRAM


def _base(code: Code, one: ClassHere, base: ast.expr) -> Meaning:
    if isinstance(base, ast.Subscript):  # Generic[T]
        base = base.value
    return code.meaning(one.module, base)


def _oddities(code: Code, one: ClassHere) -> Iterator[str]:
    """What may make a class other than it looks, its bases aside."""
    name, place = one.node.name, one.module.place(one.node)
    for keyword in one.node.keywords:
        meant = code.meaning(one.module, keyword.value)
        if meant != _ABC_META:
            yield f"{place}: what {keyword.arg or '**'} makes of {name}"
    if name in one.module.changed_outside:
        yield f"{place}: attributes of {name} are set outside it"


def decorators(code: Code, one: ClassHere) -> list[tuple[ast.expr, Meaning]]:
    """What decorates a class: each expression, and what it, or what it calls, stands for."""
    return [
        (node, code.meaning(one.module, node.func if isinstance(node, ast.Call) else node))
        for node in one.node.decorator_list
    ]


def is_plain(code: Code, start: ClassHere) -> bool:
    """Whether a statement surely makes a class of its own: a new type, and no metaclass."""
    if start.node not in code.plain:
        classes = family(code, start).classes
        sure = len(classes) < _DEEPEST and all(_is_plain(code, one) for one in classes)
        code.plain[start.node] = sure
    return code.plain[start.node]


def _is_plain(code: Code, one: ClassHere) -> bool:
    """The same, as far as a class's own statement says it."""
    made = [meant for _, meant in decorators(code, one)]
    if not all(isinstance(meant, Elsewhere) and meant.name in _HARMLESS for meant in made):
        return False
    if any(code.meaning(one.module, key.value) != _ABC_META for key in one.node.keywords):
        return False
    return all(
        isinstance(meant, ClassHere)
        or (
            isinstance(meant, Elsewhere)
            and is_standard(meant.name)
            and meant.name not in _METACLASSES
        )
        for meant in (_base(code, one, base) for base in one.node.bases)
    )


def bases_elsewhere(code: Code, one: ClassHere) -> list[str]:
    """The full names of a class's own bases that were not read."""
    bases = [_base(code, one, base) for base in one.node.bases]
    return [meant.name for meant in bases if isinstance(meant, Elsewhere)]


def makes_instances(code: Code, one: ClassHere) -> bool:
    """Whether a call of the class surely gives an instance of it, and so does an attribute."""
    whole = family(code, one)
    if whole.unknown or whole.is_program or not is_plain(code, one):
        return False
    return not any(
        own_scope(each).is_open
        or any(name in own_scope(each).names for name in _MAKERS)
        or any(name in ENUMS for name in bases_elsewhere(code, each))
        for each in whole.classes
    )


def own_scope(one: ClassHere) -> Scope:
    """The names that a class's own body binds."""
    known = one.module.class_scopes.get(one.node)
    if known is not None:
        return known
    scope = one.module.class_scopes[one.node] = scope_of(one.node.body)
    scope.is_open = any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in ("locals", "vars", "exec")
        for statement in one.node.body
        if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        for node in ast.walk(statement)
    )
    return scope


def member(of: Family, name: str) -> Member | Unknown | Missing:
    """An attribute of a class, its own or inherited; Missing if it has none but Program's."""
    holders = []
    for one in of.classes:
        scope = own_scope(one)
        if name in one.module.attributes_set:
            return Unknown(f"{one.module.file} sets {name} as it runs")
        if scope.is_open or (name in scope.names and scope.only(name) is None):
            return Unknown(f"{one.module.place(one.node)}: what {one.node.name}.{name} is")
        binding = scope.only(name)
        if binding is not None:
            holders.append(Member(one, binding))
    if of.unknown and not (holders and _is_own(of, holders[0])):
        return Unknown(of.unknown)
    if of.unknown and of.itself.node.name in of.itself.module.changed_outside:
        return Unknown(of.unknown)
    if len(holders) > 1 and not of.is_line and not _is_own(of, holders[0]):
        place = of.itself.module.place(of.itself.node)
        return Unknown(f"{place}: whose {name} {of.itself.node.name} has")
    return holders[0] if holders else Missing()


def _is_own(of: Family, one: Member) -> bool:
    return one.owner.node is of.itself.node
