"""What surely runs: a script that Python ends with 0 has no finding, one that it refuses has.

Each is a process of its own with the variables that a worker has.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tf_cluster.check import check

GET = """\
import argparse, contextlib, os, sys
def parse():
  parser = argparse.ArgumentParser()
  parser.add_argument("--data", required=True)
  return parser.parse_args()
"""
ABSL = """\
import os, sys
from absl import app, flags
FLAGS = flags.FLAGS
flags.DEFINE_integer("n", None, "", required=True)
def main(argv): pass
"""

HERE = "  if 'TF_CONFIG' in os.environ: "
NOT_SURE = {
    "an else": "args = 1 if os.environ.get('TF_CONFIG') else parse()",
    "an if": "if 'TF_CONFIG' not in os.environ:\n  parse()",
    "more arguments": "if len(sys.argv) > 9:\n  parse()",
    "an exit that is caught": "try:\n  parse()\nexcept SystemExit:\n  pass",
    "every exception is caught": "try:\n  parse()\nexcept:\n  pass",
    "an exit that is suppressed": "with contextlib.suppress(SystemExit):\n  parse()",
    "an end before": "if 'TF_CONFIG' in os.environ:\n  sys.exit()\nparse()",
    "an end with 0 before": "if 'TF_CONFIG' in os.environ:\n  raise SystemExit(0)\nparse()",
    "a return before": (
        "def main():\n  if 'TF_CONFIG' in os.environ:\n    return\n  parse()\nmain()"
    ),
    "a table of functions": "{'a': print, 'b': parse}['a']()",
    "another name": "run = print if 'TF_CONFIG' in os.environ else parse\nrun()",
    "a function that nothing calls": "def other():\n  parse()\nprint(other)",
    "a generator": "def other():\n  parse()\n  yield\nother()",
    "another function of that name": "def main():\n  def parse(): pass\n  parse()\nmain()",
    "a method that nothing calls": (
        "class A:\n  @classmethod\n  def of_args(cls):\n    parse()\n  def of_variables(self):\n"
        "    pass\nA().of_variables()"
    ),
    "a context of one's own": (
        "class Quiet:\n  def __enter__(self): pass\n  def __exit__(self, *error): return True\n"
        "with Quiet():\n  parse()"
    ),
    "a return at last": "def main():\n  try:\n    parse()\n  finally:\n    return\nmain()",
    "the first of an or": "os.environ.get('TF_CONFIG') or parse()",
    "a function that ends": f"def listed():\n{HERE}sys.exit()\nlisted()\nparse()",
    "a function whose function ends": (
        f"def leave(): sys.exit(0)\ndef listed():\n{HERE}leave()\nlisted()\nparse()"
    ),
    "a method that ends": f"class A:\n  def go(self):\n  {HERE}sys.exit()\nA().go()\nparse()",
    "an instance that ends": f"class A:\n  def __init__(self):\n  {HERE}quit()\nA()\nparse()",
    "another name of exit": f"from sys import exit as leave\nif 1:\n{HERE}leave(0)\nparse()",
    "a variable that is exit": f"leave = sys.exit\nif 1:\n{HERE}leave(0)\nparse()",
    "an exit of one's own": f"class Done(SystemExit): pass\nif 1:\n{HERE}raise Done(0)\nparse()",
    "an exit by its module": f"import builtins\nif 1:\n{HERE}raise builtins.SystemExit\nparse()",
    "an exit that is replaced": "sys.exit = print\nparse()",
    "argparse changed by another name": "import argparse as a\n"
    "a.ArgumentParser.error = lambda *_: None\nparse()",
    "argparse changed by setattr": (
        "setattr(argparse.ArgumentParser, 'error', lambda *_: None)\nparse()"
    ),
    "argparse changed by mock": (
        "from unittest import mock\nwith mock.patch('argparse.ArgumentParser.error'):\n  parse()"
    ),
    "a function in a table that ends": (
        f"def listed():\n{HERE}sys.exit()\n{{'a': listed}}['a']()\nparse()"
    ),
    "a function that ends by a loop's name": (
        f"def listed():\n{HERE}sys.exit()\nfor step in (print, listed):\n  step()\nparse()"
    ),
    "a function that ends, handed on": (
        f"def listed():\n{HERE}sys.exit()\ndef call(step):\n  step()\ncall(listed)\nparse()"
    ),
    "a default that ends": "def go(leave=sys.exit):\n  leave(0)\ngo()\nparse()",
    "a part of exit": "import functools\nleave = functools.partial(sys.exit, 0)\nleave()\nparse()",
    "a lambda that ends": "leave = lambda: sys.exit(0)\nleave()\nparse()",
    "an exit by getattr": "getattr(sys, 'exit')(0)\nparse()",
    "an exit of a class": "class A:\n  leave = staticmethod(sys.exit)\nA.leave(0)\nparse()",
    "a class made again after its fields": (
        "import dataclasses\n@dataclasses.dataclass\nclass A:\n  a: int = 1\n"
        "  def __post_init__(self):\n    sys.exit(0)\nA()\nparse()"
    ),
    "a context that ends": (
        "class A:\n  def __enter__(self): sys.exit(0)\n  def __exit__(self, *e): pass\n"
        "with A():\n  pass\nparse()"
    ),
    "a property that ends": (
        "class A:\n  @property\n  def role(self): sys.exit(0)\nA().role\nparse()"
    ),
    "a decorator that ends": "def now(f):\n  sys.exit(0)\n@now\ndef go(): pass\nparse()",
    "a class below one that ends": (
        "class A:\n  def __init_subclass__(cls): sys.exit(0)\nclass B(A): pass\nparse()"
    ),
    "tests that end": "import unittest\nif 1:\n  unittest.main(argv=['a'])\nparse()",
    "another program": "from os import execvp\nif 1:\n  execvp('true', ['true'])\nparse()",
    "a method of that name of another": (
        "import io\nclass A:\n  def read(self):\n    parse()\nio.StringIO().read()"
    ),
    "a method with a decorator": (
        "def off(f):\n  return lambda *_: None\nclass A:\n  @off\n  def of_args(self):\n"
        "    parse()\nA().of_args()"
    ),
    "a method that another class replaces": (
        "class A:\n  def of_args(self):\n    parse()\nclass B(A):\n"
        "  of_args = lambda self: None\nB().of_args()"
    ),
    "a method that its object replaces": (
        "class A:\n  def __init__(self):\n    self.of_args = print\n  def of_args(self):\n"
        "    parse()\nA().of_args()"
    ),
    "an instance that is made otherwise": (
        "class A:\n  def __new__(cls): return 1\n  def __init__(self):\n    parse()\nA()"
    ),
    "a class with another maker": (
        "class M(type):\n  def __call__(cls): return 1\nclass A(metaclass=M):\n"
        "  def __init__(self):\n    parse()\nA()"
    ),
    "a function of a function, set again": (
        "def main():\n  def go():\n    parse()\n  go = print\n  go()\nmain()"
    ),
    "the last of a comparison": "3 < 2 < parse()",
    "an argument that ends": (
        f"def listed():\n{HERE}sys.exit()\ndef main(a):\n  parse()\nmain(listed())"
    ),
    "an argument before that ends": (
        f"def listed():\n{HERE}sys.exit()\ndef main(a, b): pass\nmain(listed(), parse())"
    ),
    "a context that a call ends": (
        f"def listed():\n{HERE}sys.exit()\nwith open(listed()):\n  parse()"
    ),
    "a lambda that calls any": (
        f"def listed():\n{HERE}sys.exit()\nlist(map(lambda hook: hook(), [listed]))\nparse()"
    ),
    "an exit that is a success by its rest": "if 1:\n  sys.exit(256)\nparse()",
    "a field that is called": (
        f"def listed():\n{HERE}sys.exit()\nimport dataclasses\n@dataclasses.dataclass\nclass A:\n"
        "  act: object\nA([listed][0]).act()\nparse()"
    ),
    "a base that makes another": (
        "class N:\n  def __new__(cls): return object.__new__(Q)\nclass A(N):\n  def go(self):\n"
        "    parse()\nclass Q:\n  go = print\nA().go()"
    ),
    "two parsers of one function": (
        "def base():\n  p = argparse.ArgumentParser()\n  p.add_argument('--a')\n  return p\n"
        "other = base()\nother.add_argument('--b', required=True)\nbase().parse_args([])"
    ),
    "an option that comes later": (
        "p = argparse.ArgumentParser()\np.parse_args()\np.add_argument('--b', required=True)"
    ),
    "argparse changed in a loop": (
        "for one in (argparse.ArgumentParser,):\n  one.error = lambda *_: None\nparse()"
    ),
    "builtins changed": "import builtins\nbuiltins.super = None\nparse = print\nparse()",
    "another end at the end": ("import atexit\natexit.register(lambda: os._exit(0))\nparse()"),
}
SURE = {
    "the module": "parse()",
    "the main guard": "if __name__ == '__main__':\n  parse()",
    "a function of a function": "def main():\n  args = parse()\nmain()",
    "an exit by what it gives": "def main():\n  parse()\nsys.exit(main())",
    "an exit that is raised": "def main():\n  parse()\nraise SystemExit(main())",
    "an interrupt is caught": "try:\n  parse()\nexcept KeyboardInterrupt:\n  pass",
    "a context": "with open(os.devnull) as nothing:\n  parse()",
    "a failure before": "if sys.version_info < (3,):\n  sys.exit('too old')\nparse()",
    "a function that ends with a failure": (
        "def check():\n  if sys.version_info < (3,):\n    sys.exit('too old')\ncheck()\nparse()"
    ),
    "what makes a class": "class A:\n  def __init__(self):\n    self.args = parse()\nA()",
    "the one method of a name": "class A:\n  def of_args(self):\n    parse()\nA().of_args()",
    "a test": "if parse():\n  pass",
    "a method that a method calls": (
        "class A:\n  def of_args(self):\n    parse()\n  def go(self):\n    self.of_args()\nA().go()"
    ),
    "a method of the class": (
        "class A:\n  @classmethod\n  def of_args(cls):\n    parse()\nA.of_args()"
    ),
    "a method of an object by its name": (
        "class A:\n  def of_args(self):\n    parse()\ndef main():\n  a = A()\n  a.of_args()\nmain()"
    ),
    "a method of the class above": (
        "class A:\n  def of_args(self):\n    parse()\nclass B(A): pass\nB().of_args()"
    ),
    "a signal that may come": (
        "import signal\ndef leave(*_): sys.exit(0)\nsignal.signal(signal.SIGTERM, leave)\nparse()"
    ),
    "another name of a library's": "def leave():\n  sys.exit(0)\nlog = print\nlog('x')\nparse()",
    "an exit of another function": "def leave():\n  sys.exit(0)\nparse()\nleave()",
}


def findings(folder: Path, files: dict[str, str], args: list[str]) -> list[str]:
    for name, text in files.items():
        (folder / name).write_text(text)
    program = {"script": "train.py", "args": args, "source": {"files": list(files)}}
    params = {"name": "a", "image": "r/i:1", "strategy": "all-reduce", "program": program}
    text = yaml.safe_dump(params)
    return [one.code for one in check("p.yaml", text.encode(), folder=folder).findings]


def is_refused(folder: Path, args: list[str]) -> bool:
    variables = {**os.environ, "TF_CONFIG": "{}", "JOB_NAME": "worker"}
    command = [sys.executable, "train.py", *args]
    done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, check=False)
    return done.returncode != 0


@pytest.mark.parametrize("case", NOT_SURE)
def test_a_parse_that_may_not_run_has_no_finding(case: str, tmp_path: Path) -> None:
    assert findings(tmp_path, {"train.py": f"{GET}{NOT_SURE[case]}\n"}, []) == []
    assert not is_refused(tmp_path, [])


@pytest.mark.parametrize("case", SURE)
def test_what_a_sure_parse_lacks_is_found(case: str, tmp_path: Path) -> None:
    assert findings(tmp_path, {"train.py": f"{GET}{SURE[case]}\n"}, []) == ["TFC514"]
    assert is_refused(tmp_path, [])


@pytest.mark.parametrize(
    "code",
    [
        "app.run(main, argv=[sys.argv[0], '--n=3'])",
        "if 'TF_CONFIG' not in os.environ:\n  app.run(main)",
        "if 'TF_CONFIG' in os.environ:\n  sys.exit()\napp.run(main)",
        "FLAGS.set_default('n', 3)\napp.run(main)",
        "FLAGS.n = 3\napp.run(main)",
        "FLAGS['n'].value = 3\napp.run(main)",
        "delattr(FLAGS, 'n')\napp.run(main)",
        "FLAGS._flags()['n'].value = 3\napp.run(main)",
        "FLAGS(['train.py', '--n=3'])\napp.run(main)",
        "FLAGS.n = 1\nflags.DEFINE_integer('b', 1, '', 1, 9)\nFLAGS['b'].parser.upper_bound = 1\n"
        "app.run(main)",
        "def take(flags):\n  delattr(flags, 'n')\ntake(FLAGS)\napp.run(main)",
        "def fill(flags):\n  setattr(flags, 'n', 3)\nfill(FLAGS)\napp.run(main)",
        "def fill(flags):\n  flags.n = 3\nfill(FLAGS)\napp.run(main)",
        "def fill(flags):\n  flags['n'].value = 3\nfill(FLAGS)\napp.run(main)",
        "print('nothing reads them')",
        "flags.DEFINE_string('log_dir', '', '', allow_override=True)\nFLAGS.n = 3\napp.run(main)",
        "del FLAGS.n\napp.run(main)",
        "try:\n  FLAGS(sys.argv)\nexcept flags.Error:\n  pass",
        "def late(argv):\n  flags.mark_flag_as_required('m')\nFLAGS.n = 1\n"
        "flags.DEFINE_integer('m', None, '')\napp.run(late)",
    ],
)
def test_flags_of_absl_that_may_be_given_or_not_read_have_no_finding(
    code: str, tmp_path: Path
) -> None:
    assert findings(tmp_path, {"train.py": f"{ABSL}{code}\n"}, []) == []
    assert not is_refused(tmp_path, [])


@pytest.mark.parametrize(
    "code",
    [
        "app.run(main)",
        "if __name__ == '__main__':\n  app.run(main)",
        "FLAGS(sys.argv)",
        "FLAGS.steps = 3\napp.run(main)",
    ],
)
def test_flags_of_absl_that_are_surely_read_are_judged(code: str, tmp_path: Path) -> None:
    more = "flags.DEFINE_integer('steps', 1, '')\n"

    assert findings(tmp_path, {"train.py": f"{ABSL}{more}{code}\n"}, []) == ["TFC514"]
    assert is_refused(tmp_path, [])


ADD_N = "  p.add_argument('--n', type=int)\nmain(p)\np.parse_args()"
PARSER = "import argparse\np = argparse.ArgumentParser()\n"


@pytest.mark.parametrize(
    ("code", "good", "wrong"),
    [
        ("p.add_argument('a')\nadd(p)\np.add_argument('b')\n", ["x", "3", "z"], ["3", "x", "z"]),
        (
            "g = p.add_argument_group('g')\np.add_argument('a')\ng.add_argument('n', type=int)\n",
            ["x", "3"],
            ["3", "x"],
        ),
        (
            "g = p.add_argument_group()\nh = p.add_argument_group()\ng.add_argument('a')\n"
            "h.add_argument('n', type=int)\ng.add_argument('b')\n",
            ["x", "3", "z"],
            ["x", "z", "3"],
        ),
        ("p = add(p)\np.add_argument('a')\n", ["3", "x"], ["x", "3"]),
        ("p.add_argument('a')\nadd(q=p)\n", ["x", "3"], ["3", "x"]),
    ],
)
def test_positional_arguments_are_in_the_order_in_which_they_are_added(
    code: str, good: list[str], wrong: list[str], tmp_path: Path
) -> None:
    add = "def add(q):\n  q.add_argument('n', type=int)\n  return q\n"
    files = {"train.py": f"{add}{PARSER}{code}p.parse_args()\n"}

    assert (findings(tmp_path, files, good), is_refused(tmp_path, good)) == ([], False)
    assert findings(tmp_path, files, wrong) == ["TFC513"]
    assert is_refused(tmp_path, wrong)


def test_positional_arguments_of_a_module_come_before_those_of_the_script(tmp_path: Path) -> None:
    opts = "import argparse\ndef get():\n  p = argparse.ArgumentParser()\n  p.add_argument('a')\n"
    files = {
        "train.py": "import opts\np = opts.get()\np.add_argument('n', type=int)\np.parse_args()\n",
        "opts.py": f"{opts}  return p\n",
    }

    assert findings(tmp_path, files, ["x", "3"]) == []
    assert not is_refused(tmp_path, ["x", "3"])
    assert findings(tmp_path, files, ["3", "x"]) == ["TFC513"]


@pytest.mark.parametrize(
    ("code", "args"),
    [
        ("p.add_argument('--n')\np.error = print\np.parse_args()", ["--m=3"]),
        (
            "p.add_argument('--n', type=int)\np.exit = lambda *a: None\np.parse_known_args()",
            ["--n=x"],
        ),
        (
            "p.add_argument('--n')\ng = p.add_argument_group('g', conflict_handler='resolve')\n"
            "g.add_argument('--n')\np.parse_args()",
            ["--n=x"],
        ),
        (
            "g = p.add_argument_group('g', prefix_chars='+-')\ng.add_argument('+b')\n"
            "p.parse_args()",
            [],
        ),
        (
            "p.add_argument('--n')\ntry:\n  p.add_argument('--n')\nexcept argparse.ArgumentError:"
            "\n  pass\np.parse_args()",
            ["--n=x"],
        ),
        (
            "def build():\n  p.add_argument('--n', action='count', type=int)\ntry:\n  build()\n"
            "except Exception:\n  pass\np.parse_args()",
            [],
        ),
        ("p.add_argument('-n', '-n')\np.parse_args()", ["-n=x"]),
        ("argparse.ArgumentParser.error = print\np.parse_args()", ["--m=3"]),
        (
            "import types, sys\nm = types.SimpleNamespace(KINDS=('a',))\nm.KINDS += ('b',)\n"
            "p.add_argument('--n', choices=m.KINDS)\np.parse_args()",
            ["--n=b"],
        ),
        (f"def main(p):\n  int = str\n{ADD_N}", ["--n=x"]),
        (f"def main(p):\n  def int(text): return text\n{ADD_N}", ["--n=x"]),
        (f"def main(p):\n  from builtins import str as int\n{ADD_N}", ["--n=x"]),
    ],
)
def test_what_the_code_puts_in_place_of_pythons_own_is_not_judged(
    code: str, args: list[str], tmp_path: Path
) -> None:
    assert findings(tmp_path, {"train.py": f"{PARSER}{code}\n"}, args) == []
    assert not is_refused(tmp_path, args)


def test_a_variable_of_another_function_is_another_parser(tmp_path: Path) -> None:
    code = (
        "import argparse\ndef add(parser):\n  parser.add_argument('--n', type=int)\n"
        "parser = argparse.ArgumentParser()\nadd(parser)\nparser.parse_args()\n"
    )

    assert findings(tmp_path, {"train.py": code}, ["--n=3"]) == []
    assert findings(tmp_path, {"train.py": code}, ["--n=x"]) == ["TFC513"]


OPTS = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--x')\n"
OPTS += "def parse(): return parser.parse_args()\n"
ADD = "opts.parser.add_argument('--z')\n"
ABSL_END = "def main(argv): pass\napp.run(main)\n"
DEFINES = "from absl import app, flags\nimport functools\nflags.DEFINE_integer('n', 1, '')\n"
ELSEWHERE = {
    "the script adds": {"train.py": f"import opts\n{ADD}opts.parse()\n", "opts.py": OPTS},
    "the script adds by a name of its own": {
        "train.py": "from opts import parser, parse\nparser.add_argument('--z')\nparse()\n",
        "opts.py": OPTS,
    },
    "a function of the script adds": {
        "train.py": f"import opts\ndef main():\n  {ADD}  opts.parse()\nmain()\n",
        "opts.py": OPTS,
    },
    "a module adds": {
        "train.py": "import opts, more\nopts.parse()\n",
        "opts.py": OPTS,
        "more.py": f"import opts\n{ADD}",
    },
    "a module by a text adds": {
        "train.py": "import importlib, opts\nimportlib.import_module('more')\nopts.parse()\n",
        "opts.py": OPTS,
        "more.py": f"import opts\n{ADD}",
    },
    "a function is replaced": {
        "train.py": "import opts\nopts.parse = opts.parser.parse_known_args\nopts.parse()\n",
        "opts.py": OPTS,
    },
    "a module adds to the script's": {
        "train.py": f"{PARSER}import more\np.parse_args()\n",
        "more.py": "import __main__\n__main__.p.add_argument('--z')\n",
    },
    "a text adds": {"train.py": f"{PARSER}exec('p.add_argument(\"--z\")')\np.parse_args()\n"},
    "another sign before options": {
        "train.py": "import argparse\np = argparse.ArgumentParser("
        "None, None, None, None, [], argparse.HelpFormatter, '+')\n"
        "p.add_argument('x')\np.parse_args()\n"
    },
    "a module that ends": {
        "train.py": f"import early\n{PARSER}p.parse_args()\n",
        "early.py": "import sys\nif '--z=1' in sys.argv:\n  sys.exit()\n",
    },
    "a module's context": {
        "train.py": f"import quiet\n{PARSER}with quiet.all():\n  p.parse_args()\n",
        "quiet.py": "import contextlib\n@contextlib.contextmanager\ndef all():\n  try:\n"
        "    yield\n  except SystemExit:\n    pass\n",
    },
    "sys.argv by its module's names": {
        "train.py": f"import sys\nvars(sys)['argv'].remove('--z=1')\n{PARSER}p.parse_args()\n"
    },
    "absl's definer by another name": {
        "train.py": f"{DEFINES}from absl.flags import DEFINE_integer as number\n"
        f"number('z', 1, '')\n{ABSL_END}"
    },
    "absl's definer in a variable": {
        "train.py": f"{DEFINES}number = flags.DEFINE_integer\nnumber('z', 1, '')\n{ABSL_END}"
    },
    "a part of absl's definer": {
        "train.py": f"{DEFINES}functools.partial(flags.DEFINE_integer, 'z')(1, '')\n{ABSL_END}"
    },
    "absl's definer by a text": {
        "train.py": f"{DEFINES}getattr(flags, 'DEFINE_' + 'integer')('z', 1, '')\n{ABSL_END}"
    },
    "a module of absl's by a text": {
        "train.py": f"{DEFINES}__import__('more')\n{ABSL_END}",
        "more.py": "from absl import flags\nflags.DEFINE_integer('z', 1, '')\n",
    },
}


@pytest.mark.parametrize("case", ELSEWHERE)
def test_what_adds_an_option_out_of_sight_leaves_it_unjudged(case: str, tmp_path: Path) -> None:
    assert not findings(tmp_path, ELSEWHERE[case], ["--z=1"])
    assert not is_refused(tmp_path, ["--z=1"])


@pytest.mark.parametrize("value", ["--d", "--d=5"])
def test_an_option_with_the_value_of_its_default_may_stand_beside_others(
    value: str, tmp_path: Path
) -> None:
    code = (
        f"{PARSER}g = p.add_mutually_exclusive_group()\n"
        "g.add_argument('--d', nargs='?', type=int, default=5, const=5)\n"
        "g.add_argument('--e', action='store_true')\np.parse_args()\n"
    )
    assert not findings(tmp_path, {"train.py": code}, [value, "--e"])
    other = code.replace("type=int", "type=str").replace("default=5, ", "")
    assert findings(tmp_path, {"train.py": other}, ["--d=55", "--e"]) == ["TFC513"]
    assert is_refused(tmp_path, ["--d=55", "--e"])
