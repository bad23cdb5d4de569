"""The tool and the trainer agree on every type of flag and every value.

The trainer's own check is the judge: drawn types and values go to both.
"""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.program import kinds
from tf_cluster.program.flag_fields import Declared, flags_of
from tf_cluster.program.kinds import fits, refused_in, unknown_in
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import flags as trainer
from tf_cluster_trainer.program.base import Program

from tests.generator.program.families import family_of

HEAD = """\
from dataclasses import InitVar, dataclass, field
from typing import Annotated, List, Literal, Optional, Tuple, Union

from tf_cluster_trainer import Program

Words = Literal["a", "b"]
UNITS = "32"
MANY = UNITS


"""
ATOMS = (
    *("int", "float", "str", "bool", "None", "Words", "Literal[1, 2]", "Literal['x', 3, True]"),
    *("Literal[-1, None]", "'int'", "Annotated[int, 'n']"),
)
VALUES = (
    *(0, 1, 2, 3, -1, 2.0, 2.5, 1e300, True, False, "", "a", "b", "x", "1", "true", "1.5"),
    *([], [1], [1, 2], [1, "a"], ["a"], [2.5], [True], [[1]]),
)
DRAWN = 300


def _type(chance: random.Random, depth: int = 0) -> str:
    how = chance.randrange(9 if depth < 2 else 3)
    if how < 4:
        return chance.choice(ATOMS)
    inner = _type(chance, depth + 1)
    return {
        4: f"list[{inner}]",
        5: f"tuple[{inner}, ...]",
        6: f"Optional[{inner}]",
        7: f"Union[{inner}, {_type(chance, depth + 1)}]",
        8: f"List[{inner}]",
    }[how]


def _read(text: str) -> Any:
    """What the tool makes of the flags of class Net."""
    return flags_of(*family_of(text)).what


def _run(text: str) -> type[Program]:
    module = ModuleType("drawn")
    sys.modules["drawn"] = module
    exec(compile(text, "train.py", "exec"), vars(module))
    program: type[Program] = vars(module)["Net"]
    return program


def _refuses(program: type[Program], flags: dict[str, Any]) -> bool:
    try:
        trainer.of_run(program(), flags)
    except (ProgramError, HookError):
        return True
    return False


def _is_refused(text: str, flags: dict[str, Any]) -> bool:
    try:
        program = _run(text)
    except (TypeError, ValueError):
        return True
    return _refuses(program, flags)


def _program(fields: str, decorator: str = "@dataclass(frozen=True)") -> str:
    return f"{HEAD}{decorator}\nclass F:\n{fields}\n\n\nclass Net(Program):\n    flags = F\n"


def _through_helm(value: Any) -> Any:
    """The value as training.json has it: Helm writes 2.0 as 2."""
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if is_whole else value


def test_drawn_types_take_the_same_values() -> None:
    chance = random.Random(7)
    compared = 0
    for _ in range(DRAWN):
        kind = _type(chance)
        text = _program(f"    flag: {kind}")
        declared = _read(text)
        assert isinstance(declared, Declared), kind
        field = declared.fields["flag"]
        program = _run(text)
        assert not unknown_in(field.kind), kind
        for value in VALUES:
            wrong = bool(refused_in(field.kind)) or not fits(field.kind, value)
            assert wrong == _refuses(program, {"flag": _through_helm(value)}), (kind, value)
            compared += 1

    assert compared == DRAWN * len(VALUES)


