"""The rules by which argparse reads arguments, as the image's Python 3.12 has them.

Pythons differ in them, one patch from the next, so the one that runs this tool is not asked. What
argparse ends at is noted here, and the arguments behind it are read as if it was right.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from tf_cluster.program.argparse_values import wrong_value
from tf_cluster.program.options import CommandLine, Option

_FLAGS = ("store_true", "store_false", "store_const", "append_const", "count", "help", "version")
_ENDS = ("help", "version")
_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
_ANY = 1_000_000


Why = Literal["wrong", "few", "full", "beside", "ambiguous"]


@dataclass(frozen=True)
class Refusal:
    """What argparse ends at, in the argument at `index`.

    `wrong`: the value `text`. `few`: too few values; `text` is how to write it, if that is known.
    `full`: the value `text`, where none goes. `beside`: another option, whose name is in `others`,
    excludes it. `ambiguous`: `text` begins the names `others`.
    """

    why: Why
    option: Option
    index: int
    text: str = ""
    others: tuple[str, ...] = ()


@dataclass
class Outcome:
    """What comes of reading arguments: what is refused, left over, unknown and missing.

    `unknown`: options that are none of the script's, or a part of an argument: `-q` of `-vq`.
    `ended`: the script prints its help or version, and ends well. `unsure`: which arguments
    go where, as one of them may be another's value. `lacking`: groups with none of their options.
    `absent`: options that are not given, whether they are missed or not.
    """

    refusals: list[Refusal] = field(default_factory=list)
    extras: list[tuple[int, str]] = field(default_factory=list)
    unknown: list[tuple[int, str]] = field(default_factory=list)
    missing: list[Option] = field(default_factory=list)
    lacking: list[int] = field(default_factory=list)
    absent: list[Option] = field(default_factory=list)
    ended: bool = False
    unsure: bool = False


class Named(NamedTuple):
    """An option that an argument names, by which name, with the value in the same argument."""

    option: Option
    name: str
    equals: bool = False
    value: str | None = None


class Names:
    """The names by which arguments name options."""

    def __init__(self, line: CommandLine) -> None:
        self._shortens = line.abbreviates
        self.known: dict[str, Option] = {}
        if line.has_help:
            self.known = dict.fromkeys(("-h", "--help"), Option(("-h", "--help"), "", "help"))
        for option in line.options:
            for name in option.names:
                if name.startswith("-"):
                    self.known[name] = option
                if name.startswith("--") and option.action == "optional":
                    self.known[f"--no-{name[2:]}"] = option
        self._has_numbers = any(map(_NUMBER.fullmatch, self.known))

    def of(self, text: str) -> Sequence[Named] | None:
        """The options that an argument may name; none for an unknown one, None for a value."""
        if not text.startswith("-") or (len(text) == 1 and text not in self.known):
            return None
        if text in self.known:
            return [Named(self.known[text], text)]
        name, equals, value = text.partition("=")
        if equals and name in self.known:
            return [Named(self.known[name], name, True, value)]
        begun = self._begun(text)
        if not begun and (" " in text or (_NUMBER.fullmatch(text) and not self._has_numbers)):
            return None
        return begun

    def _begun(self, text: str) -> list[Named]:
        """The options whose names an argument begins, or that begin it: `--st=3`, `-n3`."""
        begin, equals, rest = text.partition("=")
        value = rest if equals else None
        return [
            Named(option, name, False, text[2:])
            if name == text[:2]
            else Named(option, name, bool(equals), value)
            for name, option in self.known.items()
            if (name == text[:2] and name != "--") or (self._shortens and name.startswith(begin))
        ]


def size(option: Option) -> tuple[int, int]:
    """How many values an option takes, at least and at most."""
    if option.action in _FLAGS or option.action == "optional":
        return 0, 0
    if isinstance(option.nargs, int):
        return max(option.nargs, 0), max(option.nargs, 0)
    least = 1 if option.nargs in (None, "+") else 0
    return least, 1 if option.nargs in (None, "?") else _ANY


def read(line: CommandLine, texts: Mapping[int, str]) -> Outcome:
    """Read arguments, which have an index each."""
    return _Reader(line, texts).read()


class _Reader:
    """Reads arguments once, from the first to the last.

    `_kinds` has a letter for each: `O` of an option, `A` of a value, `-` of the `--` after which
    all are values.
    """

    def __init__(self, line: CommandLine, texts: Mapping[int, str]) -> None:
        self._line = line
        self._names = Names(line)
        self._indexes = list(texts)
        self._texts = list(texts.values())
        self._named: dict[int, Sequence[Named]] = {}
        self._kinds = self._all_kinds()
        self._positional = [one for one in line.options if not one.names[0].startswith("-")]
        self._seen: set[int] = set()
        self._given: dict[int, Option] = {}
        self._free: set[int] = set()
        self._defaults: set[int] = set()
        self._outcome = Outcome()

    def _all_kinds(self) -> str:
        kinds: list[str] = []
        for at, text in enumerate(self._texts):
            if text == "--":
                return "".join((*kinds, "-", "A" * (len(self._texts) - at - 1)))
            named = self._names.of(text)
            if named is not None:
                self._named[at] = named
            kinds.append("A" if named is None else "O")
        return "".join(kinds)

    def read(self) -> Outcome:
        """Values and options, each at its turn."""
        at = 0
        last = self._kinds.rfind("O")
        while at <= last and not self._outcome.ended:
            option_at = self._kinds.index("O", at)
            if at != option_at:
                end = self._take_positional(at)
                if end > at:
                    at = end
                    continue
            self._leave(at, option_at)
            at = self._take_option(option_at)
        if not self._outcome.ended:
            self._leave(self._take_positional(at), len(self._texts))
            self._look_for_missing()
        return self._outcome

    def _leave(self, start: int, end: int) -> None:
        for at in range(start, end):
            self._outcome.extras.append((self._indexes[at], self._texts[at]))

    def _refuse(self, why: Why, option: Option, at: int, text: str = "", *others: str) -> None:
        self._outcome.refusals.append(Refusal(why, option, self._indexes[at], text, others))
        self._note(option)

    def _note(self, option: Option) -> None:
        self._seen.add(id(option))
        self._given[id(option)] = option

    def _take_option(self, at: int) -> int:
        """The option of an argument with its values; where to read on."""
        named = self._named[at]
        if not named:
            self._outcome.unknown.append((self._indexes[at], self._texts[at]))
            return at + 1
        if len(named) > 1:
            return self._ambiguous(at, named)
        option, name, equals, value = named[0]
        if value and not equals and not name.startswith("--") and size(option) == (0, 0):
            last = self._take_flags(at, option, value)
            if last is None:
                return at + 1
            option, value = last
        if value is None:
            return self._take_following(option, at)
        least, most = size(option)
        if least > 1:
            self._refuse("few", option, at)
        elif most > 0:
            self._take(option, at, [(at, value)])
        else:
            self._refuse("full", option, at, value)
        return at + 1

    def _take_flags(
        self, at: int, option: Option, letters: str
    ) -> tuple[Option, str | None] | None:
        """The last option of -vxn3, which is -v -x -n3, with its value; None if there is none."""
        for number, letter in enumerate(letters):
            if letter == "-":
                return option, letters[number:]
            if id(option) not in self._given:
                self._take(option, at, [])
            if self._outcome.ended:
                return None
            if f"-{letter}" not in self._names.known:
                self._outcome.unknown.append((self._indexes[at], f"-{letters[number:]}"))
                return None
            option = self._names.known[f"-{letter}"]
            rest = letters[number + 1 : number + 2]
            if rest == "=":
                return option, letters[number + 2 :]
            if size(option) != (0, 0):
                return option, letters[number + 1 :] if rest else None
        return option, None

    def _ambiguous(self, at: int, named: Sequence[Named]) -> int:
        word = self._texts[at].partition("=")[0]
        self._refuse("ambiguous", named[0].option, at, word, *(one.name for one in named))
        for one in named:
            self._note(one.option)
        self._outcome.unsure = True
        has_value = named[0].value is not None or self._kinds[at + 1 : at + 2] != "A"
        return at + (1 if has_value else 2)

    def _take_following(self, option: Option, at: int) -> int:
        """The values in the arguments behind an option's; where to read on.

        Of a certain number of values each may look like an option.
        """
        least, most = size(option)
        may_be = "AO" if isinstance(option.nargs, int) else "A"
        count = self._run(at + 1, most, may_be)
        values = [(one, self._texts[one]) for one in range(at + 1, at + 1 + count)]
        is_few = count < least or any(
            self._named.get(one) and wrong_value(option, text) for one, text in values
        )
        if not is_few:
            self._take(option, at, values)
            return at + 1 + count
        count = self._run(at + 1, most, "A")
        self._check(option, values[:count])
        end = at + 1 + count
        if option.nargs is None and self._may_be_value(end):
            self._refuse("few", option, at, f"{self._texts[at]}={self._texts[end]}")
            return end + 1
        self._refuse("few", option, at)
        return end

    def _may_be_value(self, at: int) -> bool:
        """Whether an argument looks like an option, but may be meant as a value: -1e-8."""
        is_option = self._kinds[at : at + 1] == "O"
        return is_option and not self._named[at] and not self._texts[at].startswith("--")

    def _run(self, start: int, most: int, kinds: str) -> int:
        """How many arguments of some kinds stand in a row."""
        end = start
        while end < len(self._kinds) and end - start < most and self._kinds[end] in kinds:
            end += 1
        return end - start

    def _take_positional(self, start: int) -> int:
        """The values of as many positional arguments as can be; where to read on."""
        lengths = self._lengths(start)
        for length in lengths:
            option = self._positional.pop(0)
            end = start + length
            values = [(at, self._texts[at]) for at in range(start, end) if self._kinds[at] == "A"]
            self._take(option, values[0][0] if values else start, values)
            start = end
        return start

    def _lengths(self, start: int) -> list[int]:
        """How many arguments each of the next positional ones takes, a `--` among them.

        The first ones get as many as leave enough for those behind them.
        """
        end = self._kinds.find("O", start)
        row = self._kinds[start : len(self._kinds) if end < 0 else end]
        spare = row.count("A")
        sizes = []
        for least, most in map(size, self._positional):
            if least > spare:
                break
            spare -= least
            sizes.append((least, most))
        lengths = []
        before, dash = 0, row.find("-")
        for least, most in sizes:
            count = min(most, least + spare)
            spare -= count - least
            is_here = before <= dash <= before + count
            before += count
            lengths.append(count + is_here)
            dash = -1 if is_here else dash
        if end >= 0 and sum(lengths) == len(row):
            while lengths and not lengths[-1]:  # they may come behind the option
                lengths.pop()
        return lengths

    def _take(self, option: Option, at: int, values: Sequence[tuple[int, str]]) -> None:
        self._seen.add(id(option))
        self._check(option, values)
        if option.names[0].startswith("-") or values:
            if _may_be_default(option, values):
                self._defaults.add(id(option))
            else:
                self._defaults.discard(id(option))
                self._exclude(option, at)
            self._given[id(option)] = option
        self._outcome.ended |= option.action in _ENDS

    def _check(self, option: Option, values: Sequence[tuple[int, str]]) -> None:
        for at, text in values:
            if wrong_value(option, text):
                self._refuse("wrong", option, at, text)

    def _exclude(self, option: Option, at: int) -> None:
        """Refuse an option beside another of its group: one of them, and no more."""
        if option.group < 0 or option.group in self._free:
            return
        for other in self._given.values():
            is_seen = id(other) not in self._defaults
            if other is not option and other.group == option.group and is_seen:
                self._free.add(option.group)
                self._refuse("beside", option, at, "", other.title)
                return

    def _look_for_missing(self) -> None:
        for option in self._line.options:
            is_needed = option.required or (option in self._positional and size(option)[0] > 0)
            if is_needed and id(option) not in self._seen:
                self._outcome.missing.append(option)
        self._outcome.absent = [one for one in self._line.options if id(one) not in self._given]
        given = {option.group for option in self._given.values()}
        for group, is_required in enumerate(self._line.exclusive):
            if is_required and group not in given:
                self._outcome.lacking.append(group)


def _may_be_default(option: Option, values: Sequence[tuple[int, str]]) -> bool:
    """Whether a value may be the very object that the default is.

    Some releases of 3.12 then take the option for one that is not given: they let it stand beside
    others of its group.
    """
    if option.action != "store" or option.nargs in ("*", "+") or isinstance(option.nargs, int):
        return False
    if not values:
        return option.nargs == "?"
    is_new = option.type == "float" or (option.type == "text" and len(values[0][1]) > 1)
    return option.has_default and not is_new
