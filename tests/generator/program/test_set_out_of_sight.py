"""What code sets by a computed name: a program that the trainer takes has no finding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tf_cluster.check import check

HEAD = """\
import abc, sys
from dataclasses import dataclass
from tf_cluster_trainer import Program

@dataclass(frozen=True)
class F:
    steps: int = 1
"""
HOOKS = """\
    def build_model(self, ctx): ...
    def dataset(self, ctx, input_context): ...
"""
NET = f"class Net(Program):\n{HOOKS}"
LOOP = "for name in ('build_model', 'dataset'):\n"
LOSS = "    def evaluate(self, ctx, model): return {'loss': 1.0}\n"
TAKEN = {
    "a default that is filled": "@dataclass(frozen=True)\nclass G:\n    warm: int = None\n"
    "    def __post_init__(self):\n        object.__setattr__(self, 'warm', 3)\n"
    f"{NET}    flags = G\n",
    "a default that a helper fills": "def fill(flags): vars(flags)['warm'] = 3\n"
    "@dataclass(frozen=True)\nclass G:\n    warm: int = None\n"
    f"    def __post_init__(self): fill(self)\n{NET}    flags = G\n",
    "a default that a method fills": "@dataclass(frozen=True)\nclass G:\n    warm: int = None\n"
    "    def _fill(self): vars(self)['warm'] = 3\n"
    f"    def __post_init__(self): self._fill()\n{NET}    flags = G\n",
    "metrics of a decorator of one's own": "def override(f):\n"
    f"    return lambda *_: {{'accuracy': 1.0}}\n{NET}    @override\n{LOSS}",
    "hooks of a loop": f"class Net(Program): pass\n{LOOP}    setattr(Net, name, print)\n",
    "hooks of a function": "def add(c):\n    for name in ('build_model', 'dataset'):\n"
    "        setattr(c, name, print)\nclass Net(Program): pass\nadd(Net)\n",
    "hooks of a base": "class Base(Program):\n    def __init_subclass__(cls):\n"
    "        for name in ('build_model', 'dataset'): setattr(cls, name, print)\n"
    "class Net(Base): pass\n",
    "hooks by type": "class Net(Program): pass\n"
    "type.__setattr__(Net, 'build_model', print)\ntype.__setattr__(Net, 'dataset', print)\n",
    "a constructor": f"{NET}    def __init__(self, n): ...\n"
    "name = '__init__'\nsetattr(Net, name, lambda self: None)\n",
    "flags by an instance's dict": f"{NET}    flags: F\n"
    "    def __init__(self): self.__dict__['flags'] = F\n",
    "flags by object": f"{NET}    flags: F\n"
    "    def __init__(self): object.__setattr__(self, 'flags', F)\n",
    "metrics by an instance's dict": f"{NET}{LOSS}"
    "    def __init__(self): self.__dict__.update(evaluate=lambda c, m: {'accuracy': 1.0})\n",
    "metrics by __getattribute__": f"{NET}{LOSS}    def __getattribute__(self, name):\n"
    "        if name == 'evaluate': return lambda c, m: {'accuracy': 1.0}\n"
    "        return super().__getattribute__(name)\n",
    "metrics of a function that is replaced": "def made(): return {'loss': 1.0}\n"
    f"{NET}    def evaluate(self, ctx, model): return made()\n"
    "setattr(sys.modules[__name__], 'made', lambda: {'accuracy': 1.0})\n",
}
JUDGE = """
import sys
from types import SimpleNamespace
from tf_cluster_trainer.program.flags import of_run
from tf_cluster_trainer.program.load import load
program = load(SimpleNamespace(program_path=".", module="train:Net"))
of_run(program, {})
if sys.argv[1]:
    assert sys.argv[1] in program.evaluate(None, None)
"""


def findings(folder: Path, code: str, metric: str) -> list[str]:
    params = {
        "name": "a",
        "image": "r/i:1",
        "program": {"module": "train:Net", "source": {"files": ["train.py"]}},
    }
    if metric:
        params["evaluator"] = {"exportBest": {"metric": metric, "mode": "max"}}
    (folder / "train.py").write_text(code)
    text = yaml.safe_dump(params)
    return [one.code for one in check("p.yaml", text.encode(), folder=folder).findings]


@pytest.mark.parametrize("case", TAKEN)
def test_what_the_trainer_takes_has_no_finding(case: str, tmp_path: Path) -> None:
    metric = "accuracy" if "metrics" in case else ""
    assert findings(tmp_path, HEAD + TAKEN[case], metric) == []
    command = [sys.executable, "-c", JUDGE, metric]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("class Net(Program): pass\n", ["TFC505", "TFC505"]),
        (f"{NET}    flags: F\n", ["TFC506"]),
        (
            "@dataclass(frozen=True)\nclass G:\n    warm: int = None\n"
            "    def __post_init__(self):\n        if self.warm == 0: raise ValueError\n"
            f"{NET}    flags = G\n",
            ["TFC506"],
        ),
    ],
)
def test_the_same_without_what_sets_it_is_found(
    code: str, found: list[str], tmp_path: Path
) -> None:
    assert findings(tmp_path, HEAD + code, "") == found
