"""What argparse refuses of arguments, by the options that a script declares."""

from collections import Counter
from collections.abc import Container, Iterator, Sequence

from tf_cluster.params.wording import either, excerpt
from tf_cluster.printable import cut
from tf_cluster.program.argparse_defaults import wrong_defaults
from tf_cluster.program.argparse_rules import Outcome, Refusal, read, size
from tf_cluster.program.argparse_values import flag_fix, value_fix, wrong_value
from tf_cluster.program.near import mistyped, near
from tf_cluster.program.options import CommandLine, Option, Problem, names_of

_MOST = 20


def problems(line: CommandLine, args: Sequence[str]) -> list[Problem]:
    """What argparse refuses of arguments, if it takes the declarations."""
    texts = dict(enumerate(args))
    outcome = read(line, texts)
    if outcome.ended:
        return _refused(outcome, line)
    unknown = outcome.unknown[:_MOST] if line.strict else []
    found = [unknown_option(text.partition("=")[0], index, line) for index, text in unknown]
    # The value of an unknown option is left out with it; then no count is sure.
    whole = [index for index, text in unknown if text == args[index]]
    values = [i + 1 for i in whole if "=" not in args[i] and texts.get(i + 1, "-")[:1] != "-"]
    if whole:
        outcome = read(line, {i: t for i, t in texts.items() if i not in (*whole, *values)})
    is_sure = not values and not outcome.unsure
    taken = {problem.name for problem in found}
    left = _left_over(outcome, line) if line.strict else ()
    absent = (*_missing(outcome, line), *wrong_defaults(outcome.absent))
    for problem in (*_refused(outcome, line), *left, *absent):
        is_told = problem.index is None and taken & set(problem.name.split("/"))
        if not is_told and (problem.name.startswith("-") or is_sure):
            found.append(problem)
    return found


def _refused(outcome: Outcome, line: CommandLine) -> list[Problem]:
    """What argparse ends at, once for each argument."""
    names = frozenset(names_of(line.options))
    found: dict[int, Problem] = {}
    for refusal in outcome.refusals[:_MOST]:
        found.setdefault(refusal.index, _problem(refusal, names))
    return list(found.values())


def _problem(refusal: Refusal, names: Container[str]) -> Problem:
    option, text = refusal.option, refusal.text
    name, fix = option.title, ""
    if refusal.why == "wrong":
        words = f"{name} {wrong_value(option, text)}"
        fix = value_fix(option, text, names)
    elif refusal.why == "few":
        words = f"{name} has {_too_few(option)}"
        fix = f"write {cut(text)}" if text else ""
    elif refusal.why == "full":
        words, fix = f"{name} takes no value", flag_fix(option, text)
    elif refusal.why == "beside":
        words = f"{name} does not go with {refusal.others[0]}"
    else:
        name = text
        words, fix = f"{name} may be {either(refusal.others[:_MOST])}", "write the whole name"
    return Problem("value", words, refusal.index, name, fix, option.place)


def _too_few(option: Option) -> str:
    least, _ = size(option)
    return f"fewer than {least} values" if least > 1 else "no value"


def _missing(outcome: Outcome, line: CommandLine) -> Iterator[Problem]:
    for option in outcome.missing:
        name = "/".join(option.names)
        yield Problem("missing", f"{name} is missing", None, name, place=option.place)
    for group in outcome.lacking:
        names = [name for one in line.options if one.group == group for name in one.names]
        words = f"one of {either(names)} is missing" if names else "a required group has no option"
        yield Problem("missing", words, None, "/".join(names), place=line.place)


def _left_over(outcome: Outcome, line: CommandLine) -> Iterator[Problem]:
    for index, text in outcome.extras[:_MOST]:
        if text.startswith("-") and len(text.split()) > 1:
            yield unknown_option(text, index, line)
            continue
        words = f"the script takes no argument {excerpt(text)}"
        yield Problem("unknown", words, index, place=line.place)


def _likely(word: str, names: Sequence[str]) -> str:
    """The option that a word stands for, whole or shortened; empty where none does.

    The dashes are left out: they are alike in all of them.
    """
    letters = word.lstrip("-")
    bare = {name.lstrip("-"): name for name in names}
    begins = Counter(name[: len(letters)] for name in bare)
    short = {name[: len(letters)]: name for name in bare if begins[name[: len(letters)]] == 1}
    return bare.get(near(letters, bare) or short.get(mistyped(letters, short), ""), "")


def unknown_option(word: str, index: int, line: CommandLine) -> Problem:
    """The problem with an option that the script does not declare."""
    names = names_of(line.options)
    first, *others = word.split() or [word]
    name, equals, value = first.partition("=")
    likely = _likely(name, names)
    fix = f"did you mean {likely}?" if likely else ""
    option = next((one for one in line.options if likely in one.names), None)
    if option and others:
        takes_value = size(option) != (0, 0) and option.type != "bool"
        is_other = others[0].startswith("-")
        fix = flag_fix(option, others[0])
        if takes_value or is_other:
            fix = _apart(f"{likely}{equals}{value}", others)
    place = option.place if option else line.place
    words = f"the script has no option {excerpt(word)}"
    return Problem("unknown", words, index, likely, fix, place)


def _apart(first: str, others: Sequence[str]) -> str:
    """How to write an argument that has several in it, with a space between them."""
    if len(others) > 1:
        return "write each of its words as an argument"
    return f"write two arguments: '{cut(first)}', '{cut(others[0])}'"
