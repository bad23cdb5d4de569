"""How `--help` looks: what to type and what it does, within 80 columns, then examples and exits.

Typer names the type of each value (`<int range>`) and puts the usage in brackets; people need a
word for the value and its default.
"""

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Any, TypeVar

from typer import BadParameter
from typer.core import TyperCommand, TyperGroup

Function = TypeVar("Function", bound=Callable[..., Any])

_EPILOGS: dict[Callable[..., Any], str] = {}
_FOR_SHELLS = ("install_completion", "show_completion")


def ends_with(epilog: str) -> Callable[[Function], Function]:
    """Decorate a command with the end of its help. Lines with a blank first are not wrapped."""

    def decorate(function: Function) -> Function:
        _EPILOGS[function] = epilog
        return function

    return decorate


def epilog_of(function: Callable[..., Any]) -> str:
    """The end of a command's help; empty where it was given none."""
    return _EPILOGS.get(function, "")


class HelpfulCommand(TyperCommand):
    """A command with such help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the arguments. Raises BadParameter in plain words: Typer's begin with its class."""
        try:
            return super().parse_args(ctx, args)
        except BadParameter as bad:
            bad.message = bad.message.removeprefix("Value error, ")
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`[OPTIONS] FILE...`: the name of an argument says itself whether it is needed."""
        names = [one.metavar or "" for one in self.get_params(ctx) if _is_argument(one)]
        return [str(self.options_metavar), *names]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, each with the word for its value and what it does."""
        _write_params(self.get_params(ctx), formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the end."""
        _write_epilog(self.epilog or "", formatter)


class HelpfulGroup(TyperGroup):
    """The command of commands, with such help. The commands come first."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, then the options but those that set up a shell."""
        self.format_commands(ctx, formatter)
        params = (one for one in self.get_params(ctx) if one.name not in _FOR_SHELLS)
        _write_params(params, formatter)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the end."""
        _write_epilog(self.epilog or "", formatter)


def _is_argument(param: Any) -> bool:
    return bool(param.param_type_name == "argument")


def _write_params(params: Iterable[Any], formatter: Any) -> None:
    rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    for param in params:
        if param.hidden:
            continue
        if _is_argument(param):
            rows["Arguments"].append((param.metavar, _words(param)))
            continue
        names = ", ".join(sorted(param.opts, key=len))
        rows["Options"].append(
            (names if param.is_flag else f"{names} {param.metavar}", _words(param))
        )
    for title, some in rows.items():
        if some:
            with formatter.section(title):
                formatter.write_dl(some)


def _words(param: Any) -> str:
    default = param.default.value if isinstance(param.default, Enum) else param.default
    told = "" if default in (None, False, "") else f" [default: {default}]"
    return f"{param.help}{told}"


def _write_epilog(epilog: str, formatter: Any) -> None:
    formatter.write_paragraph()
    for line in epilog.strip("\n").split("\n"):
        if line.startswith(" ") or not line:
            formatter.write(f"{line}\n")
        else:
            formatter.write_text(line)
