"""Choices that a script names elsewhere: judged only where nothing can change them.

argparse itself is the judge: each script runs in a process of its own.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.generator.program.test_argparse_args import checked

NETS = "def a(): pass\ndef b(): pass\nNETS = {'a': a, 'b': b}\n"
FIXED = {
    "a tuple": ("KINDS = ('a', 'b')", "KINDS"),
    "a list": ("KINDS = ['a', 'b']", "KINDS"),
    "a set": ("KINDS = {'a', 'b'}", "KINDS"),
    "a table": (NETS, "NETS"),
    "the keys of a table": (NETS, "NETS.keys()"),
    "a list of them": (NETS, "list(NETS.keys())"),
    "a sorted table": (NETS, "sorted(NETS)"),
    "a list of another": ("KINDS = ['a', 'b']\nMORE = tuple(KINDS)", "MORE"),
    "a list that is read": (
        "KINDS = ['a', 'b']\nfor kind in KINDS:\n  print(f'{KINDS}', len(KINDS))\n"
        "print(', '.join(KINDS), KINDS[0], KINDS + ['c'], 'a' in KINDS)\n"
        "print([k for k in KINDS], KINDS.index('a'), *KINDS, dict(zip(KINDS, KINDS)), not KINDS)\n"
        "import logging\nlogging.info('%s', KINDS)\nprint('{}'.format(KINDS))\n"
        "if not KINDS: raise SystemExit(3)\n__all__ = ['KINDS']",
        "KINDS",
    ),
    "numbers": ("BITS = [16, 32]", "list(BITS)"),
    "a name that a function has, too": (
        "KINDS = ['a', 'b']\ndef more(extra):\n  kinds = []\n  kinds.append(extra)\n",
        "KINDS",
    ),
}
CHANGED = {
    "a list that grows": ("KINDS = ['a']\nKINDS.append('x')", "KINDS"),
    "a list that grows by +=": ("KINDS = ['a']\nKINDS += ['x']", "KINDS"),
    "a list with another name": ("KINDS = ['a']\nMORE = KINDS\nMORE.append('x')", "KINDS"),
    "a list that a function gets": (
        "KINDS = ['a']\ndef add(kinds):\n  kinds.append('x')\nadd(KINDS)",
        "KINDS",
    ),
    "a list that a function is to get": (
        "import functools\nKINDS = ['a']\ndef add(kinds):\n  kinds.append('x')\n"
        "functools.partial(add, kinds=KINDS)()",
        "KINDS",
    ),
    "two names": ("KINDS = MORE = ['a']\nMORE.append('x')", "KINDS"),
    "a list with a new item": ("KINDS = ['a']\nKINDS[0] = 'x'", "KINDS"),
    "a method that is called later": ("KINDS = ['a']\nadd = KINDS.append\nadd('x')", "KINDS"),
    "a table that is filled": ("NETS = {'a': 1}\nNETS['x'] = 2", "NETS"),
    "a table that a decorator fills": (
        "NETS = {'a': 1}\ndef net(f):\n  NETS[f.__name__] = f\n  return f\n@net\ndef x(): pass",
        "sorted(NETS)",
    ),
    "a table that is updated": ("NETS = {'a': 1}\nNETS.update(x=2)", "NETS.keys()"),
    "a table of others": ("MORE = {'x': 1}\nNETS = {'a': 1, **MORE}", "NETS"),
    "a list of others": ("MORE = ['x']\nKINDS = ['a', *MORE]", "KINDS"),
    "a list returned": (
        "KINDS = ['a']\ndef kinds():\n  return KINDS\nkinds().append('x')",
        "KINDS",
    ),
    "a list by its module's name": (
        "import sys\nKINDS = ['a']\nvars()['KINDS'].append('x')",
        "KINDS",
    ),
    "a list in a list": ("KINDS = ['a']\nfor one in [KINDS]:\n  one.append('x')", "KINDS"),
    "a list of its own": ("def list(kinds):\n  return 'x'\nKINDS = ['a']", "list(KINDS)"),
    "a list that := names": ("KINDS = ['a']\n(more := KINDS).append('x')", "KINDS"),
    "keys of its own": (
        "class Names:\n  def keys(self):\n    return 'x'\nNAMES = Names()",
        "NAMES.keys()",
    ),
    "a list by a text": (
        "import sys\nKINDS = ['a']\ngetattr(sys.modules[__name__], 'KINDS').append('x')",
        "KINDS",
    ),
    "a join of its own": (
        "class Club:\n  def join(self, k): k.append('x')\nKINDS = ['a']\nClub().join(KINDS)",
        "KINDS",
    ),
    "an option of its own": (
        "class Bot:\n  def add_argument(self, name, choices): choices.append('x')\nKINDS = ['a']\n"
        "Bot().add_argument('n', choices=KINDS)",
        "KINDS",
    ),
    "a sum of its own": (
        "class More:\n  def __radd__(self, k): k.append('x')\nKINDS = ['a']\nKINDS + More()",
        "KINDS",
    ),
    "a function's own": ("KINDS = ['a']\ndef f(): pass\nf.KINDS = ['x']", "f.KINDS"),
}


def script(before: str, choices: str) -> str:
    kind = ", type=int" if "BITS" in choices else ""
    return (
        f"import argparse\n{before}\np = argparse.ArgumentParser()\n"
        f"p.add_argument('--kind'{kind}, choices={choices})\np.parse_args()\n"
    )


def judged(folder: Path, files: dict[str, str], arg: str) -> tuple[list[str], bool]:
    """The codes of the findings, and whether Python refuses the argument."""
    codes = [one.code for one in checked(folder, files, [arg]).findings]
    command = [sys.executable, "train.py", arg]
    ended = subprocess.run(command, cwd=folder, capture_output=True, check=False, text=True)
    assert ended.returncode in (0, 2), ended.stderr
    return codes, ended.returncode == 2


@pytest.mark.parametrize("case", FIXED)
def test_choices_by_a_constant_are_known(case: str, tmp_path: Path) -> None:
    files = {"train.py": script(*FIXED[case])}
    good = "--kind=16" if case == "numbers" else "--kind=b"

    assert judged(tmp_path, files, good) == ([], False)
    assert judged(tmp_path, files, "--kind=7") == (["TFC513"], True)


@pytest.mark.parametrize("case", CHANGED)
def test_choices_that_may_be_others_are_not_judged(case: str, tmp_path: Path) -> None:
    files = {"train.py": script(*CHANGED[case])}

    assert judged(tmp_path, files, "--kind=x") == ([], False)


@pytest.mark.parametrize(
    ("imports", "choices"),
    [
        ("from nets import NETS", "NETS"),
        ("from nets import NETS as N", "list(N)"),
        ("import nets", "nets.NETS.keys()"),
        ("from nets import *", "sorted(NETS.keys())"),
    ],
)
def test_a_table_of_another_module_is_known_until_some_module_fills_it(
    imports: str, choices: str, tmp_path: Path
) -> None:
    files = {"train.py": script(imports, choices), "nets.py": NETS}
    assert judged(tmp_path, files, "--kind=x") == (["TFC513"], True)

    files["again.py"] = "from nets import NETS as AGAIN\n"
    files["train.py"] = f"from again import AGAIN as TABLE\nlen(TABLE)\n{files['train.py']}"
    assert judged(tmp_path, files, "--kind=x") == (["TFC513"], True)

    files["more.py"] = "from again import AGAIN\nAGAIN |= {'x': None}\n"
    files["train.py"] = f"import more\n{files['train.py']}"
    assert judged(tmp_path, files, "--kind=x") == ([], False)

    files["more.py"] = "from again import AGAIN as TABLE\nTABLE['x'] = None\n"
    files["train.py"] = f"import more\n{files['train.py']}"
    assert judged(tmp_path, files, "--kind=x") == ([], False)
