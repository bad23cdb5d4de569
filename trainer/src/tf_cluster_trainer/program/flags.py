"""The user's flags as the program declares them: names, types and defaults.

A program names a frozen dataclass in `Program.flags`; the run's flags become an instance of it.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, Union

from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Flags

_PLAIN = {
    str: "a text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    type(None): "null",
}
_SUPPORTED = "str, int, float, bool, a Literal of them, list[…], tuple[…, ...] and … | None"


class _MisfitError(Exception):
    """A value does not have the declared type."""


def of_run(program: Program, values: Mapping[str, Any]) -> Any:
    """Return `ctx.flags`: an instance of the declared class, else of `Flags`.

    Raises ProgramError that names every flag that is undeclared, missing or of another type, and
    for `flags: F`, which gives `flags` no value. Raises HookError if the declaration's own check
    fails.
    """
    declared = program.flags
    if "flags" not in vars(program):
        _refuse_annotation(type(program), declared)
    if declared is None:
        return Flags(values)
    fields = _fields(declared)
    known = {field.name: field for field in fields}
    taken: dict[str, Any] = {}
    wrong = [_undeclared(name, known) for name in values if name not in known]
    for name, (field, kind) in ((f.name, (f, _kind(declared, f))) for f in fields):
        words = _words(kind)
        if name in values:
            try:
                taken[name] = _read(kind, values[name])
            except _MisfitError:
                wrong.append(f"flags.{name} is {json.dumps(values[name])}, not {words}")
        elif not _has_default(field):
            wrong.append(f"flags.{name} is missing: {words}")
    if wrong:
        raise ProgramError("; ".join(wrong))
    try:
        made = declared(**taken)
    except Exception as error:
        raise HookError(f"{declared.__name__} (its flags)", error) from error
    _check_defaults(made, [field for field in fields if field.name not in taken])
    return made


def as_json(flags: Any) -> dict[str, Any]:
    """All flags by name, with defaults, as JSON values."""
    if isinstance(flags, Flags):
        return {name: getattr(flags, name) for name in flags}
    return {field.name: getattr(flags, field.name) for field in _fields(type(flags))}


def _fields(declared: Any) -> list[dataclasses.Field[Any]]:
    if not (isinstance(declared, type) and dataclasses.is_dataclass(declared)):
        raise ProgramError(f"the program's flags is {declared!r}; it has to name a dataclass")
    if not declared.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        raise ProgramError(
            f"{declared.__name__}, the program's flags, can be changed by any hook; write "
            "@dataclass(frozen=True)"
        )
    return [field for field in dataclasses.fields(declared) if field.init]


def _refuse_annotation(program: type[Program], declared: Any) -> None:
    """Raise ProgramError for a class that names its dataclass as the type of `flags` alone."""
    for one in program.__mro__:
        if "flags" in vars(one):
            return
        kind = vars(one).get("__annotations__", {}).get("flags")
        if isinstance(kind, str):
            kind = _named(one, kind)
        if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind is not declared:
            raise ProgramError(
                f"{one.__name__} has the line flags: {kind.__name__}, which gives flags no value; "
                f"write flags = {kind.__name__}"
            )


def _named(owner: type, annotation: str) -> Any:
    """What a class's annotation in quotes stands for; None where it can't be known."""
    names = vars(sys.modules.get(owner.__module__, types))
    beside = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        found = typing.get_type_hints(beside, names, dict(vars(owner)), include_extras=True)
        return found["it"]
    except Exception:  # any expression can stand there, and it is not the program that runs
        return None


def _has_default(field: dataclasses.Field[Any]) -> bool:
    return not (
        field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )


def _kind(declared: type, field: dataclasses.Field[Any]) -> Any:
    try:
        kind = typing.get_type_hints(declared)[field.name]
    except Exception as error:  # a name in an annotation that is not there, say
        raise HookError(f"the types of {declared.__name__}", error) from error
    if not _is_supported(kind):
        raise ProgramError(
            f"{declared.__name__}.{field.name} has the type {field.type}; flags can be {_SUPPORTED}"
        )
    return kind


def _check_defaults(made: Any, fields: list[dataclasses.Field[Any]]) -> None:
    for field in fields:
        kind, value = _kind(type(made), field), getattr(made, field.name)
        try:
            _read(kind, value)
        except _MisfitError:
            raise ProgramError(
                f"{type(made).__name__}.{field.name}: the default is {value!r}, not {_words(kind)}"
            ) from None


def _undeclared(name: str, known: Mapping[str, object]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"flags.{name} is not declared by the program (did you mean {close[0]}?)"
    return f"flags.{name} is not declared by the program; it has {', '.join(known) or 'none'}"


def _is_supported(kind: Any) -> bool:
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return all(type(part) in _PLAIN for part in parts)
    if _is_union(kind):
        return all(_is_supported(part) for part in parts)
    if _is_sequence(kind):
        return _is_supported(parts[0])
    return kind in _PLAIN


def _is_union(kind: Any) -> bool:
    return typing.get_origin(kind) in (Union, types.UnionType)


def _is_sequence(kind: Any) -> bool:
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return len(parts) == 2 and parts[1] is Ellipsis
    return typing.get_origin(kind) is list


def _read(kind: Any, value: Any) -> Any:
    """Convert a JSON value to this type; JSON has one type of number, and lists.

    Raises _MisfitError.
    """
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        if any(part == value and type(part) is type(value) for part in parts):
            return value
    elif _is_union(kind):
        for part in parts:
            try:
                return _read(part, value)
            except _MisfitError:
                continue
    elif _is_sequence(kind):
        if isinstance(value, list | tuple):
            items = [_read(parts[0], item) for item in value]
            return items if typing.get_origin(kind) is list else tuple(items)
    elif kind is float and type(value) in (int, float):
        return float(value)
    elif kind is int and type(value) is float and value.is_integer():
        return int(value)
    elif type(value) is kind:
        return value
    raise _MisfitError


def _words(kind: Any) -> str:
    """What such a value is, in words."""
    parts = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return _either([json.dumps(part) for part in parts])
    if _is_union(kind):
        return _either([_words(part) for part in parts])
    if _is_sequence(kind):
        return f"a list, each {_words(parts[0])}"
    return _PLAIN[kind]


def _either(words: list[str]) -> str:
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
