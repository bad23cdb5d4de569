"""What argparse refuses of arguments, by the options that a script declares."""

from collections.abc import Iterator, Sequence

from tf_cluster.params.wording import either, excerpt
from tf_cluster.program.argparse_rules import Outcome, Refusal, read, size
from tf_cluster.program.argparse_values import wrong_value
from tf_cluster.program.near import listed, mistyped, near
from tf_cluster.program.options import CommandLine, Option, Problem, names_of

_MOST = 20


def refused_options(line: CommandLine) -> str:
    """Why argparse refuses the declarations themselves; empty if it does not."""
    named: dict[str, str] = dict.fromkeys(("-h", "--help"), "argparse itself")
    named = named if line.has_help else {}
    for option in line.options:
        is_positional = not option.names[0].startswith("-")
        for name in option.names:
            if is_positional:
                continue
            if name in named:
                return f"{option.place}: {name} is declared twice, by {named[name]} too"
            named[name] = option.place
        if _is_odd(option, is_positional=is_positional):
            return f"{option.place}: argparse refuses this argument"
    return ""


def _is_odd(option: Option, *, is_positional: bool) -> bool:
    if is_positional:
        must_be = option.nargs not in ("?", "*")
        one, *more = option.names
        if not one or more or option.required or (option.group >= 0 and must_be):
            return True
    elif not all(name.startswith("-") and name.strip("-") for name in option.names):
        return True
    if option.group >= 0 and option.required:
        return True
    takes = size(option) != (0, 0) or option.action in ("store", "append", "extend")
    return takes and isinstance(option.nargs, int) and option.nargs < 1


def problems(line: CommandLine, args: Sequence[str]) -> list[Problem]:
    """What argparse refuses of arguments; the declarations are such that it takes them."""
    texts = dict(enumerate(args))
    outcome = read(line, texts)
    if outcome.ended:
        return _refused(outcome)
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
    for problem in (*_refused(outcome), *left, *_missing(outcome, line)):
        is_told = problem.kind == "missing" and taken & set(problem.name.split("/"))
        if not is_told and (problem.name.startswith("-") or is_sure):
            found.append(problem)
    return found


def _refused(outcome: Outcome) -> list[Problem]:
    """What argparse ends at, once for each argument."""
    found: dict[int, Problem] = {}
    for refusal in outcome.refusals[:_MOST]:
        found.setdefault(refusal.index, _problem(refusal))
    return list(found.values())


def _problem(refusal: Refusal) -> Problem:
    option, text = refusal.option, refusal.text
    name, fix = option.names[0], ""
    if refusal.why == "wrong":
        words = f"{name} {wrong_value(option, text)}"
    elif refusal.why == "few":
        words = f"{name} has {_too_few(option)}"
        fix = f"write {text}" if text else ""
    elif refusal.why == "full":
        words, fix = f"{name} takes no value", f"write {name}"
    elif refusal.why == "beside":
        words = f"{name} does not go with {refusal.others[0]}"
    else:
        name = text
        words, fix = f"{name} may be {listed(refusal.others)}", "write the whole name"
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
        words = f"one of {either(names)} is missing"
        yield Problem("missing", words, None, "/".join(names), place=line.place)


def _left_over(outcome: Outcome, line: CommandLine) -> Iterator[Problem]:
    for index, text in outcome.extras[:_MOST]:
        words = f"the script takes no argument {excerpt(text)}"
        yield Problem("unknown", words, index, place=line.place)


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
    option = next((one for one in line.options if likely in one.names), None)
    place = option.place if option else line.place
    return Problem(
        "unknown", f"the script has no option {excerpt(word)}", index, likely, fix, place
    )
