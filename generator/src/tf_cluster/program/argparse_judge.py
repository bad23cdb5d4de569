"""Asks argparse itself whether it would take arguments, by the options that a script declares."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn

from tf_cluster.params.wording import either, excerpt
from tf_cluster.program.near import near
from tf_cluster.program.options import CommandLine, Option, Problem, names_of

_MOST = 20
_REQUIRED = "the following arguments are required: "
_FLAGS = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")


class _Parser(argparse.ArgumentParser):
    """Raises ArgumentError for whatever is wrong, in words of ours where they are values."""

    def error(self, message: str) -> NoReturn:
        raise argparse.ArgumentError(None, message)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            known = either(excerpt(one) for one in action.choices)
            raise argparse.ArgumentError(action, f"is {excerpt(value)}, not {known}")


def _typed(convert: Callable[[str], Any], words: str) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        try:
            return convert(text)
        except (ValueError, OverflowError):
            raise argparse.ArgumentTypeError(f"is {excerpt(text)}, not {words}") from None

    return read


_TYPES = {"int": _typed(int, "a whole number"), "float": _typed(float, "a number")}


def problems(line: CommandLine, args: Sequence[str]) -> list[Problem] | None:
    """What argparse refuses; None if it refuses the declarations themselves."""
    try:
        parser, declared = _parser(line)
    except (argparse.ArgumentError, ValueError, TypeError, AssertionError):
        return None
    if line.has_help and {"-h", "--help"} & set(args):
        return []  # it prints its help and ends well
    found = list(islice(_strangers(line, args), _MOST)) if line.strict else []
    strange = [problem.index or 0 for problem in found]
    # The value of an option that is not there is left out with it; then no count is sure.
    without = [i + 1 for i in strange if "=" not in args[i] and args[i + 1 : i + 2] != []]
    without = [i for i in without if not args[i].startswith("-")]
    left = {i: text for i, text in enumerate(args) if i not in (*strange, *without)}
    taken = {problem.name for problem in found}
    for problem in _refusals(line, parser, declared, left):
        is_told = problem.kind == "missing" and taken & set(problem.name.split("/"))
        if not is_told and (problem.name.startswith("-") or not without):
            found.append(problem)
    return found


def _strangers(line: CommandLine, args: Sequence[str]) -> Iterator[Problem]:
    """Options that are none of the script's, nor the beginning of one."""
    names = names_of(line.options) + [f"--no-{name[2:]}" for name in names_of(line.options)]
    names += ["--help"] if line.has_help else []
    for index, text in enumerate(args):
        if text == "--":
            return
        word = text.partition("=")[0]
        begins = line.abbreviates and any(name.startswith(word) for name in names)
        if text.startswith("--") and " " not in text and word not in names and not begins:
            yield unknown_option(word, index, line)


def _refusals(
    line: CommandLine, parser: _Parser, declared: list[argparse.Action], left: dict[int, str]
) -> list[Problem]:
    """What argparse itself says of the arguments in `left`, by their indexes."""
    found: list[Problem] = []
    missing: list[str] = []
    for _ in range(_MOST):
        try:
            _, extras = parser.parse_known_args(list(left.values()))
        except argparse.ArgumentError as error:
            if str(error).startswith(_REQUIRED) or error.argument_name is None:
                words = str(error)
                if not words.startswith(_REQUIRED):
                    found.append(_general(words, left, line))
                    break
                missing += words.removeprefix(_REQUIRED).split(", ")
                for action in declared:
                    action.required = False
                continue
            if _is_of_one_python(error, left, line):
                break
            problem = _of_value(error, left, line, declared)
            found.append(problem)
            if problem.index is None:
                break
            continue
        if line.strict:
            found += _unknown(extras[:_MOST], left, line)
        break
    meant_ones = {problem.name for problem in found}
    for names in missing:
        if not meant_ones & set(names.split("/")):
            option = _named(line, names.split("/")[0])
            place = option.place if option else line.place
            found.append(Problem("missing", f"{names} is missing", None, names, place=place))
    return found