SHAPES = {
    "plain": ("    a: int = 1\n    b: str = ''", "@dataclass(frozen=True)"),
    "not frozen": ("    a: int = 1", "@dataclass"),
    "called, not frozen": ("    a: int = 1", "@dataclass()"),
    "no dataclass": ("    a: int = 1", ""),
    "keyword only": ("    a: int = 1\n    b: str", "@dataclass(frozen=True, kw_only=True)"),
    "a default of another type": ("    a: int = 'x'", "@dataclass(frozen=True)"),
    "none for a text": ("    a: str = None", "@dataclass(frozen=True)"),
    "no choice as default": ("    a: Words = 'c'", "@dataclass(frozen=True)"),
    "a default factory": (
        "    a: list[int] = field(default_factory=list)",
        "@dataclass(frozen=True)",
    ),
    "a default in a field": ("    a: int = field(default=3)", "@dataclass(frozen=True)"),
    "a field without default": ("    a: int = field()", "@dataclass(frozen=True)"),
    "not in the constructor": (
        "    a: int = field(default=3, init=False)",
        "@dataclass(frozen=True)",
    ),
    "a mapping": ("    a: dict = field(default_factory=dict)", "@dataclass(frozen=True)"),
    "a bare list": ("    a: list = field(default_factory=list)", "@dataclass(frozen=True)"),
    "a pair": ("    a: tuple[int, int] = (1, 2)", "@dataclass(frozen=True)"),
    "a whole number as a number": ("    a: float = 1", "@dataclass(frozen=True)"),
    "no annotation": ("    a = 1", "@dataclass(frozen=True)"),
    "out of order": ("    a: int = 1\n    b: str", "@dataclass(frozen=True)"),
    "a list as default": ("    a: list[int] = []", "@dataclass(frozen=True)"),
    "given to the constructor alone": ("    a: InitVar[int]", "@dataclass(frozen=True)"),
    "a constant of another type": ("    a: int = UNITS", "@dataclass(frozen=True)"),
    "the same by another name": ("    a: int = MANY", "@dataclass(frozen=True)"),
    "the same in a field": ("    a: int = field(default=UNITS)", "@dataclass(frozen=True)"),
    "a constant of its type": ("    a: str = UNITS", "@dataclass(frozen=True)"),
    "a name of the class itself": (
        "    UNITS: int = 3\n    a: int = UNITS",
        "@dataclass(frozen=True)",
    ),
    "its default, too": ("    a: InitVar[int] = 1", "@dataclass(frozen=True)"),
}

CHANGES = (
    "def change():\n    global UNITS\n    UNITS = 3\nchange()\n",
    "globals()['UNITS'] = 3\n",
    "if UNITS:\n    UNITS = 3\n",
    "import sys\nsys.modules[__name__].UNITS = 3\n",
    "for UNITS in (3,): ...\n",
)


@pytest.mark.parametrize("change", CHANGES)
def test_a_constant_that_changes_is_not_guessed(change: str, tmp_path: Path) -> None:
    text = _program("    a: int = UNITS").replace("@dataclass", f"{change}@dataclass")

    _judged_alike(text, {}, tmp_path)


