"""What Python makes of a dataclass: its fields in order, or why it can't define the class.

The rules are those of the module `dataclasses`, as Python 3.10 to 3.13 have them in common.
"""

import ast
import typing
from abc import ABC
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tf_cluster.program.classes import Orders, decorators, own_scope
from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.resolve import ClassHere, Code, Elsewhere, ValueHere

_MARKS = {
    "typing.ClassVar": "ClassVar",
    "dataclasses.InitVar": "InitVar",
    "dataclasses.KW_ONLY": "KW_ONLY",
}
_OF_FIELD = ("default", "default_factory", "init", "repr", "hash", "compare", "metadata", "kw_only")
_MADE_LATER = ("doc",)  # Python 3.14
_OF_CLASS = (
    *("init", "repr", "eq", "order", "unsafe_hash", "frozen"),
    *("match_args", "kw_only", "slots", "weakref_slot"),
)
_HARMLESS = ("typing.final", "typing_extensions.final")
_MUTABLE = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)
_MUTABLE_CALLS = tuple(Elsewhere(f"builtins.{name}") for name in ("list", "dict", "set"))
# Expressions that may have any value, `dataclasses.field(…)` or `dataclasses.MISSING` included.
_OPEN = (
    *(ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp),
    *(ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom),
)
_ORDERING = ("__lt__", "__le__", "__gt__", "__ge__")


class UnknowableError(Exception):
    """What the class is can't be known; the text says why."""


@dataclass(frozen=True)
class Fault:
    """Why a class of flags is refused; the words say why and what to write.

    `name` is the field's that is at fault; empty for the class as a whole.
    """

    why: str
    fix: str
    place: CodePlace
    name: str = ""


@dataclass(frozen=True)
class Made:
    """A field as dataclasses makes it; each of its last three is None where it can't be known.

    `form` is `field`, `ClassVar` or `InitVar`. `default` is the default's expression, where it is
    one. `owner` and `node` are the class and the line that declare it.
    """

    name: str
    owner: ClassHere
    node: ast.AnnAssign
    form: str
    default: ast.expr | None = None
    has_default: bool | None = False
    init: bool | None = True
    kw_only: bool | None = False


@dataclass(frozen=True)
class _Nothing:
    """No default: a slot, which hides what a base has by its name, or no attribute at all."""


@dataclass(frozen=True)
class _Unsure:
    """An attribute with a value that can't be known."""


_Attribute = ast.expr | _Nothing | _Unsure


@dataclass
class Shape:
    """A class as Python has made it.

    `fields` are by name, in the constructor's order, None for a class that is no dataclass, by its
    bases neither. `frozen` is that of the dataclass.
    """

    fields: dict[str, Made] | None = None
    frozen: bool = False
    has_frozen_base: bool = False
    attributes: dict[str, _Attribute] = field(default_factory=dict)