def _parser(line: CommandLine) -> tuple[_Parser, list[argparse.Action]]:
    parser = _Parser(add_help=False, allow_abbrev=line.abbreviates, exit_on_error=False)
    groups: dict[int, Any] = {-1: parser}
    for index, required in enumerate(line.exclusive):
        groups[index] = parser.add_mutually_exclusive_group(required=required)
    declared = [_add(groups[option.group], option) for option in line.options]
    if line.has_help:
        parser.add_argument("-h", "--help", action="store_true")
    return parser, declared


def _add(to: Any, option: Option) -> argparse.Action:
    keywords: dict[str, Any] = {}
    if option.required and option.names[0].startswith("-"):
        keywords["required"] = True
    action: Any = option.action
    if action in ("help", "version"):
        action = "store_true"
    if action == "optional":
        action = argparse.BooleanOptionalAction
    elif action not in _FLAGS:
        keywords["type"] = _TYPES.get(option.type, str)
        keywords["nargs"] = option.nargs
        keywords["choices"] = option.choices
    if action in ("store_const", "append_const"):
        keywords["const"] = 1
    if action == "count":
        keywords["default"] = 0
    made: argparse.Action = to.add_argument(*option.names, action=action, **keywords)
    return made


def _named(line: CommandLine, name: str) -> Option | None:
    return next((option for option in line.options if name in option.names), None)


def _of_value(
    error: argparse.ArgumentError,
    left: dict[int, str],
    line: CommandLine,
    declared: list[argparse.Action],
) -> Problem:
    """The problem with one option's value; it is taken out of `left`."""
    names = (error.argument_name or "").split("/")
    option = _named(line, names[0])
    index = next((i for i in left if _is_of(left[i], names, line)), None)
    message = error.message
    words = f"{names[0]} {message}" if message.startswith("is ") else f"{names[0]}: {message}"
    if index is not None:
        text = left.pop(index)
        takes = option is not None and option.action not in _FLAGS
        if "=" not in text and takes and index + 1 in left:
            value = left[index + 1]
            if not value.startswith("-"):
                del left[index + 1]
    for action in declared:
        if names[0] in action.option_strings:
            action.required = False
    place = option.place if option else line.place
    return Problem("value", words, index, names[0], place=place)


def _is_of_one_python(
    error: argparse.ArgumentError, left: dict[int, str], line: CommandLine
) -> bool:
    """Whether Pythons differ in it: `-vq`, where -q is not there."""
    names = (error.argument_name or "").split("/")
    text = next((text for text in left.values() if _is_of(text, names, line)), "")
    return error.message.startswith("ignored explicit") and not text.startswith("--")


def _is_of(text: str, names: Sequence[str], line: CommandLine) -> bool:
    """Whether an argument is this option, written whole or shortened."""
    word = text.partition("=")[0]
    if word in names:
        return True
    known = names_of(line.options)
    if word.startswith("--") and len(word) > 2 and word not in known:
        return any(name.startswith(word) for name in names)
    return any(len(name) == 2 and text.startswith(name) and text[:2] != "--" for name in names)


def _general(words: str, left: dict[int, str], line: CommandLine) -> Problem:
    """A refusal that names no option of the parser: an ambiguous one, say."""
    index = next((i for i, text in left.items() if text.partition("=")[0] in words.split()), None)
    kind = "missing" if words.endswith("is required") else "value"
    return Problem(kind, f"the script says: {words}", index, place=line.place)


def _unknown(extras: Sequence[str], left: dict[int, str], line: CommandLine) -> list[Problem]:
    """Arguments that are left over. The value of an unknown option is a part of it."""
    found = []
    waiting = list(extras)
    option_at = -2
    for index, text in left.items():
        if not waiting or text != waiting[0]:
            continue
        waiting.pop(0)
        if text == "--" or (index == option_at + 1 and not text.startswith("-")):
            continue
        if not text.startswith("-"):
            words = f"the script takes no argument {excerpt(text)}"
            found.append(Problem("unknown", words, index, place=line.place))
            continue
        found.append(unknown_option(text.partition("=")[0], index, line))
        option_at = index if "=" not in text else -2
    return found


def unknown_option(word: str, index: int, line: CommandLine) -> Problem:
    """The problem with an option that the script does not declare."""
    names = names_of(line.options)
    likely = near(word, names)
    fix = f"did you mean {likely}?" if likely else ""
    option = _named(line, likely)
    place = option.place if option else line.place
    return Problem(
        "unknown", f"the script has no option {excerpt(word)}", index, likely, fix, place
    )
