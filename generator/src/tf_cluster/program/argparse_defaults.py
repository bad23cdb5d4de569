"""Defaults that are texts: argparse reads them as it reads values, where an option is not given."""

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tf_cluster.params.wording import excerpt
from tf_cluster.program.argparse_values import wrong_value
from tf_cluster.program.options import CommandLine, Option, Problem
from tf_cluster.program.scope import Module

_SUPPRESS = "==SUPPRESS=="
_PARSES = ("parse_args", "parse_known_args")


def text_default(given: Mapping[str, ast.expr]) -> str | None:
    """The default of a declaration, by its keywords; None where it is no text, or is not known."""
    node = given.get("default")
    value = node.value if isinstance(node, ast.Constant) else None
    return value if isinstance(value, str) and value != _SUPPRESS else None


def target(names: Sequence[str], given: Mapping[str, ast.expr]) -> str:
    """The attribute that has an option's value; empty where it can't be known."""
    node = given.get("dest")
    if node is not None:
        return str(node.value) if isinstance(node, ast.Constant) else ""
    first = next((name for name in names if name.startswith("--")), names[0])
    return first.lstrip("-").replace("-", "_")


def with_sure_defaults(line: CommandLine, modules: Iterable[object]) -> CommandLine:
    """A command line without the defaults that others may replace."""
    if all(option.default is None for option in line.options):
        return line
    targets = Counter(option.target for option in line.options)
    is_open = any(isinstance(one, Module) and any(map(_sets, one.nodes)) for one in modules)
    options = [
        one if targets[one.target] == 1 and one.target and not is_open else _without(one)
        for one in line.options
    ]
    return replace(line, options=tuple(options))


def _without(option: Option) -> Option:
    return replace(option, default=None) if option.default is not None else option


def _sets(node: ast.AST) -> bool:
    """Whether this may set what an option is without any argument."""
    if isinstance(node, ast.Attribute):
        return node.attr == "set_defaults"
    if isinstance(node, ast.keyword):
        return node.arg == "namespace"
    is_method = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return is_method and node.func.attr in _PARSES and len(node.args) > 1  # type: ignore[attr-defined]


def wrong_defaults(options: Iterable[Option]) -> Iterator[Problem]:
    """What argparse refuses of the defaults of options that are not given.

    It looks at the choices of positional arguments alone, and at the type of those with "?".
    """
    for option in options:
        is_positional = not option.names[0].startswith("-")
        if option.default is None or option.required or (is_positional and option.nargs != "?"):
            continue
        checked = option if is_positional else replace(option, choices=None)
        wrong = wrong_value(checked, option.default)
        if wrong:
            words = f"{option.title} is not given, and its default {wrong}"
            fix = f"give {option.title}, or mend the default of {excerpt(option.default)}"
            yield Problem("value", words, None, option.names[0], fix, option.place)
