"""Finds the user's class; its messages say what is wrong with it."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from types import ModuleType

from tf_cluster_trainer.config import Settings
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program.base import Program

REQUIRED_HOOKS = ("build_model", "dataset")


def load(settings: Settings) -> Program:
    """Import `program.module`, with `program.path` first, and make the program's one instance.

    Raises ProgramError that names what is missing, and HookError if the program's own code fails.
    """
    if settings.program_path:
        sys.path.insert(0, settings.program_path)
    module_name, _, class_name = settings.module.partition(":")
    module = _module(module_name, settings)
    found = getattr(module, class_name, None)
    if found is None:
        raise ProgramError(
            f"program {settings.module}: module {module_name} has no {class_name}"
            f"{_suggestion(class_name, vars(module))}"
        )
    if not (isinstance(found, type) and issubclass(found, Program)):
        programs = [name for name, value in vars(module).items() if _is_program(value)]
        there = f"; the programs there: {', '.join(programs)}" if programs else ""
        raise ProgramError(
            f"program {settings.module}: {class_name} is no subclass of "
            f"tf_cluster_trainer.Program{there}"
        )
    for hook in REQUIRED_HOOKS:
        if getattr(found, hook) is getattr(Program, hook):
            raise ProgramError(
                f"program {settings.module}: {class_name} defines no {hook}"
                f"{_suggestion(hook, vars(found))}"
            )
    try:
        return found()
    except Exception as error:
        raise HookError(f"{class_name}()", error) from error


def _module(name: str, settings: Settings) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name + ".").startswith(error.name + "."):
            raise HookError(f"import {name}", error) from error
        where = (
            f"{settings.program_path} (program.path) and the installed packages"
            if settings.program_path
            else "the installed packages; program.path names a directory to look in first"
        )
        raise ProgramError(
            f"program {settings.module}: no module named {error.name} in {where}"
        ) from None
    except BaseException as error:
        raise HookError(f"import {name}", error) from error


def _is_program(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Program) and value is not Program


def _suggestion(name: str, there: object) -> str:
    close = difflib.get_close_matches(name, [str(key) for key in there], n=3)  # type: ignore[attr-defined]
    return f" (did you mean {' or '.join(close)}?)" if close else ""
