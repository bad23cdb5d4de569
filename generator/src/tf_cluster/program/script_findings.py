"""Findings on a script: is it there, and does it take the arguments that it gets?"""

import posixpath
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tf_cluster.expand.roles import absent_roles
from tf_cluster.params.params import Params
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.program.absl_code import absl_options
from tf_cluster.program.absl_judge import absl_problems, refused_flag
from tf_cluster.program.argparse_code import argparse_options
from tf_cluster.program.argparse_declared import refused_option
from tf_cluster.program.argparse_defaults import with_sure_defaults
from tf_cluster.program.argparse_judge import problems as argparse_problems
from tf_cluster.program.argparse_parsers import parser_elsewhere
from tf_cluster.program.code_findings import imports_findings, parse_finding, use_root
from tf_cluster.program.codes import (
    CODE_NOT_THERE,
    OPTION_MISSING,
    OPTION_VALUE,
    REFUSED_DECLARATION,
    UNKNOWN_OPTION,
)
from tf_cluster.program.near import listed, near
from tf_cluster.program.options import MOST, Problem
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.reading import Reading
from tf_cluster.program.resolve import Code, Unknown
from tf_cluster.program.roots import Root, Texts
from tf_cluster.program.scope import Module

_SCRIPT: Pointer = ("program", "script")
_ARGS: Pointer = ("program", "args")
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_CODES = {"unknown": UNKNOWN_OPTION, "value": OPTION_VALUE, "missing": OPTION_MISSING}


def find_in_script(reading: Reading, code: Code, script: str) -> None:
    """Note findings on a script and its arguments."""
    params = reading.params
    where = params.origin_of(_SCRIPT)
    root, path = _place(code, script)
    use_root(reading, code, root)
    found = code.script(root, path)
    if found is None:
        _not_there(reading, root, path)
        return
    if isinstance(found, Unknown):
        reading.unknown("the script", found.why)
        return
    if isinstance(found, NotParsed):
        parse_finding(reading, where, code.places["__main__"], found)
        return
    imports_findings(reading, code, found, where)
    _arguments(reading, code, found)


def _place(code: Code, script: str) -> tuple[Root, str]:
    """The directory that has the script, and its path there."""
    return code.roots[0], posixpath.basename(script)


def _not_there(reading: Reading, root: Root, path: str) -> None:
    where = reading.params.origin_of(_SCRIPT)
    name = root.shown(path)
    if not (isinstance(root, Texts) and root.certain):
        reading.unknown("the script", f"{name} is not here")
        return
    known = [one for one in root.texts if one.endswith(".py")]
    likely = near(name, known)
    message = f"{dotted(where)}: {name} is not among program.source.files"
    fix = f"did you mean {likely}?" if likely else "add it to them"
    reading.add(where, CODE_NOT_THERE, message, reading.params.value_at(_SCRIPT), fix)


def _arguments(reading: Reading, code: Code, module: Module) -> None:
    args: Sequence[str] = reading.params.value_at(_ARGS) or []
    by_argparse = argparse_options(code, module)
    by_absl = absl_options(code, module)
    if isinstance(by_argparse, Unknown) or isinstance(by_absl, Unknown):
        unknown = by_argparse if isinstance(by_argparse, Unknown) else by_absl
        assert isinstance(unknown, Unknown)
        reading.unknown("the script's arguments", unknown.why)
        return
    if by_argparse and by_absl and not by_absl.options and not by_absl.strict:
        by_absl = None  # TensorFlow's app.run beside argparse: it takes what argparse leaves
    line = by_argparse or by_absl
    if line is None or (by_argparse and by_absl):
        several = f"{module.file}: two ways of reading them"
        reading.unknown("the script's arguments", several if line else _unread(code, module))
        return
    names = listed(name for option in line.options for name in option.names)
    reading.read(f"options {names} ({module.file})")
    if len(args) > MOST or len(line.options) > MOST:
        reading.unknown("the script's arguments", f"more than {MOST} of them")
        return
    if not line.strict:
        reading.unknown("unknown arguments", f"{line.place}: the script passes over them")
    refused = refused_option(line) if by_argparse else refused_flag(line)
    if refused and refused.kind == "unsure":
        reading.unknown("the script's arguments", f"{refused.place}: {refused.words}")
        return
    if refused:
        where = reading.params.origin_of(_SCRIPT)
        message = f"{refused.words} ({refused.place})"
        reading.add(where, REFUSED_DECLARATION, message, fix=refused.fix, at=refused.place)
        return
    line = with_sure_defaults(line, code.modules.values()) if by_argparse else line
    found: dict[tuple[str, int | None, str], dict[str, Problem]] = {}
    tasks = list(_tasks(reading.params))
    for task in tasks:
        given = [_expanded(arg, _variables(reading.params, task)) for arg in args]
        texts = [one.text for one in given]
        problems = argparse_problems(line, texts) if by_argparse else absl_problems(line, texts)
        for problem in problems:
            if _is_sure(problem, given):
                key = (problem.kind, problem.index, problem.name)
                found.setdefault(key, {})[task] = problem
    for same in found.values():
        _tell(reading, same, tasks, args)