@dataclass
class Dataclasses:
    """Makes classes, bases first, and notes why Python would not make one."""

    code: Code
    orders: Orders
    faults: list[Fault] = field(default_factory=list)
    _late: set[ast.AnnAssign] = field(default_factory=set)
    _shapes: dict[ast.ClassDef, Shape] = field(default_factory=dict)

    def make(self, one: ClassHere) -> Shape:
        """A class of the orders. Raises UnknowableError."""
        if one.node not in self._shapes:
            for base in reversed(self.orders[one.node][1:]):
                self.make(base)
            self._shapes[one.node] = self._made(self.orders[one.node])
        return self._shapes[one.node]

    def _made(self, line: tuple[ClassHere, ...]) -> Shape:
        one, *bases = line
        options = self._options(one)
        inherited = [self._shapes[base.node] for base in bases]
        self._refuse_oddities(one, inherited)
        if options is None:
            self._refuse_fields(one)
            nearest = next((base for base in inherited if base.fields is not None), Shape())
            return replace(nearest, attributes=_values(one))
        made_bases = [base for base in inherited if base.fields is not None]
        has_frozen = any(base.frozen for base in made_bases)
        shape = Shape({}, bool(options.get("frozen")), has_frozen, _values(one))
        fields: dict[str, Made] = {}
        for base in reversed(inherited):
            fields.update(base.fields or {})
        own = list(self._own(one, inherited, bool(options.get("kw_only"))))
        fields |= {made.name: made for made in own}
        for made in own:
            value = shape.attributes.get(made.name)
            if made.has_default is None:
                shape.attributes[made.name] = _Unsure()
            elif self._is_field(one, value):
                if made.default is None:  # what a base has by this name is seen again
                    del shape.attributes[made.name]
                else:
                    shape.attributes[made.name] = made.default
        if options.get("slots"):
            slots = (name for name, made in fields.items() if made.form == "field")
            shape.attributes |= dict.fromkeys(slots, _Nothing())
        shape.fields = fields
        self._judge_frozen(one, shape, has_bases=bool(made_bases))
        self._judge_options(one, options)
        self._judge_order(one, fields)
        return shape

    def _options(self, one: ClassHere) -> dict[str, Any] | None:
        """What `@dataclass(…)` is given; None for a class without it. Notes what it refuses."""
        found = [
            (node, meant)
            for node, meant in decorators(self.code, one)
            if not (isinstance(meant, Elsewhere) and meant.name in _HARMLESS)
        ]
        if not found:
            return None
        place = one.module.place(one.node)
        if len(found) > 1 or found[0][1] != Elsewhere("dataclasses.dataclass"):
            raise UnknowableError(f"{place}: what its decorators make of {one.node.name}")
        call = found[0][0]
        if not isinstance(call, ast.Call):
            return {}
        how = f"{place}: how {one.node.name} is made a dataclass"
        options: dict[str, Any] = {}
        for keyword in call.keywords:
            if keyword.arg is None or not isinstance(keyword.value, ast.Constant):
                raise UnknowableError(how)
            options[keyword.arg] = keyword.value.value
        for name in options.keys() - set(_OF_CLASS):
            self._fault(one, call, "", f"@dataclass has no option {name}", "leave it out")
        if call.args or not options.get("init", True):
            raise UnknowableError(how)
        return options

    def _refuse_oddities(self, one: ClassHere, inherited: list[Shape]) -> None:
        """Raise UnknowableError for a class whose fields or defaults its lines do not show."""
        scope, name, place = own_scope(one), one.node.name, one.module.place(one.node)
        odd = ("__annotations__", "__init__")
        if scope.is_open or any(word in scope.names for word in odd):
            raise UnknowableError(f"{place}: the fields of {name}")
        if len(one.node.bases) > 1 and any(
            _Nothing() in base.attributes.values() for base in inherited
        ):
            raise UnknowableError(f"{place}: whether the slots of what {name} inherits fit")
        every = [made for base in inherited for made in (base.fields or {}).values()]
        before = {made.name for made in every if made.form != "ClassVar"}
        lines = set(annotations(one))
        annotated = Counter(map(annotated_name, annotations(one)))
        for word, count in annotated.items():
            if count > 1:
                raise UnknowableError(f"{place}: {word} stands twice in {name}")
            if word.startswith("__") or any(hasattr(kind, word) for kind in _PYTHONS):
                raise UnknowableError(f"{place}: what {name}.{word} is")
        for statement in one.node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                continue
            if any(isinstance(n, ast.AnnAssign) and n not in lines for n in ast.walk(statement)):
                raise UnknowableError(f"{place}: a field of {name} depends on what runs")
        for word in (before | annotated.keys()) & scope.names.keys():
            if [bound.node for bound in scope.names[word] if bound.node not in lines] or (
                word in before and not decorators(self.code, one)
            ):
                raise UnknowableError(f"{place}: {name}.{word} is set again")

    def _refuse_fields(self, one: ClassHere) -> None:
        """A class without the decorator keeps what `field(…)` returns: what a base makes of it?"""
        for line in one.node.body:
            if isinstance(line, (ast.Assign, ast.AnnAssign)) and self._is_field(one, line.value):
                place = one.module.place(line)
                raise UnknowableError(f"{place}: a field of {one.node.name}, which is no dataclass")

    def _own(self, one: ClassHere, inherited: list[Shape], kw_only: bool) -> Iterator[Made]:
        """The fields that a class's own lines make, in their order."""
        is_marked = False
        for node in annotations(one):
            form = self._form(one, node.annotation)
            if form == "KW_ONLY":
                if is_marked:
                    why = "KW_ONLY stands there a second time"
                    self._fault(one, node, annotated_name(node), why, "leave one out")
                is_marked = kw_only = True
                continue
            made = Made(annotated_name(node), one, node, form, kw_only=kw_only)
            yield self._with_default(made, inherited)
        for binding in (bound[0] for bound in own_scope(one).names.values() if len(bound) == 1):
            line = binding.node
            if isinstance(line, ast.Assign) and self._is_field(one, binding.value):
                name = ast.unparse(line.targets[0])
                why = f"{name} is a field and has no type"
                self._fault(one, line, name, why, f"write {name}: TYPE = field(…)")

    def _form(self, one: ClassHere, annotation: ast.expr) -> str:
        """What an annotation makes: `field`, `ClassVar`, `InitVar` or `KW_ONLY`."""
        node, place = annotation, one.module.place(annotation)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            try:
                node = ast.parse(node.value, mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return "field"
        is_text = node is not annotation
        if isinstance(node, ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id in own_scope(one).names:
            raise UnknowableError(f"{place}: a type of the class itself")
        meant = self.code.meaning(one.module, node)
        mark = _MARKS.get(meant.name) if isinstance(meant, Elsewhere) else None
        if mark and is_text and _are_texts(one):
            raise UnknowableError(f"{place}: what {mark} in quotes does")
        if mark:
            return mark
        if isinstance(meant, Elsewhere) and meant.name.startswith("typing_extensions."):
            mark = next((word for word in _MARKS.values() if meant.name.endswith(word)), None)
        if mark or (is_text and any(word in ast.unparse(annotation) for word in _MARKS.values())):
            raise UnknowableError(f"{place}: what {mark or 'a type in quotes'} does")
        return "field"

    def _with_default(self, made: Made, inherited: list[Shape]) -> Made:
        """The field with its default: its line's, else what a base has by its name."""
        value: _Attribute = made.node.value or _Nothing()
        if made.node.value is None:
            having = (base.attributes for base in inherited if made.name in base.attributes)
            value = next(having, {}).get(made.name, _Nothing())
        elif self._is_field(made.owner, made.node.value):
            assert isinstance(made.node.value, ast.Call)
            return self._of_field(made, made.node.value)
        elif isinstance(value, ast.Call):
            meant = self.code.meaning(made.owner.module, value.func)
            if not (isinstance(meant, Elsewhere) and meant.name.startswith("builtins.")):
                return replace(made, has_default=None, init=None, kw_only=None)
        return self._having(made, value)

    def _is_field(self, one: ClassHere, value: object) -> bool:
        return isinstance(value, ast.Call) and self.code.meaning(
            one.module, value.func
        ) == Elsewhere("dataclasses.field")

    def _having(self, made: Made, value: _Attribute) -> Made:
        if isinstance(value, _Nothing):
            return replace(made, has_default=False)
        if isinstance(value, _Unsure):
            return replace(made, has_default=None)
        self._judge_mutable(made, value)
        sure = not isinstance(value, _OPEN) or self._is_plain(made.owner, value)
        return replace(made, default=value, has_default=True if sure else None)

    def _is_plain(self, one: ClassHere, value: ast.expr) -> bool:
        """Whether a name or a call surely has a value of its own: no field, and not MISSING."""
        if isinstance(value, ast.Call):
            meant = self.code.meaning(one.module, value.func)
            return isinstance(meant, Elsewhere) and meant.name.startswith("builtins.")
        if not isinstance(value, ast.Name) or value.id in own_scope(one).names:
            return False
        meant = self.code.meaning(one.module, value)
        return isinstance(meant, ValueHere) and not isinstance(meant.node, _OPEN)

    def _of_field(self, made: Made, call: ast.Call) -> Made:
        """The field of `field(…)`."""
        one, name = made.owner, made.name
        given = {key.arg: key.value for key in call.keywords if key.arg}
        if any(key.arg is None for key in call.keywords):
            raise UnknowableError(f"{one.module.place(call)}: how {name} is a field")
        if call.args:
            why = f"{name} is made by field({ast.unparse(call.args[0])[:40]})"
            self._fault(one, call, name, why, "write field(default=…)")
        for word in sorted(given.keys() - {*_OF_FIELD, *_MADE_LATER}):
            self._fault(one, call, name, f"field has no option {word}", "leave it out")
        if "default" in given and "default_factory" in given:
            why = f"{name} has both default and default_factory"
            self._fault(one, call, name, why, "leave one out")
        if made.form != "field" and "default_factory" in given:
            why = f"{name} is {made.form} and has a default_factory"
            self._fault(one, call, name, why, "write its value")
        if made.form == "ClassVar" and "kw_only" in given:
            self._fault(one, call, name, f"{name} is ClassVar and has kw_only", "leave it out")
        init = _constant(given.get("init"), otherwise=True)
        kw_only = _constant(given.get("kw_only"), otherwise=made.kw_only)
        made = replace(made, init=init, kw_only=kw_only)
        if "default" in given:
            return self._having(made, given["default"])
        return replace(made, has_default=_has_factory(given.get("default_factory")))

    def _judge_mutable(self, made: Made, value: ast.expr) -> None:
        if made.form != "field":
            return
        node = value
        if isinstance(node, ast.Name) and node.id not in own_scope(made.owner).names:
            meant = self.code.meaning(made.owner.module, node)
            node = meant.node if isinstance(meant, ValueHere) else node
        is_call = isinstance(node, ast.Call) and (
            self.code.meaning(made.owner.module, node.func) in _MUTABLE_CALLS
        )
        if isinstance(node, _MUTABLE) or is_call:
            text = ast.unparse(value)
            why = f"the default of {made.name} is {text[:40]}, which can be changed"
            factory = {"[]": "list", "{}": "dict", "list()": "list", "dict()": "dict"}.get(text)
            fix = f"write field(default_factory={factory or 'lambda: …'})"
            self._fault(made.owner, made.node, made.name, why, fix)

    def _judge_order(self, one: ClassHere, fields: dict[str, Made]) -> None:
        """Arguments of the constructor by position: none without a default after one with it."""
        first: Made | None = None
        for made in fields.values():
            by_position = made.form != "ClassVar" and made.init is True and made.kw_only is False
            if not by_position:
                continue
            if made.has_default:
                first = first or made
            elif made.has_default is False and first is not None and made.node not in self._late:
                self._late.add(made.node)
                why = f"{made.name} has no default and stands after {first.name}, which has one"
                fix = "write it first, or @dataclass(frozen=True, kw_only=True)"
                node = made.node if made.owner.node is one.node else one.node
                self._fault(one, node, made.name, why, fix)

    def _judge_frozen(self, one: ClassHere, shape: Shape, *, has_bases: bool) -> None:
        name = one.node.name
        if shape.frozen and has_bases and not shape.has_frozen_base:
            why = f"{name} is frozen and what it inherits from is not"
            self._fault(one, one.node, "", why, "write @dataclass(frozen=True) there, too")
        if not shape.frozen and shape.has_frozen_base:
            why = f"{name} is not frozen and what it inherits from is"
            self._fault(one, one.node, "", why, "write @dataclass(frozen=True)")

    def _judge_options(self, one: ClassHere, options: dict[str, Any]) -> None:
        scope, name = own_scope(one), one.node.name
        if options.get("order") and not options.get("eq", True):
            self._fault(one, one.node, "", f"{name} has order=True and eq=False", "leave one out")
        if options.get("weakref_slot") and not options.get("slots"):
            why = f"{name} has weakref_slot=True and not slots=True"
            self._fault(one, one.node, "", why, "leave it out")
        taken = ["__setattr__", "__delattr__"] if options.get("frozen") else []
        taken += _ORDERING if options.get("order") else []
        taken += ["__slots__"] if options.get("slots") else []
        taken += ["__hash__"] if options.get("unsafe_hash") else []
        for word in taken:
            bound = scope.only(word)
            if bound is not None and (word == "__slots__" or bound.value is None):
                why = f"{name} has a {word} of its own, and @dataclass makes one"
                self._fault(one, bound.node, "", why, "leave it out")

    def _fault(self, one: ClassHere, node: ast.AST, name: str, why: str, fix: str) -> None:
        whole = f"Python can't define {one.node.name}: {why}"
        self.faults.append(Fault(whole, fix, one.module.place(node), name))


_PYTHONS: tuple[Any, ...] = (type, ABC, typing.Generic, typing.Protocol)
"""What has attributes that a field without a default would take for one: `mro`, say."""


def _values(one: ClassHere) -> dict[str, _Attribute]:
    """What a class's own lines set its attributes to."""
    return {
        name: bound[0].value if len(bound) == 1 and bound[0].value is not None else _Unsure()
        for name, bound in own_scope(one).names.items()
    }


def annotations(one: ClassHere) -> Iterator[ast.AnnAssign]:
    """The lines of a class's body that give a name a type."""
    for line in one.node.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.simple:
            yield line


def annotated_name(line: ast.AnnAssign) -> str:
    """The name that such a line gives a type."""
    return ast.unparse(line.target)


def _are_texts(one: ClassHere) -> bool:
    """Whether the module's annotations are texts when it runs."""
    return any(
        isinstance(line, ast.ImportFrom)
        and line.module == "__future__"
        and any(alias.name == "annotations" for alias in line.names)
        for line in one.module.tree.body
    )


def _constant(node: ast.expr | None, *, otherwise: bool | None) -> bool | None:
    if node is None:
        return otherwise
    return bool(node.value) if isinstance(node, ast.Constant) else None


def _has_factory(node: ast.expr | None) -> bool | None:
    if node is None:
        return False
    return None if ast.unparse(node).endswith("MISSING") else True
