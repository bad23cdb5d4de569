"""No metric that `evaluate` gives is called unknown: Python, which runs it, is the judge."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from tf_cluster.program.metrics import metrics_of
from tf_cluster.program.resolve import Unknown

from tests.generator.program.families import family_of

HEAD = """\
from tf_cluster_trainer import Program

KEY = "acc"
RESULT = {"acc": 1.0}


def measure(*_): return {"acc": 1.0}


def sorted(one): one["z"] = 1.0


class Net(Program):
    def helper(self, out=None): return {"acc": 1.0}

    def evaluate(self, ctx, model):
"""
KEYS = 'KEY = "z"\nRESULT = {"z": 1.0}\ndef measure(*_): return {"z": 1.0}\n'
# Each is a function's body in which a name is not what the module calls so.
HIDDEN = {
    "an import of a constant": "from keys import KEY\nreturn {KEY: 1.0}",
    "an import by another name": "from keys import KEY as OTHER, measure as KEY\nreturn {OTHER: 1}",
    "an import of a function": "from keys import measure\nreturn measure(model)",
    "an import of a dictionary": "from keys import RESULT\nreturn RESULT",
    "an import beside a dictionary": "out = {}\nfrom keys import RESULT as out\nreturn out",
    "a function": "def measure(*_): return {'z': 1.0}\nreturn measure(model)",
    "a function called dict": "def dict(**_): return {'z': 1.0}\nreturn dict(a=1)",
    "a class": "class measure(dict):\n    def __init__(self, _): self['z'] = 1.0\n"
    "return measure(model)",
    "a loop": "for KEY in 'z': pass\nreturn {KEY: 1.0}",
    "a loop over dictionaries": "for out in [{'z': 1.0}]: pass\nreturn out",
    "a context": "from contextlib import nullcontext\n"
    "with nullcontext('z') as KEY: return {KEY: 1.0}",
    "an exception": "try: raise KeyError('z')\nexcept KeyError as KEY: return {KEY.args[0]: 1.0}",
    "a walrus": "if (KEY := 'z'): return {KEY: 1.0}",
    "a pattern": "match 'z':\n    case KEY: return {KEY: 1.0}",
    "a dictionary in a pattern": "match {'z': 1.0}:\n    case {**out}: return out",
    "a walrus in a default": "def f(a=(KEY := 'z')): ...\nreturn {KEY: 1.0}",
    "a function that changes it": "out = {}\ndef f():\n    nonlocal out\n    out = {'z': 1}\nf()\n"
    "return out",
    "the module's, changed": "global KEY\nKEY = 'z'\nreturn {KEY: 1.0}",
    "a function that is called print": "out = {}\ndef print(one): one['z'] = 1.0\nprint(out)\n"
    "return out",
    "one of the module": "out = {}\nsorted(out)\nreturn out",
    "an argument": "def f(out):\n    out['z'] = 1.0\n    return out\nreturn f({})",
}
# Here it is what the module says: it is known.
SEEN = {
    "a constant": "return {KEY: 1.0}",
    "another function's own": "def f():\n    from keys import KEY\nreturn {KEY: 1.0}",
    "a comprehension's own": "a = [KEY for KEY in 'z']\nreturn {KEY: 1.0}",
    "a function": "return measure(model)",
    "a function of Python": "return dict(acc=1.0)",
    "a variable": "out = {}\nout[KEY] = 1.0\nreturn out",
    "a method": "return self.helper()",
}


def _names(text: str) -> frozenset[str] | Unknown:
    found = metrics_of(*family_of(text, keys=KEYS))
    assert isinstance(found, (tuple, Unknown))
    return found[0] if isinstance(found, tuple) else found


def _given(text: str) -> set[str]:
    """What Python gives when it runs the code."""
    for name, one in (("keys", KEYS), ("train", text)):
        module = sys.modules[name] = ModuleType(name)
        exec(compile(one, f"{name}.py", "exec"), vars(module))
    return set(vars(module)["Net"]().evaluate(None, None))


def _program(body: str) -> str:
    return HEAD + "".join(f"        {line}\n" for line in body.splitlines())


@pytest.mark.parametrize("name", HIDDEN)
def test_a_name_of_the_function_is_not_taken_for_the_module_s(name: str) -> None:
    text = _program(HIDDEN[name])

    names = _names(text)

    assert _given(text) == {"z"}
    assert isinstance(names, Unknown) or "z" in names


@pytest.mark.parametrize("name", SEEN)
def test_a_name_of_the_module_is_followed(name: str) -> None:
    text = _program(SEEN[name])

    assert _names(text) == _given(text) == {"acc"}
