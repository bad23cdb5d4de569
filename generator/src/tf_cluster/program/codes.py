"""The codes of findings on the program's code."""

from tf_cluster.findings.finding import Code

# What the examples are made of: the line of the params, and the file beside them.
_MODULE = "program: {module: 'train:Net', source: {files: [train.py]}}\n"
_IMPORTS = "### train.py\nfrom tf_cluster_trainer import Program\n\n\n"
_NET = """\
class Net(Program):
    def build_model(self, ctx): ...

    def dataset(self, ctx, input_context): ..."""
_EVALUATED = f"""{_IMPORTS}{_NET}

    def evaluate(self, ctx, model):
        return {{'accuracy': 0.5}}"""
_FLAGS = """\
### train.py
from dataclasses import dataclass
from typing import Literal

from tf_cluster_trainer import Program


@dataclass(frozen=True)
class Flags:
    units: int = 64
    size: Literal['small', 'large'] = 'small'


class Net(Program):
    flags = Flags

    def build_model(self, ctx): ...

    def dataset(self, ctx, input_context): ..."""
_SCRIPT = "program: {script: train.py, source: {files: [train.py]}}\n### train.py\n"
_TOLD = "program: {script: train.py, source: {files: [train.py]}, args: [--steps=100]}\n"
_OPTIONS = """\
### train.py
import argparse

parser = argparse.ArgumentParser()
parser.add_argument('--steps', type=int, required=True)
args = parser.parse_args()"""
_TWO = """\
program: {script: train.py, source: {files: [train.py, utils.py]}}
### train.py
from {} import SIZE
### utils.py
SIZE = 1"""
_OUR_IMAGE = "image: localhost/tf-cluster-trainer:0.1.0\n"