def _unread(code: Code, module: Module) -> str:
    """Why a script that has no parser, as far as its code is followed, has no options here."""
    place = parser_elsewhere(code, module)
    if place:
        return f"{place}: the script's way to this parser is unknown"
    for name in ("argparse", "flags") if module.scope.stars else ():
        meant = code.named(module, name)
        if isinstance(meant, Unknown):
            return meant.why
    return f"{module.file}: no argparse, and no flags of absl"


def _tell(
    reading: Reading, same: Mapping[str, Problem], tasks: Sequence[str], args: Sequence[str]
) -> None:
    """One finding for a problem that one task or several have; `same` has it by task."""
    problem = next(iter(same.values()))
    where = reading.params.origin_of(_ARGS)
    if where == PRESET:
        where = reading.params.origin_of(_SCRIPT)
    value = None
    if problem.index is not None:
        where = (*where, problem.index)
        value = args[problem.index]
    place = f" ({problem.place})" if problem.place else ""
    message = f"{problem.words}{place}"
    if len(same) < len(tasks):
        message = f"in the {' and the '.join(same)}, {message}"
    reading.add(where, _CODES[problem.kind], message, value, problem.fix, at=problem.place)


def _tasks(params: Params) -> Iterable[str]:
    """The types of tasks that run the script."""
    absent = absent_roles(params.effective)
    for kind in ("chief", "worker"):
        if kind not in absent:
            yield kind
    if params.value_at(("program", "ps")) == "script" and "ps" not in absent:
        yield "ps"


def _variables(params: Params, task: str) -> Mapping[str, str]:
    """Values as a task of this type has them: of the right form, if not the very ones."""
    hosts = "host-0:2222,host-1:2222"
    return {
        "PS_HOSTS": "" if "ps" in absent_roles(params.effective) else hosts,
        "WORKER_HOSTS": hosts,
        "JOB_NAME": task,
        "TASK_INDEX": "0",
        "DATA_DIR": "/data",
        "LOG_DIR": "/log/run",
    }


class _Given(NamedTuple):
    """An argument as a task gets it; `open_at` is where a $(NAME) is that is not known."""

    text: str
    open_at: int | None = None

    @property
    def has_open_name(self) -> bool:
        """Whether the option's name, or the whole argument, can't be known."""
        return self.open_at is not None and self.open_at < len(self.text.partition("=")[0])


def _expanded(arg: str, values: Mapping[str, str]) -> _Given:
    """An argument with the values of its $(NAME); one that is not known stays as it is."""
    parts: list[str] = []
    open_at = None
    at = 0
    end = arg.rfind(")") + 1
    for match in _REFERENCE.finditer(arg):
        if match[1] is not None and match.end() > end:
            break
        parts.append(arg[at : match.start()])
        at = match.end()
        if match[1] is not None and match[1] not in values and open_at is None:
            open_at = sum(map(len, parts))
        parts.append("$" if match[1] is None else values.get(match[1], match[0]))
    return _Given("".join((*parts, arg[at:])), open_at)


def _is_sure(problem: Problem, given: Sequence[_Given]) -> bool:
    """Whether a problem is one whatever the $(NAME) stand for that are not known.

    Those have a finding of their own: TFC322.
    """
    if problem.index is None:
        return not any(one.has_open_name for one in given)
    one = given[problem.index]
    if problem.kind == "unknown":
        return not one.has_open_name
    behind = given[problem.index + 1 : problem.index + 2] if "=" not in one.text else ()
    return one.open_at is None and not any(other.has_open_name for other in behind)
