"""What a script's command line takes, as its code shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MOST = 500
"""Options, and arguments, that are compared: the time grows with their product."""


@dataclass(frozen=True)
class Option:
    """An option or a positional argument; `place` is where the script declares it.

    `names` are `--steps`, `-s`, or a positional's one name. `type`: `int`, `float`, `text`, absl's
    `bool`, or `unknown`. `choices`: None where there are none, or can't be known. `group`: which
    group of options that exclude each other, -1 for none. `has_default`: a flag of absl has a
    value that is not None, or may have one. `refused`: keywords of its declaration that argparse
    does not take with its action. `default`: one of argparse that is a text, None for any other.
    `target`: the attribute that has the value, empty where it can't be known. `within`: what has
    the declaration, a function or the module; empty where that may run for several parsers.
    `bounds`: the least and the most that a number of absl may be, None for no bound.
    """

    names: tuple[str, ...]
    place: str
    action: str = "store"
    nargs: int | str | None = None
    type: str = "text"
    choices: tuple[Any, ...] | None = None
    required: bool = False
    group: int = -1
    has_default: bool = False
    refused: tuple[str, ...] = ()
    default: str | None = None
    target: str = ""
    within: str = ""
    bounds: tuple[float | None, float | None] = (None, None)

    @property
    def title(self) -> str:
        """The name that messages have: a long one, if there is one."""
        return next((name for name in self.names if name.startswith("--")), self.names[0])


@dataclass(frozen=True)
class CommandLine:
    """All options of a script. `strict`: it refuses an argument that it does not know.

    `exclusive` has an entry for each group of options that exclude each other: whether one of them
    is required. `interleaved`: absl reads flags behind arguments that are no flags. `by_app`: its
    app.run reads them.
    """

    options: tuple[Option, ...]
    strict: bool
    place: str
    has_help: bool = True
    abbreviates: bool = True
    exclusive: tuple[bool, ...] = ()
    interleaved: bool = False
    by_app: bool = False


@dataclass(frozen=True)
class Problem:
    """What a command line refuses. `index` is the argument's; None for one that is not there.

    `kind` is `unknown`, `value` or `missing`; of a declaration, `declared` or, if it may not run,
    `unsure`. `name` is the option's; `place` its declaration's.
    """

    kind: str
    words: str
    index: int | None = None
    name: str = ""
    fix: str = ""
    place: str = ""


def names_of(options: Sequence[Option]) -> list[str]:
    """Every name of every option, positional arguments left out."""
    return [name for option in options for name in option.names if name.startswith("-")]