def test_a_default_of_a_base_is_none_of_this_module_s(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text("UNITS = 3\nclass Base:\n    a = UNITS\n")
    text = f"from base import Base\n{_program('    a: int')}".replace("class F", "class F(Base)")
    (tmp_path / "train.py").write_text(f"{text}{HOOKS}")

    assert _checked({}, tmp_path) == []


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("flags", [{}, {"a": 1}, {"a": "x"}, {"b": "x"}, {"a": [1], "c": 1}])
def test_every_shape_is_judged_alike(shape: str, flags: dict[str, Any], tmp_path: Path) -> None:
    _judged_alike(_program(*SHAPES[shape]), flags, tmp_path)


PLAIN = f"{HEAD}@dataclass(frozen=True)\nclass F:\n    a: int = 1\n\n\n"
DECLARATIONS = {
    "a type without a value": f"{PLAIN}class Net(Program):\n    flags: F\n",
    "the same in quotes": f"{PLAIN}class Net(Program):\n    flags: 'F'\n",
    "the same as texts": f"from __future__ import annotations\n{PLAIN}class Net(Program):\n"
    "    flags: F\n",
    "a type with its value": f"{PLAIN}class Net(Program):\n    flags: type[F] = F\n",
    "a base's type, its value": f"{PLAIN}class Base(Program):\n    flags: F\n\n\n"
    "class Net(Base):\n    flags = F\n",
    "a base's type": f"{PLAIN}class Base(Program):\n    flags: F\n\n\nclass Net(Base):\n",
    "a base's value, another type": f"{PLAIN}@dataclass(frozen=True)\nclass G:\n    a: int = 1"
    "\n\n\nclass Base(Program):\n    flags = F\n\n\nclass Net(Base):\n    flags: G\n",
    "any class": f"{PLAIN}class Net(Program):\n    flags: type[F]\n",
    "no dataclass": f"{PLAIN}class Net(Program):\n    flags: dict\n",
    "a plain class": f"{PLAIN}class G:\n    b: int = 1\n\n\nclass Net(Program):\n    flags: G\n",
    "a class in the class": f"{PLAIN}class Net(Program):\n    @dataclass(frozen=True)\n"
    "    class Own:\n        a: int = 1\n\n    flags: Own\n",
    "one that can be changed": f"{PLAIN}@dataclass\nclass G:\n    a: int = 1\n\n\n"
    "class Net(Program):\n    flags: G\n",
    "the same as the base's value": f"{PLAIN}class Base(Program):\n    flags = F\n\n\n"
    "class Net(Base):\n    flags: F\n",
    "a type behind Program": f"{PLAIN}class M:\n    flags: F\n\n\nclass Net(Program, M):\n",
    "a type before Program": f"{PLAIN}class M:\n    flags: F\n\n\nclass Net(M, Program):\n",
    "a value behind Program": f"{PLAIN}class M:\n    flags = F\n\n\nclass Net(Program, M):\n",
    "a value behind a base of Program's": f"{PLAIN}class M:\n    flags = F\n\n\n"
    "class Base(Program): ...\n\n\nclass Net(Base, M):\n",
    "a value before Program": f"{PLAIN}class M:\n    flags = F\n\n\nclass Net(M, Program):\n",
    "another type after it": f"{PLAIN}class Net(Program):\n    flags: F\n    flags: int\n",
    "an annotated one": f"from __future__ import annotations\n{PLAIN}class Net(Program):\n"
    "    flags: Annotated[F, 1]\n",
    "none": f"{PLAIN}class Net(Program):\n    flags: None\n",
    "an instance": f"{PLAIN}class Net(Program):\n    flags = F()\n",
    "an instance with a value": f"{PLAIN}class Net(Program):\n    flags = F(a=2)\n",
    "an instance of before": f"{PLAIN}SMALL = F()\n\n\nclass Net(Program):\n    flags = SMALL\n",
    "an instance of a plain class": f"{PLAIN}class G:\n    b: int = 1\n\n\n"
    "class Net(Program):\n    flags = G()\n",
    "an instance of a class in the class": f"{PLAIN}class Net(Program):\n"
    "    @dataclass(frozen=True)\n    class Own:\n        a: int = 1\n\n    flags = Own()\n",
    "a class that makes itself": f"{PLAIN}class G:\n    def __new__(cls): return F\n\n\n"
    "class Net(Program):\n    flags = G()\n",
    "a class that gives another": f"{PLAIN}class G:\n    def __get__(self, one, kind): return F\n"
    "\n\nclass Net(Program):\n    flags = G()\n",
    "a decorated class": f"{PLAIN}@lambda one: lambda: F\nclass G: ...\n\n\n"
    "class Net(Program):\n    flags = G()\n",
    "a tuple": f"{PLAIN}class Net(Program):\n    flags = (F,)\n",
    "a mapping by its name": f"{PLAIN}class Net(Program):\n    flags = dict(a=1)\n",
}
NOT_GUESSED = ("a class that makes itself", "a class that gives another", "a decorated class")


@pytest.mark.parametrize("declaration", DECLARATIONS)
@pytest.mark.parametrize("flags", [{}, {"a": 1}, {"a": "x"}, {"b": "x"}])
def test_every_declaration_is_judged_alike(
    declaration: str, flags: dict[str, Any], tmp_path: Path
) -> None:
    if declaration in NOT_GUESSED and flags not in ({}, {"a": 1}):
        return
    _judged_alike(DECLARATIONS[declaration], flags, tmp_path)


TYPES_HEAD = """\
import abc
import collections.abc
import enum
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum
from typing import Callable, Final, Generic, List, Literal, NamedTuple, Optional, TypeVar

from tf_cluster_trainer import Program

T = TypeVar("T")


class Act(Enum):
    R = "r"
    G = "g"


class Level(IntEnum):
    LOW = 1


@enum.unique
class Text(str, Enum):
    R = "r"


@dataclass(frozen=True)
class Opt:
    rate: float = 0.1


class Words(str): ...


class Base(abc.ABC): ...


class Derived(Base): ...


class Box(Generic[T]): ...


class Pair(NamedTuple):
    a: int
    b: int


Alias = Act


@dataclass(frozen=True)
class F:
    flag: {kind} = None


class Net(Program):
    flags = F
"""
REFUSED = (
    *("Act", "Level", "Text", "Opt", "Words", "Base", "Derived", "Box", "Pair", "Alias", "'Act'"),
    *("Optional[Act]", "list[Opt]", "Act | None", "List[Level]", "tuple[Act, ...]", "Act | int"),
    *("Sequence[int]", "Sequence", "Mapping[str, int]", "Final[int]", "Final", "Callable[[], int]"),
    *("Literal[Act.R]", "Literal['a', Text.R]", "Optional[Literal[Level.LOW]]", "Literal[b'x']"),
    *("type", "type[int]", "any", "callable", "list[any]", "bytearray", "Exception", "tuple[()]"),
    *("typing.Iterable[int]", "collections.abc.Iterable[int]", "typing.Type[int]"),
    *("Optional[Sequence[int]]", "list[Sequence[int]]", "object", "typing.Any"),
)


@pytest.mark.parametrize("kind", REFUSED)
def test_a_type_that_is_surely_none_of_a_flag_is_told(kind: str, tmp_path: Path) -> None:
    text = TYPES_HEAD.replace("{kind}", kind)
    declared = _read(text)

    assert isinstance(declared, Declared)
    assert refused_in(declared.fields["flag"].kind), kind
    assert _refuses(_run(text), {"flag": 1})


def test_the_trainer_refuses_each_name_that_the_tool_does() -> None:
    for name in kinds.REFUSED:
        space, _, word = name.rpartition(".")
        if not hasattr(importlib.import_module(space), word):
            continue
        head = f"import {space} as space\n" + TYPES_HEAD
        text = head.replace("{kind}", f"space.{word}")
        declared = _read(text)
        assert isinstance(declared, Declared)
        assert refused_in(declared.fields["flag"].kind), name
        assert _is_refused(text, {"flag": 1}), name


@pytest.mark.parametrize(
    "made",
    [
        "@lambda one: int\nclass Odd: ...",
        "class Odd(metaclass=lambda *_: int): ...",
        "class Maker(type):\n    def __new__(*_): return int\nclass Odd(metaclass=Maker): ...",
        "class Maker(type):\n    def __new__(*_): return int\n"
        "class Made(metaclass=Maker): ...\nclass Odd(Made): ...",
        "Odd = Act\nOdd = int",
        "from typing import Text as Odd",
        "Odd = list[int, str]",
        "class Texts(str, Enum):\n    X = 'int'\nOdd = Texts['X']",
    ],
)
def test_a_type_that_may_be_another_is_not_guessed(made: str) -> None:
    text = TYPES_HEAD.replace("{kind}", "Odd").replace("@dataclass", f"{made}\n\n\n@dataclass", 1)
    declared = _read(text)

    assert isinstance(declared, Declared)
    assert not refused_in(declared.fields["flag"].kind)


HOOKS = "    def build_model(self, ctx): ...\n    def dataset(self, ctx, input_context): ...\n"


def _judged_alike(text: str, flags: dict[str, Any], folder: Path) -> None:
    (folder / "train.py").write_text(f"{text}{HOOKS}")

    findings = _checked(flags, folder)

    assert bool(findings) == _is_refused(f"{text}{HOOKS}", flags), findings


def _checked(flags: dict[str, Any], folder: Path) -> list[str]:
    params = {"name": "a", "program": {"module": "train:Net", "path": "."}, "flags": flags}
    found = check("p.yaml", yaml.safe_dump(params).encode(), folder=folder, for_cluster=False)
    return [one.words for one in found.findings]
