"""The tool and Python agree on which flags classes can be defined, and on their fields.

Python's own `dataclasses` is the judge: drawn classes are executed.
"""

from __future__ import annotations

import dataclasses
import random
import sys
from collections import Counter
from types import ModuleType

from tf_cluster.program.flag_fields import Declared, Flags, flags_of
from tf_cluster.program.resolve import Unknown

from tests.generator.program.families import family_of

IMPORTS = """\
import dataclasses as dc
import typing as t
from abc import ABC
from dataclasses import KW_ONLY, InitVar, dataclass, field
from typing import ClassVar, Literal, Optional

from tf_cluster_trainer import Program

WORDS = ["a"]
NUMBER = 3


class Plain:
    a = 1
    e: int = 2


"""
FUTURE = "from __future__ import annotations\n"
NET = "class Net(Program):\n    flags = F\n"
NAMES = "abcde"
TYPES = (
    *("int", "int", "int", "str", "list[str]", "Optional[int]", "Literal['x']", "'int'"),
    *("ClassVar[int]", "t.ClassVar", "InitVar[int]", "dc.InitVar[list]", "ClassVar[list[int]]"),
)
VALUES = (
    *("", "", "", "", "1", "1", "'x'", "()", "NUMBER", "-1", "tuple()", "int('3')", "2 * 3"),
    *("[]", "WORDS", "{}", "{1}", "list()", "dict(a=1)", "[x for x in 'ab']", "None"),
    *("field()", "field(default=1)", "dc.field(default_factory=list)", "field(init=False)"),
    *("field(kw_only=True)", "field(default=[])", "field(default=1, kw_only=False)", "field(3)"),
    *("field(default=1, init=False)", "field(default=1, default_factory=list)"),
    *("field(default=1, repr=False, compare=False, hash=None, metadata={})", "field(defalt=1)"),
)
ODD_OPTIONS = (
    *("order=True", "order=True, eq=False", "unsafe_hash=True", "eq=False"),
    *("weakref_slot=True", "frozn=True", "repr=False", "match_args=False"),
)
ODD_LINES = (
    *("def __setattr__(self, name, value): ...", "def __lt__(self, other): ...", "__slots__ = ()"),
    *("def __hash__(self): return 1", "f = field(default=1)", "_: KW_ONLY", "__: dc.KW_ONLY"),
    *("def double(self): return 2", "NOTE = 3", '"""A text."""', "a = 3", "def b(self): ..."),
)
DRAWN = 1_500


def _line(chance: random.Random, name: str) -> str:
    kind, value = chance.choice(TYPES), chance.choice(VALUES)
    if chance.random() < 0.6:
        kind, value = "int", chance.choice(("", "", "1"))
    return f"    {name}: {kind}" + (f" = {value}" if value else "")


def _decorator(chance: random.Random) -> str:
    options = [word for word in ("kw_only=True", "slots=True") if chance.random() < 0.15]
    options += ["frozen=True"] * (chance.random() < 0.9)
    odd = chance.choice(ODD_OPTIONS)
    if chance.random() < 0.1 and not ("weakref_slot" in odd and "slots=True" in options):
        options.append(odd)
    chance.shuffle(options)
    word = chance.choice(("dataclass", "dc.dataclass"))
    return f"@{word}({', '.join(options)})\n" if options else f"@{word}\n"


def _class(chance: random.Random, name: str, bases: list[str]) -> str:
    lines = [_line(chance, one) for one in chance.sample(NAMES, chance.randrange(4))]
    if chance.random() < 0.15:
        lines.insert(chance.randrange(len(lines) + 1), "    _: KW_ONLY")
    if chance.random() < 0.15:
        lines.insert(chance.randrange(len(lines) + 1), f"    {chance.choice(ODD_LINES)}")
    decorator = "" if name != "F" and chance.random() < 0.1 else _decorator(chance)
    held = f"({', '.join(bases)})" if bases else ""
    return f"{decorator}class {name}{held}:\n" + ("\n".join(lines) or "    pass") + "\n\n\n"


def drawn(chance: random.Random) -> str:
    """A module with a flags class F, and what it inherits from."""
    bases_of: dict[str, list[str]] = {"Plain": [], "ABC": []}
    text_of = {"Plain": "", "ABC": ""}
    for name in [*chance.choice(("", "Y", "XY", "XYZ")), "F"]:
        before = [*bases_of][2:] or chance.sample(["Plain", "ABC"], chance.choice((0, 0, 0, 1)))
        count = chance.choice((0, 1, 1, 1, 2)) if name != "F" else chance.choice((1, 1, 2))
        bases_of[name] = chance.sample(before, min(count, len(before)))
        text_of[name] = _class(chance, name, bases_of[name])
    used = {"F"}
    for name in reversed(bases_of):
        used |= set(bases_of[name]) if name in used else set()
    text = "".join(text_of[name] for name in bases_of if name in used)
    return (FUTURE if chance.random() < 0.3 else "") + IMPORTS + text + NET


def read(text: str) -> Flags:
    """What the tool makes of the flags of class Net."""
    return flags_of(*family_of(text))


def defined(text: str) -> type | str:
    """The flags class as Python makes it, or why it makes none."""
    module = ModuleType("drawn")
    sys.modules["drawn"] = module
    try:
        exec(compile(text, "train.py", "exec", dont_inherit=True), vars(module))
    except (TypeError, ValueError, AttributeError) as error:
        return f"{type(error).__name__}: {error}"
    flags: type = vars(module)["F"]
    return flags


def _has_default(one: dataclasses.Field[object]) -> bool:
    missing = dataclasses.MISSING
    return one.default is not missing or one.default_factory is not missing


def test_drawn_classes_are_defined_and_have_the_same_fields() -> None:
    chance = random.Random(18)
    counts: Counter[str] = Counter()
    for _ in range(DRAWN):
        text = drawn(chance)
        made, flags = defined(text), read(text)
        told = [one for one in flags.faults if "can't define" in one.why]
        if isinstance(flags.what, Unknown) and not told:
            counts["unknown"] += 1
            continue
        assert bool(told) == isinstance(made, str), (text, made, told)
        counts["refused" if told else "defined"] += 1
        if isinstance(made, str) or not isinstance(flags.what, Declared):
            continue
        fields = {one.name: one for one in dataclasses.fields(made) if one.init}
        assert [*flags.what.fields] == [*fields], text
        for name, one in flags.what.fields.items():
            assert one.has_default in (None, _has_default(fields[name])), (text, name)
            counts["unsure" if one.has_default is None else "sure"] += 1

    assert counts["unknown"] < 0.1 * DRAWN, counts
    assert counts["refused"] > 0.2 * DRAWN, counts
    assert counts["defined"] > 0.2 * DRAWN, counts
    assert counts["unsure"] < 0.05 * counts["sure"], counts
