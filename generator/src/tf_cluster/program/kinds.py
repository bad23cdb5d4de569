"""Types of flags, as the trainer takes them, and which values have them."""

import ast
import json
from dataclasses import dataclass
from typing import Any

from tf_cluster.params.wording import either
from tf_cluster.program.classes import ENUMS, bases_elsewhere, is_plain, own_scope
from tf_cluster.program.resolve import ClassHere, Code, Elsewhere, Unknown, ValueHere
from tf_cluster.program.scope import Module

_PLAIN = {
    "str": "a text",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
    "None": "null",
}


@dataclass(frozen=True)
class Plain:
    """`str`, `bool`, `int`, `float` or `None`."""

    name: str


@dataclass(frozen=True)
class Choice:
    """`Literal[…]`."""

    values: tuple[Any, ...]


@dataclass(frozen=True)
class Either:
    """`… | …`."""

    parts: "tuple[Kind, ...]"


@dataclass(frozen=True)
class Many:
    """`list[…]` or `tuple[…, ...]`."""

    item: "Kind"


@dataclass(frozen=True)
class Refused:
    """A type that the trainer refuses, as written."""

    words: str


@dataclass(frozen=True)
class Anything:
    """A type that can't be known; `why` says what."""

    why: str


Kind = Plain | Choice | Either | Many | Refused | Anything

_TYPING = ("typing", "typing_extensions")
_SEQUENCES = ("builtins.list", "builtins.tuple", "typing.List", "typing.Tuple")
# Abstract collections: typing has them by the same names as collections.abc.
_ABSTRACT = (
    *("Callable", "Collection", "Container", "Hashable", "Iterable", "Iterator", "Mapping"),
    *("MutableMapping", "MutableSequence", "MutableSet", "Reversible", "Sequence", "Sized"),
)
_OF_TYPING = (
    *("AbstractSet", "Any", "ChainMap", "Counter", "DefaultDict", "Deque", "Dict", "Final"),
    *("FrozenSet", "NoReturn", "OrderedDict", "Set", "Type"),
)
REFUSED = frozenset(
    (
        *(f"{space}.{name}" for space in _TYPING for name in (*_ABSTRACT, *_OF_TYPING)),
        *(f"collections.abc.{name}" for name in (*_ABSTRACT, "Set")),
        *(f"collections.{name}" for name in ("Counter", "OrderedDict", "defaultdict", "deque")),
        *("datetime.date", "datetime.datetime", "datetime.timedelta", "decimal.Decimal"),
        *("enum.Enum", "fractions.Fraction", "os.PathLike", "pathlib.Path", "pathlib.PurePath"),
    )
)
"""Types of Python's libraries that the trainer refuses, bare and with [ ] behind."""

_DEEPEST = 20
_MOST_PARTS = 20_000
_MOST_CHOICES = 200
_LONGEST = 60


def kind_of(code: Code, module: Module, node: ast.expr, depth: int = 0) -> Kind:
    """The type that an annotation names, at module level."""
    code.type_parts += 1
    if depth > _DEEPEST or code.type_parts > _MOST_PARTS:
        return Anything(f"{module.place(node)}: the types are too large, or lead in a circle")
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        inner = unquoted(node)
        if inner is None:
            return Anything(f"{module.place(node)}: a type in quotes")
        return kind_of(code, module, inner, depth + 1)
    if isinstance(node, ast.Constant) and node.value is None:
        return Plain("None")
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        sides = (node.left, node.right)
        return Either(tuple(kind_of(code, module, side, depth + 1) for side in sides))
    if isinstance(node, ast.Subscript):
        return _subscripted(code, module, node, depth)
    meant = code.meaning(module, node)
    if isinstance(meant, Elsewhere):
        plain = meant.name.removeprefix("builtins.")
        if meant.name == f"builtins.{plain}" and plain in _PLAIN:
            return Plain(plain)
        if meant.name in _SEQUENCES or _is_refused(meant.name):
            return Refused(plain.rpartition(".")[2])
    if isinstance(meant, ClassHere) and is_plain(code, meant):
        return Refused(meant.node.name)
    if isinstance(meant, ValueHere) and meant.node is not node:  # an alias
        return kind_of(code, meant.module, meant.node, depth + 1)
    why = meant.why if isinstance(meant, Unknown) else "what type it is"
    return Anything(f"{module.place(node)}: {why}")


def _is_refused(name: str) -> bool:
    """Whether a thing that is neither plain nor a list or tuple is surely no type of a flag.

    All of Python's built-in names are none, `any` and `callable` among them.
    """
    is_builtin = name.startswith("builtins.") and not name.startswith("builtins._")
    return is_builtin or name in REFUSED


