"""Mistakes put into real programs and their params: one at a time, each drawn from a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from tests.generator.program.examples import Example


@dataclass(frozen=True)
class Mutation:
    """A wrong program: what kind of mistake it has, and a word for people."""

    kind: str
    what: str
    example: Example


def misspelt(word: str, chance: random.Random) -> str:
    """The word with one mistake in it; never the word itself, and still a name."""
    letters = [i for i, c in enumerate(word) if c.isalpha()]
    while True:
        at = chance.choice(letters)
        how = chance.randrange(5)
        if how == 0:
            wrong = word[:at] + word[at + 1 :]
        elif how == 1:
            wrong = word[:at] + word[at] + word[at:]
        elif how == 2 and at + 1 < len(word):
            wrong = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        elif how == 3:
            wrong = word[:at] + word[at].swapcase() + word[at + 1 :]
        else:
            wrong = word + chance.choice(("s", "_size", "x"))
        if wrong != word and wrong.isidentifier():
            return wrong


def _renamed(text: str, word: str, new: str) -> str:
    return re.sub(rf"\b{word}\b", new, text)


def _code(example: Example) -> tuple[str, str]:
    ((name, text),) = example.files.items()
    return name, text


def class_in_params(example: Example, chance: random.Random) -> Mutation:
    module, _, name = example.program["module"].partition(":")
    wrong = misspelt(name, chance)
    program = {**example.program, "module": f"{module}:{wrong}"}
    return Mutation("class", f"{name} is called {wrong}", replace(example, program=program))


def class_in_code(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    name = example.program["module"].partition(":")[2]
    wrong = misspelt(name, chance)
    files = {file: _renamed(text, name, wrong)}
    return Mutation("class", f"{name} became {wrong}", replace(example, files=files))


def no_base(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    base = chance.choice(("", "(object)"))
    files = {file: text.replace("(Program):", f"{base}:")}
    return Mutation("class", f"its base is '{base}'", replace(example, files=files))


def hook(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    name = chance.choice(("build_model", "dataset"))
    wrong = misspelt(name, chance)
    files = {file: text.replace(f"def {name}(", f"def {wrong}(")}
    return Mutation("class", f"{name} became {wrong}", replace(example, files=files))


def module_in_params(example: Example, chance: random.Random) -> Mutation:
    module, _, name = example.program["module"].partition(":")
    wrong = misspelt(module, chance)
    program = {**example.program, "module": f"{wrong}:{name}"}
    return Mutation("class", f"module {wrong}", replace(example, program=program))


def _with_flags(example: Example, flags: Mapping[str, Any]) -> Example:
    return replace(example, rest={**example.rest, "flags": flags})


def flag_in_params(example: Example, chance: random.Random) -> Mutation:
    flags = dict(example.rest["flags"])
    name = chance.choice(list(flags))
    wrong = misspelt(name, chance)
    flags[wrong] = flags.pop(name)
    return Mutation("flag", f"{name} is called {wrong}", _with_flags(example, flags))


def flag_in_code(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    name = chance.choice(list(example.rest["flags"]))
    wrong = misspelt(name, chance)
    files = {file: re.sub(rf"(?m)^    {name}:", f"    {wrong}:", text)}
    return Mutation("flag", f"{name} became {wrong}", replace(example, files=files))


def left_out(example: Example, chance: random.Random) -> Mutation:
    """A flag that loses its default, and is not given."""
    file, text = _code(example)
    name = chance.choice([n for n in example.rest["flags"] if n != "vocabulary"])
    first = next(iter(re.findall(r"(?m)^    (\w+): .* = ", text)))
    name = first  # only the first may be without a default
    flags = {key: value for key, value in example.rest["flags"].items() if key != name}
    files = {file: re.sub(rf"(?m)^(    {name}: .*?) = .*$", r"\1", text)}
    changed = _with_flags(replace(example, files=files), flags)
    return Mutation("flag", f"{name} lost its default", changed)


def flag_type(example: Example, chance: random.Random) -> Mutation:
    flags = dict(example.rest["flags"])
    name = chance.choice([n for n in flags if n != "activation"])
    old = flags[name]
    wrongs: list[Any] = [True, [1], 2.5, "many", str(old) if not isinstance(old, str) else 7]
    if isinstance(old, float):
        wrongs.remove(2.5)
    if isinstance(old, str):
        wrongs = [True, [1], 2.5, 7]
    if isinstance(old, list):
        wrongs = [True, ["8"], 2.5, "8", [2.5]]
    flags[name] = chance.choice(wrongs)
    return Mutation("type", f"{name} is {flags[name]!r}", _with_flags(example, flags))


def flag_choice(example: Example, chance: random.Random) -> Mutation:
    flags = dict(example.rest["flags"])
    flags["activation"] = chance.choice(
        (misspelt("tanh", chance), misspelt("relu", chance), "gelu")
    )
    return Mutation("choice", str(flags["activation"]), _with_flags(example, flags))


def metric_in_params(example: Example, chance: random.Random) -> Mutation:
    best = dict(example.rest["evaluator"]["exportBest"])
    best["metric"] = chance.choice((misspelt(best["metric"], chance), "loss", "val_accuracy"))
    changed = replace(example, rest={**example.rest, "evaluator": {"exportBest": best}})
    return Mutation("metric", best["metric"], changed)


def metric_in_code(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    name = example.rest["evaluator"]["exportBest"]["metric"]
    wrong = misspelt(name, chance)
    start = text.index("def evaluate")
    files = {file: text[:start] + re.sub(rf"(['\"]){name}\1", f'"{wrong}"', text[start:])}
    return Mutation("metric", f"{name} became {wrong}", replace(example, files=files))


def no_evaluate(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    wrong = misspelt("evaluate", chance)
    files = {file: text.replace("def evaluate(", f"def {wrong}(")}
    return Mutation("metric", f"evaluate became {wrong}", replace(example, files=files))


def _with_args(example: Example, args: list[str]) -> Example:
    return replace(example, program={**example.program, "args": args})


def option_in_params(example: Example, chance: random.Random) -> Mutation:
    args = list(example.program["args"])
    at = chance.choice([i for i, arg in enumerate(args) if arg.startswith("--")])
    word = args[at][2:].partition("=")[0]
    while True:
        wrong = misspelt(word, chance)
        if not word.startswith(wrong):  # argparse takes the beginning of a name for the name
            break
    args[at] = args[at].replace(word, wrong, 1)
    return Mutation("option", args[at], _with_args(example, args))


def option_in_code(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    given = [arg[2:].partition("=")[0] for arg in example.program["args"] if arg[:2] == "--"]
    word = chance.choice(given)
    while True:
        wrong = misspelt(word, chance)
        if not wrong.startswith(word):  # argparse takes the beginning of a name for the name
            break
    files = {file: text.replace(f'"--{word}"', f'"--{wrong}"')}
    return Mutation("option", f"--{word} became --{wrong}", replace(example, files=files))


def option_value(example: Example, chance: random.Random) -> Mutation:
    args = list(example.program["args"])
    typed = [i for i, arg in enumerate(args) if arg.startswith(("--steps=", "--task_index="))]
    if typed:
        at = chance.choice(typed)
        args[at] = args[at].partition("=")[0] + "=" + chance.choice(("many", "1.5", "1e3", ""))
    else:
        at = 1
        args[at] = chance.choice(("many", "1.5", "1e3"))
    return Mutation("option", args[at], _with_args(example, args))


def option_left_out(example: Example, chance: random.Random) -> Mutation:
    args = list(example.program["args"])
    at = chance.randrange(len(args) - 2)
    word = args.pop(at)
    return Mutation("option", f"without {word}", _with_args(example, args))


def option_choice(example: Example, chance: random.Random) -> Mutation:
    args = [
        "--job_name=" + chance.choice(("chief", "wroker", "PS")) if "job" in a else a
        for a in example.program["args"]
    ]
    return Mutation("option", "job_name", _with_args(example, args))


def script_in_params(example: Example, chance: random.Random) -> Mutation:
    stem = example.program["script"].removesuffix(".py")
    program = {**example.program, "script": f"{misspelt(stem, chance)}.py"}
    return Mutation("script", program["script"], replace(example, program=program))


def whole_as_decimal(example: Example, chance: random.Random) -> Mutation:
    flags = {k: float(v) if type(v) is int else v for k, v in example.rest["flags"].items()}
    return Mutation("none", "7 is 7.0", _with_flags(example, flags))


def default_taken(example: Example, chance: random.Random) -> Mutation:
    flags = {k: v for k, v in example.rest["flags"].items() if k == "vocabulary"}
    return Mutation("none", "flags have their defaults", _with_flags(example, flags))


def class_by_another_name(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    module, _, name = example.program["module"].partition(":")
    program = {**example.program, "module": f"{module}:Other"}
    files = {file: f"{text}\n\nOther = {name}\n"}
    return Mutation("none", "another name", replace(example, files=files, program=program))


def flags_by_inheritance(example: Example, chance: random.Random) -> Mutation:
    file, text = _code(example)
    base = re.findall(r"(?m)^class (\w+):$", text)[0]
    derived = f"@dataclass(frozen=True)\nclass Derived({base}):\n    more: int = 3\n\n\nclass "
    at = text.index("class ", text.index(f"class {base}:") + 6)
    changed = text[:at] + derived + text[at + 6 :].replace(f"flags = {base}", "flags = Derived")
    flags = {**example.rest["flags"], "more": 4}
    files = {file: changed}
    return Mutation("none", "derived flags", _with_flags(replace(example, files=files), flags))


def option_shortened(example: Example, chance: random.Random) -> Mutation:
    args = [
        arg.replace("--steps", "--ste").replace("--epochs", "--ep")
        for arg in example.program["args"]
    ]
    return Mutation("none", "shortened", _with_args(example, args))


def value_apart(example: Example, chance: random.Random) -> Mutation:
    args = [part for arg in example.program["args"] for part in arg.split("=", 1)]
    return Mutation("none", "values are arguments of their own", _with_args(example, args))


Mutate = Callable[[Example, random.Random], Mutation]
OF_MODULES: tuple[Mutate, ...] = (
    *(class_in_params, class_in_code, no_base, hook, module_in_params),
    *(flag_in_params, flag_in_code, left_out, flag_type, flag_type),
    *(metric_in_params, metric_in_code, no_evaluate),
)
OF_SCRIPTS: tuple[Mutate, ...] = (option_in_params, option_in_code, option_value, script_in_params)
HARMLESS_IN_MODULES: tuple[Mutate, ...] = (
    *(whole_as_decimal, default_taken, class_by_another_name, flags_by_inheritance),
)
HARMLESS_IN_SCRIPTS: tuple[Mutate, ...] = (option_shortened, value_apart)
