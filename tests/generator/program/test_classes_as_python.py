"""The tool and Python agree on which class gives a program an attribute.

Python itself is the judge: drawn classes are executed, and the trainer's Program is their base.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.program.classes import OF_PROGRAM, Family, Member, member
from tf_cluster.program.resolve import Missing
from tf_cluster_trainer.program import flags as trainer
from tf_cluster_trainer.program.base import Program

from tests.generator.program.families import family_of

HEAD = """\
from abc import ABC
from typing import Generic, Protocol, TypeVar

from tf_cluster_trainer import Program

T = TypeVar("T")


"""
NAMES = ("evaluate", "dataset", "helper")
BARE = ("ABC", "Generic[T]", "Protocol", "object")
DRAWN = 1_000
KINDS = ("found", "none", "behind", "refused")


def _classes(chance: random.Random) -> dict[str, str]:
    """Some classes, each of which inherits from those before it; the last one is Net."""
    before: dict[str, str] = {}
    count = chance.randrange(2, 7)
    for number in range(count):
        name = "Net" if number == count - 1 else f"C{number}"
        most = min(len(before), 3)
        bases = chance.sample([*before], chance.randint(name == "Net", most))
        bases += ["Program"] * (not number or chance.random() < 0.1)
        bases += [base for base in BARE if chance.random() < 0.08]
        if chance.random() < 0.3:
            chance.shuffle(bases)
        own = [one for one in NAMES if chance.random() < 0.25]
        hooks = "".join(f"    def {one}(self, *_): return {{'{name}': 1}}\n" for one in own)
        before[name] = f"class {name}({', '.join(bases)}):\n    NOTE = 1\n{hooks}"
    return before


def _family(text: str) -> Family:
    _, net = family_of(text)
    return net


def _run(text: str) -> Any:
    """The class as Python makes it, or why it refuses one."""
    module = ModuleType("drawn")
    sys.modules["drawn"] = module
    try:
        exec(compile(text, "train.py", "exec"), vars(module))
    except TypeError as error:
        return str(error)
    return vars(module)["Net"]


def _owner(made: type, name: str) -> str:
    """The name of the class whose attribute it is; empty for Program's, and for none."""
    having = (one for one in made.__mro__ if name in vars(one))
    first = next(having, Program)
    return "" if first is Program else first.__name__


def test_drawn_classes_have_the_attributes_that_python_gives_them() -> None:
    chance = random.Random(11)
    seen: Counter[str] = Counter()
    for _ in range(DRAWN):
        classes = _classes(chance)
        of = _family(HEAD + "".join(classes.values()))
        inherited = {one.node.name for one in of.classes}
        text = HEAD + "".join(one for name, one in classes.items() if name in inherited)
        made = _run(text)
        assert not of.unknown, text
        if isinstance(made, str):
            is_order = "consistent method" in made
            assert not is_order or of.order is None, text
            seen["refused"] += is_order
            continue
        for name in NAMES:
            found, owner = member(of, name), _owner(made, name)
            assert isinstance(found, Member if owner else Missing), (name, text)
            assert not isinstance(found, Member) or found.owner.node.name == owner, (name, text)
            others = [one for one in made.__mro__ if one is not Program and name in vars(one)]
            seen["found" if owner else "behind" if others else "none"] += 1

    assert min(seen[one] for one in KINDS) > DRAWN // 60, seen


def test_the_tool_knows_what_program_itself_has() -> None:
    names = {name for name in vars(Program) if not name.startswith("__")}

    assert names == set(OF_PROGRAM)


MIXINS = """\
from dataclasses import dataclass

from tf_cluster_trainer import Program


@dataclass(frozen=True)
class F:
    depth: int = 2


class Data:
    flags = F
    def dataset(self, ctx, input_context): ...


class Model:
    def build_model(self, ctx): ...
    def evaluate(self, ctx, model): return {"acc": 1.0}


class Base(Program): ...


"""
BEHIND = "has one, but stands behind Program: change their order"


@pytest.mark.parametrize("bases", ["Data, Model, Program", "Data, Model, Base"])
def test_mixins_before_program_give_it_what_they_have(bases: str, tmp_path: Path) -> None:
    words = _found(f"{MIXINS}class Net({bases}): ...\n", tmp_path)

    assert [one.split(" (")[0] for one in words] == ["flags.units is no flag of F"]


@pytest.mark.parametrize("bases", ["Program, Data, Model", "Base, Data, Model"])
def test_mixins_behind_program_give_it_nothing_that_program_has(bases: str, tmp_path: Path) -> None:
    text = f"{MIXINS}class Net({bases}): ...\n"
    made = _run(text)

    words = _found(text, tmp_path)

    assert made.evaluate is Program.evaluate
    assert trainer.of_run(made(), {"units": 3}).units == 3
    assert words == [
        'evaluator.exportBest.metric is "acc", but the program has no evaluate (train.py:24) '
        f"(Model {BEHIND})",
        f"Net defines no build_model (train.py:24) (Model {BEHIND})",
        f"Net defines no dataset (train.py:24) (Data {BEHIND})",
    ]


IMPORTS = """\
import abc, collections, google.cloud, keras, ourteam, threading
import tensorflow as tf
import tf_cluster_trainer
from sklearn.base import BaseEstimator
from tf_keras import Model


class Own(tf.Module): ...


"""


@pytest.mark.parametrize(
    "base",
    [
        *("keras.Model", "tf.keras.Model", "Model", "tf.Module", "Own", "BaseEstimator", "dict"),
        *("threading.Thread", "collections.abc.Mapping", "Exception", "object", "abc.ABC"),
        *("keras.Model, metaclass=abc.ABCMeta", "Own, threading.Thread"),
    ],
)
def test_a_class_of_the_image_s_packages_is_no_program(base: str, tmp_path: Path) -> None:
    (words,) = _found(f"{IMPORTS}class Net({base}): ...\n", tmp_path)

    assert words.startswith("Net is no subclass of tf_cluster_trainer.Program (train.py:11)")
    assert ("whose build_model returns Net()" in words) == ("Model" in base)


@pytest.mark.parametrize(
    "base",
    [
        *("ourteam.Base", "keras.Model, ourteam.Base", "Own, ourteam.Base", "google.cloud.Base"),
        *("tf_cluster_trainer.interactive.Base", "keras.Model[Program]", "keras.made(Program)"),
        *("keras.Model, metaclass=ourteam.Meta", "keras.Model, **ourteam.more", "keras.Changed"),
        "numpy.Base",
    ],
)
def test_a_class_of_other_packages_may_be_a_program(base: str, tmp_path: Path) -> None:
    text = f"import numpy\n{IMPORTS}keras.Changed = ourteam.Base\n"
    beside = {"numpy.py": "from ourteam import *\n"}

    assert _found(f"{text}class Net({base}): ...\n", tmp_path, beside) == []


def _found(text: str, folder: Path, beside: Mapping[str, str] | None = None) -> list[str]:
    files = {"train.py": text, **(beside or {})}
    for name, one in files.items():
        (folder / name).write_text(one)
    params = {
        "name": "a",
        "image": "r/i:1",
        "program": {"module": "train:Net", "source": {"files": list(files)}},
        "flags": {"units": 3},
        "evaluator": {"exportBest": {"metric": "acc", "mode": "max"}},
    }
    checked = check("p.yaml", yaml.safe_dump(params).encode(), folder=folder)
    return [one.words for one in checked.findings]
