"""Mistakes in real programs are found before any process starts, and right ones are left alone.

The trainer's own check is the judge of programs, and argparse that of scripts: what they take
is no mistake.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import flags as program_flags
from tf_cluster_trainer.program import load

from tests.generator.program import mutations
from tests.generator.program.examples import MODULES, SCRIPT_EXAMPLES, Example
from tests.generator.program.mutations import Mutation

SEED = 18
COUNT = 200
BAR = 0.95
_numbers = itertools.count()


def drawn() -> Iterator[Mutation]:
    """Mutations without an end: two of programs, then one of a script, all kinds in turn."""
    chance = random.Random(SEED)
    replicas, guide = SCRIPT_EXAMPLES[0], MODULES[-1]
    while True:
        for mutate in mutations.OF_MODULES:
            yield mutate(chance.choice(MODULES), chance)
        yield mutations.flag_choice(guide, chance)
        for mutate in mutations.OF_SCRIPTS:
            yield mutate(chance.choice(SCRIPT_EXAMPLES), chance)
        yield mutations.option_left_out(replicas, chance)
        yield mutations.option_choice(replicas, chance)


def refused(mutation: Mutation, folder: Path) -> bool:
    """Whether the real thing refuses it: the trainer's own check, or argparse."""
    example = mutation.example
    if mutation.kind in ("metric", "script"):  # only a training would find it: true as it is made
        return True
    if "script" in example.program:
        return _script_refuses(example)
    return _trainer_refuses(example, folder)


def _trainer_refuses(example: Example, folder: Path) -> bool:
    """The module under a name of its own, so that Python does not know it from before."""
    name = f"mutated_{next(_numbers)}"
    ((file, text),) = example.files.items()
    module, _, class_name = example.program["module"].partition(":")
    if f"{module}.py" != file:
        return True
    (folder / f"{name}.py").write_text(text)
    settings = SimpleNamespace(module=f"{name}:{class_name}", program_path=str(folder))
    try:
        program_flags.of_run(load.load(settings), example.rest["flags"])  # type: ignore[arg-type]
    except (ProgramError, HookError):
        return True
    finally:
        sys.modules.pop(name, None)
        sys.path.remove(str(folder))
    return False


def _script_refuses(example: Example) -> bool:
    """Run the script up to where it has parsed its arguments, without TensorFlow."""
    (text,) = example.files.values()
    tree = ast.parse(text)
    upto = next(i for i, n in enumerate(tree.body) if "parse_args" in ast.unparse(n))
    wanted = ("argparse", "parser", "options")
    body = [n for n in tree.body[: upto + 1] if any(w in ast.unparse(n) for w in wanted)]
    code = compile(ast.Module(body, []), "script", "exec")
    values = {"JOB_NAME": "worker", "TASK_INDEX": "0"}
    args = list(example.program["args"])
    for key in ("PS_HOSTS", "WORKER_HOSTS", "JOB_NAME", "TASK_INDEX", "LOG_DIR"):
        args = [arg.replace(f"$({key})", values.get(key, "x")) for arg in args]
    before, sys.argv = sys.argv, ["script", *args]
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            exec(code, {"__name__": "__main__"})
    except SystemExit:
        return True
    finally:
        sys.argv = before
    return False


@pytest.mark.parametrize("example", [*MODULES, *SCRIPT_EXAMPLES], ids=lambda one: one.name)
def test_a_real_program_has_no_findings(example: Example, tmp_path: Path) -> None:
    checked = example.checked(tmp_path)

    assert checked.findings == ()
    assert not any("not checked" in note for note in checked.notes), checked.notes


HARMLESS = [
    *((mutate, example) for mutate in mutations.HARMLESS_IN_MODULES for example in MODULES),
    *((mutate, one) for mutate in mutations.HARMLESS_IN_SCRIPTS for one in SCRIPT_EXAMPLES),
]


@pytest.mark.parametrize(("mutate", "example"), HARMLESS)
def test_a_harmless_change_is_left_alone(
    mutate: mutations.Mutate, example: Example, tmp_path: Path
) -> None:
    mutation = mutate(example, random.Random(SEED))

    assert mutation.example.checked(tmp_path).findings == ()
    assert not refused(mutation, tmp_path)


def test_mistakes_in_real_programs_are_found(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    unseen, alarms = [], []
    for number, mutation in enumerate(drawn()):
        folder = tmp_path / str(number)
        folder.mkdir()
        errors = [f for f in mutation.example.checked(folder).findings if f.severity == "error"]
        told = f"{mutation.kind}: {mutation.example.name}: {mutation.what}"
        if refused(mutation, folder):
            wrong[mutation.kind] += 1
            found[mutation.kind] += bool(errors)
            if not errors:
                unseen.append(told)
        elif errors:
            alarms.append(f"{told}: {errors[0].words}")
        if wrong.total() == COUNT:
            break

    assert alarms == []
    assert found.total() >= BAR * COUNT, unseen
    assert {kind: found[kind] / wrong[kind] >= BAR for kind in wrong} == dict.fromkeys(wrong, True)
    assert wrong.keys() == {"class", "flag", "type", "choice", "metric", "option", "script"}