NOT_PYTHON = Code(
    "TFC501",
    "a file of the program is not valid Python",
    why="Every task would end with the same syntax error as soon as it starts.",
    wrong=_SCRIPT + "print('hello'",
    right=_SCRIPT + "print('hello')",
)
CODE_NOT_THERE = Code(
    "TFC502",
    "the program's module or script, or what it imports of its own, is not among its code",
    why="The import would fail in every task, after the pods have started.",
    wrong=_MODULE.replace("train:", "trian:") + _IMPORTS + _NET,
    right=_MODULE + _IMPORTS + _NET,
)
NO_SUCH_CLASS = Code(
    "TFC503",
    "the program's module has no such class",
    why="The tasks would import the module, find no such class in it and end.",
    wrong=_MODULE.replace("Net", "Nett") + _IMPORTS + _NET,
    right=_MODULE + _IMPORTS + _NET,
)
NO_PROGRAM = Code(
    "TFC504",
    "the class is no subclass of tf_cluster_trainer.Program",
    why="The trainer calls what Program promises. It refuses another class.",
    wrong=_MODULE + _IMPORTS + _NET.replace("(Program)", ""),
    right=_MODULE + _IMPORTS + _NET,
)
HOOK_MISSING = Code(
    "TFC505",
    "the program lacks a hook that each program needs",
    why="The trainer can't train without a model (build_model) and data (dataset).",
    wrong=_MODULE + _IMPORTS + _NET.rpartition("\n\n")[0],
    right=_MODULE + _IMPORTS + _NET,
)
FLAGS_CLASS = Code(
    "TFC506",
    "the program declares its flags in a form that the trainer refuses",
    why=(
        "The trainer refuses a class of flags that is not a frozen dataclass, one that only stands "
        "as a type (flags: Flags), a type that no flag can have, and a default of another type. "
        "Python itself refuses a dataclass with a default that can be changed, such as a list, "
        "or with a field without default after one with it."
    ),
    wrong=_MODULE + _FLAGS.replace("(frozen=True)", ""),
    right=_MODULE + _FLAGS,
)
UNKNOWN_FLAG = Code(
    "TFC507",
    "a flag that the program does not declare",
    why="The trainer refuses it at the start: with a mistyped flag the default would stay.",
    wrong=_MODULE + "flags: {unit: 128}\n" + _FLAGS,
    right=_MODULE + "flags: {units: 128}\n" + _FLAGS,
)
FLAG_TYPE = Code(
    "TFC508",
    "a flag of another type than the program declares",
    why="The trainer refuses it at the start, before the program computes with a wrong value.",
    wrong=_MODULE + "flags: {units: many}\n" + _FLAGS,
    right=_MODULE + "flags: {units: 128}\n" + _FLAGS,
)
FLAG_CHOICE = Code(
    "TFC509",
    "a flag that is none of the choices that the program declares",
    why="The program says which values it knows. The trainer refuses any other at the start.",
    wrong=_MODULE + "flags: {size: huge}\n" + _FLAGS,
    right=_MODULE + "flags: {size: large}\n" + _FLAGS,
)
FLAG_MISSING = Code(
    "TFC510",
    "a flag without a default is not given",
    why="The program has no value to go on with: the trainer ends before the first step.",
    wrong=_MODULE + _FLAGS.replace("units: int = 64", "units: int"),
    right=_MODULE + "flags: {units: 64}\n" + _FLAGS.replace("units: int = 64", "units: int"),
)
UNKNOWN_METRIC = Code(
    "TFC511",
    "a metric that the program's evaluate does not give",
    why="The evaluator would look for it in vain, and never export a model.",
    wrong=_MODULE + "evaluator: {exportBest: {metric: acuracy, mode: max}}\n" + _EVALUATED,
    right=_MODULE + "evaluator: {exportBest: {metric: accuracy, mode: max}}\n" + _EVALUATED,
)
UNKNOWN_OPTION = Code(
    "TFC512",
    "an argument that the script does not know",
    why="The script would refuse its arguments and end, in every task.",
    wrong=_TOLD.replace("--steps=100", "--steps=100, --stpes=5") + _OPTIONS,
    right=_TOLD + _OPTIONS,
)
OPTION_VALUE = Code(
    "TFC513",
    "a value that an option of the script refuses",
    why="The script would refuse the value and end, in every task.",
    wrong=_TOLD.replace("100", "many") + _OPTIONS,
    right=_TOLD + _OPTIONS,
)
OPTION_MISSING = Code(
    "TFC514",
    "an option or argument that the script requires is not given",
    why="The script would say what is missing and end, in every task.",
    wrong=_TOLD.replace(", args: [--steps=100]", "") + _OPTIONS,
    right=_TOLD + _OPTIONS,
)
NOT_IN_IMAGE = Code(
    "TFC515",
    "an import that the trainer's image does not have (warning)",
    why=(
        "The import would fail in the pods. Only the images that `make image` makes are looked "
        "at: another one may have the package."
    ),
    wrong=_OUR_IMAGE + _SCRIPT + "import torch",
    right=_OUR_IMAGE + _SCRIPT + "import tensorflow",
)
NO_INSTANCE = Code(
    "TFC516",
    "the program's class can't be made, or not without arguments",
    why=(
        "The trainer makes one object of the class, and gives no arguments. Python refuses a class "
        "whose bases contradict each other, one that still has an abstract method, and a "
        "constructor that asks for arguments. What a run may set is a flag."
    ),
    wrong=_MODULE
    + _IMPORTS
    + _NET.replace("Program):", "Program):\n    def __init__(self, units): ...\n"),
    right=_MODULE
    + _IMPORTS
    + _NET.replace("Program):", "Program):\n    def __init__(self, units=64): ...\n"),
)
REFUSED_DECLARATION = Code(
    "TFC517",
    "an option of the script that argparse or absl refuses",
    why=(
        "The script would end in every task where it declares the option: no name is taken twice, "
        "and absl has flags of its own, as log_dir; argparse takes no type for an option without a "
        "value."
    ),
    wrong=_TOLD + _OPTIONS.replace("args =", "parser.add_argument('--steps', type=int)\nargs ="),
    right=_TOLD + _OPTIONS.replace("args =", "parser.add_argument('--rate', type=float)\nargs ="),
)
RELATIVE_IMPORT = Code(
    "TFC518",
    "a relative import in a script, or in a module that is in no package",
    why=(
        "Python knows no package that it could start from, so the import fails in every task. "
        "The directory of the script, and program.path, are where modules are looked for."
    ),
    wrong=_TWO.replace("{}", ".utils"),
    right=_TWO.replace("{}", "utils"),
)
