"""Asks argparse itself whether it would take arguments, by the options that a script declares."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn, SupportsIndex

from tf_cluster.params.wording import either, excerpt
from tf_cluster.program.near import mistyped, near
from tf_cluster.program.options import CommandLine, Option, Problem, names_of

_MOST = 20
_REQUIRED = "the following arguments are required: "
_FLAGS = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")
_TYPES: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


class _Text(str):
    """An argument that knows its index, as the parts do that argparse takes of it."""

    at: int

    @classmethod
    def of(cls, text: str, at: int) -> "_Text":
        made = cls(text)
        made.at = at
        return made

    def __getitem__(self, key: SupportsIndex | slice) -> "_Text":
        return _Text.of(super().__getitem__(key), self.at)

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> list[str]:
        return [_Text.of(part, self.at) for part in super().split(sep, maxsplit)]

    def partition(self, sep: str) -> tuple[str, str, str]:
        before, found, after = super().partition(sep)
        return _Text.of(before, self.at), found, _Text.of(after, self.at)


class _WrongValueError(argparse.ArgumentError):
    """One value is wrong: the argument at index `at`, or a part of it."""

    def __init__(self, action: argparse.Action, message: str, at: int) -> None:
        super().__init__(action, message)
        self.at = at


class _TooFewError(argparse.ArgumentError):
    """An option has too few values; `left` is how many arguments come after it."""

    def __init__(self, action: argparse.Action, message: str, left: int) -> None:
        super().__init__(action, message)
        self.left = left


class _Parser(argparse.ArgumentParser):
    """Raises ArgumentError for what is wrong, and passes over what was forgiven.

    So each mistake is told once, and the arguments after it are read as if it was none.
    """

    def __init__(self, *, abbreviates: bool) -> None:
        super().__init__(add_help=False, allow_abbrev=abbreviates, exit_on_error=False)
        self.options: dict[argparse.Action, Option] = {}
        self._good: set[int] = set()
        self._short: set[tuple[argparse.Action, int]] = set()

    def forgive(self, error: argparse.ArgumentError) -> None:
        """Take a wrong value, or too few, as right from now on."""
        if isinstance(error, _WrongValueError):
            self._good.add(error.at)
        elif isinstance(error, _TooFewError):
            self._short.add((self._of(error), error.left))

    def allow_beside(self, error: argparse.ArgumentError) -> None:
        """Take an option beside the others of its group, which exclude it."""
        action = self._of(error)
        for group in list(self._mutually_exclusive_groups):
            if action in group._group_actions:
                self._mutually_exclusive_groups.remove(group)

    def require_nothing(self) -> None:
        """Take any option, and any argument, as one that need not be there."""
        for action in self.options:
            action.required = False

    def require_none_of(self, names: Sequence[str]) -> None:
        """Take a group of options that exclude each other as one that need not be there."""
        for group in self._mutually_exclusive_groups:
            if any(self._name(one) in names for one in group._group_actions):
                group.required = False

    def _name(self, action: argparse.Action) -> str:
        return "/".join(action.option_strings or self.options[action].names)

    def _of(self, error: argparse.ArgumentError) -> argparse.Action:
        names = (error.argument_name or "").split("/")
        return next(action for action in self.options if names[0] in self.options[action].names)

    def error(self, message: str) -> NoReturn:
        raise argparse.ArgumentError(None, message)

    def _get_value(self, action: argparse.Action, arg_string: str) -> str:
        wrong = _wrong(self.options[action], arg_string) if action in self.options else ""
        if wrong and isinstance(arg_string, _Text) and arg_string.at not in self._good:
            raise _WrongValueError(action, wrong, arg_string.at)
        return arg_string

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        if action.nargs is None and not arg_strings:
            return ""  # there are too few, which was forgiven
        return super()._get_values(action, arg_strings)

    def _match_argument(self, action: argparse.Action, arg_strings_pattern: str) -> int:
        try:
            return super()._match_argument(action, arg_strings_pattern)
        except argparse.ArgumentError as error:
            left = len(arg_strings_pattern)
            if (action, left) not in self._short:
                raise _TooFewError(action, error.message, left) from None
            return left - len(arg_strings_pattern.lstrip("A"))  # as many as there are


def _wrong(option: Option, text: str) -> str:
    """What is wrong with a value; empty if nothing is."""
    value: Any = str(text)
    if option.type in _TYPES:
        convert, words = _TYPES[option.type]
        try:
            value = convert(value)
        except (ValueError, OverflowError):
            return f"is {excerpt(text)}, not {words}"
    if option.choices is None or value in option.choices:
        return ""
    return f"is {excerpt(value)}, not {either(excerpt(one) for one in option.choices)}"


def problems(line: CommandLine, args: Sequence[str]) -> list[Problem] | None:
    """What argparse refuses; None if it refuses the declarations themselves."""
    try:
        parser = _parser(line)
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
    for problem in _refusals(line, parser, left):
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


def _refusals(line: CommandLine, parser: _Parser, left: dict[int, str]) -> list[Problem]:
    """What argparse itself says of the arguments in `left`, by their indexes."""
    found: list[Problem] = []
    missing: list[str] = []
    texts = [_Text.of(text, index) for index, text in left.items()]
    meant: set[int] = set()
    for _ in range(_MOST):
        try:
            _, extras = parser.parse_known_args(list(texts))
        except argparse.ArgumentError as error:
            words = str(error)
            if words.startswith(_REQUIRED):
                missing += words.removeprefix(_REQUIRED).split(", ")
                parser.require_nothing()
            elif error.argument_name is None:
                found.append(_general(words, left, line))
                if not words.endswith("is required"):
                    break
                parser.require_none_of(words.split())
            elif error.message.startswith("ignored explicit"):
                problem = _of_flag(error, texts, line)
                if problem is None:
                    break
                found.append(problem)
            else:
                problem = _of_option(error, parser, texts, line, meant)
                if problem.index is None or problem.index not in {one.index for one in found}:
                    found.append(problem)
            continue
        if line.strict:
            rest = [text for text in extras if isinstance(text, _Text) and text.at not in meant]
            found += _unknown(rest[:_MOST], line)
        break
    meant_ones = {problem.name for problem in found}
    for names in missing:
        if not meant_ones & set(names.split("/")):
            option = _named(line, names.split("/")[0])
            place = option.place if option else line.place
            found.append(Problem("missing", f"{names} is missing", None, names, place=place))
    return found


def _parser(line: CommandLine) -> _Parser:
    parser = _Parser(abbreviates=line.abbreviates)
    groups: dict[int, Any] = {-1: parser}
    for index, required in enumerate(line.exclusive):
        groups[index] = parser.add_mutually_exclusive_group(required=required)
    for option in line.options:
        parser.options[_add(groups[option.group], option)] = option
    if line.has_help:
        parser.add_argument("-h", "--help", action="store_true")
    return parser


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
        keywords["nargs"] = option.nargs
    if action in ("store_const", "append_const"):
        keywords["const"] = 1
    if action == "count":
        keywords["default"] = 0
    made: argparse.Action = to.add_argument(*option.names, action=action, **keywords)
    return made


def _named(line: CommandLine, name: str) -> Option | None:
    return next((option for option in line.options if name in option.names), None)


def _of_option(
    error: argparse.ArgumentError,
    parser: _Parser,
    texts: list[_Text],
    line: CommandLine,
    meant: set[int],
) -> Problem:
    """The problem with one option; `parser` and `texts` are changed so that it is told once.

    `meant` gets the index of an argument that was meant to be its value.
    """
    names = (error.argument_name or "").split("/")
    option = _named(line, names[0])
    message = error.message
    words = f"{names[0]} {message}" if message.startswith("is ") else f"{names[0]}: {message}"
    fix = ""
    mine = [number for number, text in enumerate(texts) if _is_of(text, names, line)]
    if isinstance(error, _WrongValueError):
        index: int | None = error.at
    elif isinstance(error, _TooFewError):
        number = len(texts) - error.left - 1
        if number not in mine:  # --name=value of an option that takes several
            number = mine[0] if mine else number
        index = texts[number].at
        after = texts[number + 1] if number + 1 < len(texts) else ""
        if "=" not in texts[number] and isinstance(after, _Text) and _may_be_value(after, line):
            meant.add(after.at)
            fix = f"write {texts[number]}={after}" if option and option.nargs is None else ""
    else:
        index = texts[mine[0]].at if mine else None
        parser.allow_beside(error)
    parser.forgive(error)
    place = option.place if option else line.place
    return Problem("value", words, index, names[0], fix, place)


def _may_be_value(text: str, line: CommandLine) -> bool:
    """Whether an argument that argparse takes for an option may be meant as a value: -1e-8."""
    if not text.startswith("-") or text.startswith("--"):
        return False
    return not _is_of(text, [*names_of(line.options), "-h"], line)


def _of_flag(
    error: argparse.ArgumentError, texts: list[_Text], line: CommandLine
) -> Problem | None:
    """The problem with an option that takes no value and has one, which is cut off it.

    None for what Pythons differ in: `-vq`, where -q is not there.
    """
    names = (error.argument_name or "").split("/")
    option = _named(line, names[0])
    for number, text in enumerate(texts):
        word, equals, value = text.partition("=")
        is_told = equals and error.message.endswith(repr(str(value)))
        if word.startswith("--") and is_told and _is_of(text, names, line):
            texts[number] = _Text.of(word, text.at)
            place = option.place if option else line.place
            return Problem("value", f"{names[0]}: {error.message}", text.at, names[0], "", place)
    return None


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
    place = line.place
    if words.endswith("is required"):
        names = "/".join(word for word in words.split() if word.startswith("-"))
        return Problem("missing", f"the script says: {words}", None, names, place=place)
    index = next((i for i, text in left.items() if text.partition("=")[0] in words.split()), None)
    return Problem("value", f"the script says: {words}", index, place=place)


def _unknown(extras: Sequence[_Text], line: CommandLine) -> list[Problem]:
    """Arguments that are left over. The value of an unknown option is a part of it."""
    found = []
    option_at = -2
    for text in extras:
        if text == "--" or (text.at == option_at + 1 and not text.startswith("-")):
            continue
        if not text.startswith("-"):
            words = f"the script takes no argument {excerpt(text)}"
            found.append(Problem("unknown", words, text.at, place=line.place))
            continue
        found.append(unknown_option(str(text.partition("=")[0]), text.at, line))
        option_at = text.at if "=" not in text else -2
    return found


def _likely(word: str, names: Sequence[str]) -> str:
    """The option that a word stands for, whole or shortened; empty where none does.

    The dashes are left out: they are alike in all of them.
    """
    letters = word.lstrip("-")
    bare = {name.lstrip("-"): name for name in names}
    short = {name[: len(letters)]: name for name in bare}
    return bare.get(near(letters, bare) or short.get(mistyped(letters, short), ""), "")


def unknown_option(word: str, index: int, line: CommandLine) -> Problem:
    """The problem with an option that the script does not declare."""
    names = names_of(line.options)
    likely = _likely(word, names)
    fix = f"did you mean {likely}?" if likely else ""
    option = _named(line, likely)
    place = option.place if option else line.place
    return Problem(
        "unknown", f"the script has no option {excerpt(word)}", index, likely, fix, place
    )
