"""A class of the program's code: what it inherits, and what its attributes are."""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.image_imports import image_imports
from tf_cluster.program.order import (
    GENERIC,
    PROTOCOL,
    Base,
    Bases,
    ContradictionError,
    is_circle,
    orders_of,
)
from tf_cluster.program.resolve import (
    ClassHere,
    Code,
    Elsewhere,
    Meaning,
    Missing,
    Unknown,
    is_standard,
)
from tf_cluster.program.scope import Binding, Module, Scope, scope_of

PROGRAM = ("tf_cluster_trainer.Program", "tf_cluster_trainer.program.base.Program")
PROGRAM_CLASS = Elsewhere(PROGRAM[0])
OF_PROGRAM = (
    *("flags", "shuffle_buffer", "requests_in_export", "build_model", "dataset", "loss"),
    *("metrics", "evaluate", "signatures", "after_train"),
)
"""What Program itself has: no class behind it gives a program one of these."""
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
# Of the image's packages: ours, and those into which others may put modules.
_NOT_FOREIGN = ("tf_cluster_trainer", "tf_cluster_cleanup", "google", "nvidia")
_DEEPEST = 30


@dataclass(frozen=True)
class Member:
    """An attribute of a class: its one binding, and the class that has it."""

    owner: ClassHere
    binding: Binding


Orders = dict[ast.ClassDef, tuple[ClassHere, ...]]
"""For each class the order in which Python looks for its attributes, itself first."""


@dataclass(frozen=True)
class Family:
    """A class with all that it inherits from, itself first, as far as that can be known.

    `bases` are those of each class. `is_program`: it inherits from Program. `unknown`: why the rest
    can't be known; empty when all is. `may_be_program`: why what is unknown may be Program; empty
    when it surely is not. `setter_of` gives a module that sets an attribute, of whatever object.
    """

    classes: tuple[ClassHere, ...]
    bases: Bases
    is_program: bool
    unknown: str
    may_be_program: str
    setter_of: Callable[[str], Module | None]

    @property
    def itself(self) -> ClassHere:
        """The class."""
        return self.classes[0]

    @property
    def place(self) -> CodePlace:
        """Where it stands."""
        return self.itself.module.place(self.itself.node)

    @property
    def order(self) -> tuple[Base, ...] | None:
        """Where Python looks for an attribute, one after the other, if nothing is unknown.

        None where there is no such order, and Python refuses the class.
        """
        return None if self._orders is None else self._orders[self.itself.node]

    def order_of(self, one: ClassHere) -> tuple[Base, ...]:
        """The same of a class that it inherits from; empty where there is none."""
        return self._orders[one.node] if not self.unknown and self._orders else ()

    @property
    def orders(self) -> Orders | None:
        """The same of each class, without those that were not read."""
        if self._orders is None:
            return None
        return {
            node: tuple(one for one in order if isinstance(one, ClassHere))
            for node, order in self._orders.items()
        }

    @cached_property
    def _orders(self) -> dict[ast.ClassDef, tuple[Base, ...]] | None:
        try:
            return orders_of(self.classes, self.bases)
        except ContradictionError:
            return None


def family(code: Code, start: ClassHere) -> Family:
    """Follow a class to its bases, each before the bases beside it."""
    classes: list[ClassHere] = []
    bases: dict[ast.ClassDef, tuple[Base, ...]] = {}
    unknown: list[str] = []
    may_be_program: list[str] = []
    waiting = [start]
    while waiting and len(classes) < _DEEPEST:
        one = waiting.pop(0)
        if one.node in bases:
            continue
        classes.append(one)
        odd = list(_oddities(code, one))
        unknown += odd
        may_be_program += odd
        known: list[Base] = []
        for base, meant in _bases(code, one):
            if _is_program(meant):
                known.append(PROGRAM_CLASS)
            elif isinstance(meant, ClassHere) or (
                isinstance(meant, Elsewhere) and meant.name in _BARE
            ):
                known.append(meant)
            else:
                why = f"{one.module.place(base)}: what {one.node.name} inherits from"
                unknown.append(why)
                if not _is_foreign(code, one, base, meant):
                    may_be_program.append(why)
        bases[one.node] = tuple(known)
        waiting = [base for base in known if isinstance(base, ClassHere)] + waiting
    if waiting or is_circle(bases):
        how = "inherits too deeply" if waiting else "inherits from itself"
        why = f"{start.module.place(start.node)}: {start.node.name} {how}"
        unknown.append(why)
        may_be_program.append(why)
    is_program = any(PROGRAM_CLASS in own for own in bases.values())
    first, hidden = (next(iter(whys), "") for whys in (unknown, may_be_program))
    return Family(tuple(classes), bases, is_program, first, hidden, code.setter_of)


def _is_foreign(code: Code, one: ClassHere, base: ast.AST, meant: Meaning) -> bool:
    """Whether a base is surely no program: a class of Python's, or of a package of the image."""
    if not isinstance(meant, Elsewhere) or isinstance(base, ast.Subscript):
        return False
    top, last = meant.name.partition(".")[0], meant.name.rpartition(".")[2]
    if top in _NOT_FOREIGN or last in one.module.attributes_set or code.is_shadowed(top):
        return False
    return is_standard(top) or (top in image_imports() and code.module(top) is None)


def _bases(code: Code, one: ClassHere) -> Iterator[tuple[ast.AST, Meaning]]:
    """What a class names as its bases, without `Generic[T]` where Python leaves it out."""
    written = [(base, _base(code, one, base)) for base in one.node.bases]
    last = max((i for i, (base, _) in enumerate(written) if _has_types(base)), default=-1)
    if any(meant == PROTOCOL and not _has_types(base) for base, meant in written):
        last = len(written)
    for i, (base, meant) in enumerate(written):
        if not (meant == GENERIC and _has_types(base) and i < last):
            yield base, meant
    if getattr(one.node, "type_params", ()):  # class Net[T]
        yield one.node, GENERIC


def _has_types(base: ast.expr) -> bool:
    return isinstance(base, ast.Subscript)


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
    setter = of.setter_of(name)
    if setter:
        return Unknown(f"{setter.file} sets {name} as it runs")
    if of.unknown:
        is_changed = of.itself.node.name in of.itself.module.changed_outside
        return (not is_changed and _own(of.itself, name)) or Unknown(of.unknown)
    if of.order is None:
        return Unknown(f"{of.place}: the bases of {of.itself.node.name} contradict each other")
    for base in of.order:
        if isinstance(base, ClassHere) and "__getattribute__" in own_scope(base).names:
            return Unknown(f"{base.module.place(base.node)}: what {base.node.name}.{name} is")
        if base == PROGRAM_CLASS and name in OF_PROGRAM:
            return Missing()
        own = _own(base, name) if isinstance(base, ClassHere) else None
        if own is not None:
            return own
    return Missing()


def _own(one: ClassHere, name: str) -> Member | Unknown | None:
    """What a class's own body binds a name to; None if it does not."""
    scope = own_scope(one)
    binding = scope.only(name)
    if scope.is_open or (binding is None and name in scope.names):
        return Unknown(f"{one.module.place(one.node)}: what {one.node.name}.{name} is")
    return Member(one, binding) if binding else None


def behind_program(of: Family, name: str) -> str:
    """The class that has an attribute and stands behind Program, which has it, too; or nothing."""
    order = (of.order or ()) if not of.unknown else ()
    behind = order[order.index(PROGRAM_CLASS) :] if PROGRAM_CLASS in order else ()
    having = (one for one in behind if isinstance(one, ClassHere) and _own(one, name))
    return next((one.node.name for one in having), "")