def unquoted(node: ast.expr) -> ast.expr | None:
    """An annotation without the quotes around it; None where they hold no expression."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return node
    try:
        inner = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    for part in ast.walk(inner):
        if hasattr(part, "lineno"):
            part.lineno = node.lineno
    return inner


def _subscripted(code: Code, module: Module, node: ast.Subscript, depth: int) -> Kind:
    meant = code.meaning(module, node.value)
    name = meant.name if isinstance(meant, Elsewhere) else ""
    space, _, word = name.rpartition(".")
    inner = node.slice
    parts = list(inner.elts) if isinstance(inner, ast.Tuple) else [inner]
    unknown = Anything(f"{module.place(node)}: what type it is")
    if not parts:
        return Refused(f"{word}[()]") if name in _SEQUENCES else unknown
    if space in _TYPING and word == "Literal":
        if len(parts) > _MOST_CHOICES:
            return unknown
        if any(_is_no_choice(code, module, part) for part in parts):
            return Refused(ast.unparse(node)[:_LONGEST])
        values = [_constant(part) for part in parts]
        if any(isinstance(value, Unknown) for value in values):
            return unknown
        return Choice(tuple(values))
    if space in _TYPING and word in ("Optional", "Union"):
        kinds = tuple(kind_of(code, module, part, depth + 1) for part in parts)
        return Either((*kinds, Plain("None")) if word == "Optional" else kinds)
    if space in _TYPING and word == "Annotated":
        return kind_of(code, module, parts[0], depth + 1)
    bare = name.startswith("builtins.") and isinstance(parts[0], ast.Constant)
    if bare and name in _SEQUENCES and parts[0].value is None:  # type: ignore[attr-defined]
        return Refused(f"{word}[…]")  # typing makes a type of None, Python's own list doesn't
    if name in ("builtins.list", "typing.List") and len(parts) == 1:
        return Many(kind_of(code, module, parts[0], depth + 1))
    if name in ("builtins.tuple", "typing.Tuple"):
        if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
            return Many(kind_of(code, module, parts[0], depth + 1))
        return Refused(f"{word}[…]")
    may_be_good = name in _SEQUENCES or name.removeprefix("builtins.") in _PLAIN
    return Refused(f"{word}[…]") if _is_refused(name) and not may_be_good else unknown


def _is_no_choice(code: Code, module: Module, node: ast.expr) -> bool:
    """Whether a part of a Literal surely is none that a flag can have: a member of an enum, say."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, (bytes, complex)) or node.value is Ellipsis
    if not isinstance(node, ast.Attribute):
        return False
    owner = code.meaning(module, node.value)
    if not (isinstance(owner, ClassHere) and is_plain(code, owner)):
        return False
    scope = own_scope(owner)
    member = scope.only(node.attr)
    is_enum = any(name in ENUMS for name in bases_elsewhere(code, owner))
    is_odd = scope.is_open or "_ignore_" in scope.names or "__new__" in scope.names
    is_member = member is not None and isinstance(member.value, ast.Constant)
    return is_enum and not is_odd and is_member and not node.attr.startswith("_")


def _constant(node: ast.expr) -> Any:
    """A constant of a Literal; Unknown for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _constant(node.operand)
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        return -value if is_number else Unknown("")
    if isinstance(node, ast.Constant) and isinstance(
        node.value, (str, int, float, bool, type(None))
    ):
        return node.value
    return Unknown("")


def refused_in(kind: Kind) -> str:
    """A part of a type that the trainer refuses; empty if it takes all of it, or may."""
    if isinstance(kind, Refused):
        return kind.words
    if isinstance(kind, Many):
        return refused_in(kind.item)
    if isinstance(kind, Either):
        return next(filter(None, map(refused_in, kind.parts)), "")
    return ""


def unknown_in(kind: Kind) -> str:
    """Why a part of a type can't be known; empty if all can."""
    if isinstance(kind, Anything):
        return kind.why
    if isinstance(kind, Many):
        return unknown_in(kind.item)
    if isinstance(kind, Either):
        return next(filter(None, map(unknown_in, kind.parts)), "")
    return ""


def fits(kind: Kind, value: Any) -> bool:
    """Whether a value may have this type, as JSON gives it to the trainer: one type of number."""
    if isinstance(kind, (Anything, Refused)):
        return True
    if isinstance(kind, Choice):
        return any(_is_same(one, value) for one in kind.values)
    if isinstance(kind, Either):
        return any(fits(part, value) for part in kind.parts)
    if isinstance(kind, Many):
        return isinstance(value, (list, tuple)) and all(fits(kind.item, one) for one in value)
    if kind.name == "float":
        return _is_number(value)
    if kind.name == "int":
        return _is_number(value) and (isinstance(value, int) or value.is_integer())
    if kind.name == "None":
        return value is None
    return isinstance(value, {"str": str, "bool": bool}[kind.name])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_same(one: Any, value: Any) -> bool:
    if _is_number(one) and _is_number(value):
        return bool(one == value)
    return type(one) is type(value) and bool(one == value)


def choices(kind: Kind) -> tuple[Any, ...]:
    """The words of a Literal, of all of them in a `… | …`; empty if there is none."""
    if isinstance(kind, Choice):
        return kind.values
    if isinstance(kind, Many):
        return choices(kind.item)
    if isinstance(kind, Either):
        return tuple(value for part in kind.parts for value in choices(part))
    return ()


def is_choice_missed(kind: Kind, value: Any) -> bool:
    """Whether a value has the type of a Literal's choices, but is none of them."""
    items = value if isinstance(kind, Many) and isinstance(value, list) else [value]
    return any(
        not fits(kind, [one] if items is value else one)
        and any(
            type(one) is type(choice) or (_is_number(one) and _is_number(choice))
            for choice in choices(kind)
        )
        for one in items
    )


def words(kind: Kind) -> str:
    """What such a value is, in words."""
    if isinstance(kind, Choice):
        return either(json.dumps(value, ensure_ascii=False) for value in kind.values)
    if isinstance(kind, Either):
        return either(words(part) for part in kind.parts)
    if isinstance(kind, Many):
        return f"a list, each {words(kind.item)}"
    if isinstance(kind, Plain):
        return _PLAIN[kind.name]
    return "a value of its type"
