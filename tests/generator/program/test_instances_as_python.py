"""The tool and Python agree on which programs can be made: Python itself is the judge."""

from __future__ import annotations

import abc
import random
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from tf_cluster.check import check

HEAD = """\
import abc
from abc import ABC, ABCMeta, abstractmethod
from typing import Generic, Protocol, TypeVar, final

from tf_cluster_trainer import Program

T = TypeVar("T")


"""
HOOKS = "    def build_model(self, ctx): return 1\n    def dataset(self, ctx, _): return 1\n"
METHODS = (
    (
        "    @abstractmethod\n    def net(self): ...\n",
        "    @property\n    @abc.abstractmethod\n    def net(self): ...\n",
        "    def net(self): ...\n",
        "    net = 1\n",
    ),
    ("    @abstractmethod\n    def loss(self, labels, outputs): ...\n",),
    ("    @abstractmethod\n    def build_model(self, ctx): return 1\n",),
    (
        "    def __init__(self, *units): ...\n",
        "    def __init__(self, units=1, *, rate=2, **rest): ...\n",
        "    def __init__(self, units): ...\n",
        "    def __init__(self, *, units): ...\n",
    ),
)
BARE = ("ABC", "metaclass=ABCMeta", "Generic[T]")
DRAWN = 600


def _program(chance: random.Random) -> str:
    """Some classes, the last one of which is Net, with its hooks."""
    before: list[str] = []
    text = f"{HEAD}class Hooks:\n{HOOKS}"
    count = chance.randrange(1, 5)
    for number in range(count):
        is_net = number == count - 1
        name = "Net" if is_net else f"C{number}"
        bases = before[::-1] if is_net else chance.sample(before, chance.randint(0, len(before)))
        bases += ["Hooks", "Program"] * is_net
        bases += [chance.choice(BARE)] if chance.random() < 0.3 else []
        text += f"class {name}({', '.join(bases)}):\n    NOTE = 1\n"
        text += "".join(chance.choice(one) for one in METHODS if chance.random() < 0.3)
        before.append(name)
    return text


def _why(text: str) -> str:
    """Why Python makes no Net; empty if it makes one."""
    module: Any = ModuleType("drawn")
    sys.modules["drawn"] = module
    try:
        exec(compile(text, "train.py", "exec"), vars(module))
        module.Net()
    except (TypeError, AttributeError) as error:
        return str(error)
    return ""


def _found(text: str, folder: Path) -> list[str]:
    (folder / "train.py").write_text(text)
    params = {"name": "a", "program": {"module": "train:Net", "path": "."}}
    checked = check("p.yaml", yaml.safe_dump(params).encode(), folder=folder, for_cluster=False)
    return [f"{one.code}: {one.words}" for one in checked.findings]


def _is_of_a_plain_class(name: str) -> bool:
    """Whether the mark of an abstract method is on a class that Python does not mind itself."""
    made = vars(sys.modules["drawn"])["Net"]
    owner = next(one for one in made.__mro__ if name in vars(one))
    return not isinstance(owner, abc.ABCMeta)


def test_drawn_programs_are_made_or_not_as_python_does(tmp_path: Path) -> None:
    chance = random.Random(5)
    seen: Counter[str] = Counter()
    for _ in range(DRAWN):
        text = _program(chance)
        told, why = _found(text, tmp_path), _why(text)
        if bool(told) != bool(why):
            methods = [one for one in ("net", "loss", "build_model") if one in why]
            assert not told, (told, text)
            assert methods, (why, text)
            assert any(map(_is_of_a_plain_class, methods)), (why, text)
        seen[" ".join(why.split()[:2]) if told else "made"] += 1

    assert len(seen) >= 4, seen
    assert min(seen.values()) > 5, seen


METHOD = "    @abstractmethod\n    def {0}(self, *_): ...\n"
BASE = f"class Base(Program, ABC):\n{METHOD}"
NET = f"class Net(Base):\n{HOOKS}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            BASE.format("net") + NET,
            "TFC516: Python makes no Net(): Base.net is abstract (train.py:12) (define net in Net)",
        ),
        (
            BASE.format("net") + METHOD.format("loss") + METHOD.format("rate") + NET,
            "TFC516: Python makes no Net(): Base.net is abstract, and so: loss, rate (train.py:12) "
            "(define them in Net)",
        ),
        (
            BASE.format("build_model") + NET.replace("build_model", "model"),
            "TFC505: Net defines no build_model: Base.build_model is abstract (train.py:12) "
            "(define build_model in Net)",
        ),
        (
            f"class Net(Program):\n{HOOKS}    def __init__(self, units, rate): ...\n",
            "TFC516: Net() fails: __init__ asks for units, rate, and the trainer gives no "
            "arguments (train.py:13) (give it a default, or make it a flag)",
        ),
        (
            f"class Base(Program): ...\nclass Net(Program, Base):\n{HOOKS}",
            "TFC516: Python can't define Net: its bases contradict each other (train.py:11) "
            "(change their order)",
        ),
    ],
)
def test_what_python_refuses_is_told_in_words(text: str, told: str, tmp_path: Path) -> None:
    assert _found(HEAD + text, tmp_path) == [told]
    assert _why(HEAD + text)


@pytest.mark.parametrize(
    "text",
    [
        f"{BASE.format('net')}{NET}    def net(self): ...\n",
        f"{BASE.format('net')}{NET}    net = 3\n",
        f"{BASE.format('net')}{NET}    def __new__(cls): return object.__new__(Program)\n",
        BASE.format("net") + NET + "Net.__abstractmethods__ = frozenset()\n",
        f"def still(one):\n    one.__abstractmethods__ = frozenset()\n    return one\n"
        f"{BASE.format('net')}@still\n{NET}",
        BASE.replace("ABC", "Generic[T]").format("net") + NET,
        BASE.format("net").replace("    @abs", "    def abstractmethod(one): return 1\n    @abs")
        + NET,
        f"class Net(Program):\n{HOOKS}    def __init__(self, units): ...\n"
        "    def __new__(cls): return object.__new__(Program)\n",
        f"def given(f):\n    return lambda self: f(self, 1)\nclass Net(Program):\n{HOOKS}"
        "    @given\n    def __init__(self, units): ...\n",
        f"class Plain:\n    def __init__(self, units): ...\nclass Net(Plain, Program):\n{HOOKS}"
        "    def __init__(self): ...\n",
        f"class Plain:\n    def __init__(self, units=1): ...\nclass Net(Program, Plain):\n{HOOKS}",
    ],
)
def test_what_python_makes_is_not_told(text: str, tmp_path: Path) -> None:
    assert not _why(HEAD + text)
    assert _found(HEAD + text, tmp_path) == []


@pytest.mark.parametrize("body", ["...", "'''A model.'''", "raise NotImplementedError"])
def test_an_empty_hook_that_is_marked_is_told_without_abc(body: str, tmp_path: Path) -> None:
    base = f"class Base(Program):\n    @abstractmethod\n    def build_model(self, ctx): {body}\n"
    text = f"{HEAD}{base}class Net(Base):\n    def dataset(self, ctx, _): ...\n"

    (told,) = _found(text, tmp_path)

    assert told.startswith("TFC505: Net defines no build_model: Base.build_model is abstract")
    assert not _why(text)
    with pytest.raises((NotImplementedError, AssertionError)):
        assert vars(sys.modules["drawn"])["Net"]().build_model(None) is not None
    assert _found(text.replace(body, "return 1"), tmp_path) == []
