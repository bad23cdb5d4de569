"""What absl refuses of a script's arguments, as its `FlagValues` reads them."""

from collections.abc import Sequence

from tf_cluster.params.wording import either, excerpt
from tf_cluster.program.argparse_judge import unknown_option
from tf_cluster.program.options import CommandLine, Option, Problem

# Flags that absl has defined once its app or its logging is imported, as TensorFlow does.
_ALWAYS_THERE = frozenset(
    (
        *("alsologtostderr", "log_dir", "logger_levels", "logtostderr", "only_check_args", "pdb"),
        *("pdb_post_mortem", "profile_file", "run_with_pdb", "run_with_profiling"),
        *("showprefixforinfo", "stderrthreshold", "use_cprofile_for_profiling", "v", "verbosity"),
    )
)
# Flags of absl and TensorFlow themselves, and those that absl makes of others.
_OWN = _ALWAYS_THERE | frozenset(
    (
        *("?", "help", "helpfull", "helpshort", "helpxml", "flagfile", "undefok"),
        *("only_check_flags", "test_random_seed", "test_randomize_ordering_seed"),
        *("test_srcdir", "test_tmpdir", "xml_output_file"),
        *("delta_threshold", "hbm_oom_exit", "op_conversion_fallback_to_while_loop"),
        *("runtime_oom_exit", "tt_check_filter", "tt_single_core_summaries"),
    )
)
# Those of them that take a value, which may be an argument of its own.
_OWN_VALUED = frozenset(
    (
        *("log_dir", "logger_levels", "stderrthreshold", "v", "verbosity", "profile_file"),
        *("test_random_seed", "test_randomize_ordering_seed", "test_srcdir", "test_tmpdir"),
        *("xml_output_file",),
    )
)
_MOST_PROBLEMS = 20


def refused_flag(line: CommandLine) -> Problem | None:
    """The first flag that absl has by this name itself: the script ends where it defines it."""
    for option in line.options if line.by_app else ():
        own = next((name for name in option.names if name[2:] in _ALWAYS_THERE), "")
        if own:
            words = f"{own} is defined twice: absl has a flag of this name itself"
            fix = "give it another name"
            return Problem("declared", words, None, option.names[0], fix, option.place)
    return None


def absl_problems(line: CommandLine, args: Sequence[str]) -> list[Problem]:
    """What absl refuses of these arguments, as its `FlagValues` reads them."""
    options = {name: option for option in line.options for name in option.names}
    found: list[Problem] = []
    given: set[str] = set()
    index = 0
    while index < len(args):
        text = args[index]
        at = index
        index += 1
        if text == "--":
            break
        word, equals, value = text[2 if text.startswith("--") else 1 :].partition("=")
        if not text.startswith("-") or not word:  # no flag
            if line.interleaved:
                continue
            return found
        name = f"--{word}"
        has_next = index < len(args) and not args[index].startswith("-")
        option = options.get(name)
        if option is None and word.startswith("no") and f"--{word[2:]}" in options:
            other = options[f"--{word[2:]}"]
            if other.type == "bool":
                given.add(other.names[0])
                if equals:
                    words = f"{name} takes no value"
                    found.append(Problem("value", words, at, other.names[0], place=other.place))
                continue
        if option is None:
            if word in ("flagfile", "undefok"):
                return []
            if word in _OWN or word.removeprefix("no") in _OWN:
                if not equals and (word in _OWN_VALUED or (has_next and line.interleaved)):
                    index += 1
                elif not equals and has_next:
                    return found  # its value, or the first argument that is no flag
                continue
            if not line.strict:
                if not equals and not line.interleaved:
                    return found
                continue
            if len(found) >= _MOST_PROBLEMS:
                return found
            problem = unknown_option(name, at, line)
            found.append(problem)
            given.add(problem.name)
            if not equals and has_next:
                index += 1
            continue
        given.add(option.names[0])
        if not equals:
            if option.type == "bool":
                continue
            if index >= len(args):
                found.append(Problem("value", f"{name} has no value", at, name, place=option.place))
                return found
            value = args[index]
            index += 1
        wrong = _wrong_value(option, value)
        if wrong:
            words = f"{name} is {excerpt(value)}, not {wrong}"
            found.append(Problem("value", words, at, name, place=option.place))
    found += [
        Problem("missing", f"{o.names[0]} is missing", None, o.names[0], place=o.place)
        for o in line.options
        if o.required and o.names[0] not in given
    ]
    return found


def _wrong_value(option: Option, value: str) -> str:
    """What is needed instead of a value; empty if it is good."""
    if option.choices is not None and value not in option.choices:
        return either(excerpt(choice) for choice in option.choices)
    if option.type == "bool":
        good = value.lower() in ("true", "t", "1", "false", "f", "0")
        return "" if good else "true or false"
    words = {"int": "a whole number", "float": "a number"}.get(option.type)
    if not words:
        return ""
    try:
        number = _number(option.type, value)
    except ValueError:
        return f"{words}{_within(option.bounds)}"
    least, most = option.bounds
    is_out = (least is not None and number < least) or (most is not None and number > most)
    return f"{words}{_within(option.bounds)}" if is_out else ""


def _number(kind: str, text: str) -> float:
    if kind == "float":
        return float(text)
    base = {"0o": 8, "0x": 16}.get(text[:2], 10) if len(text) > 2 else 10
    return int(text, base)


def _within(bounds: tuple[float | None, float | None]) -> str:
    """` from 1 to 9`, as the end of what a number has to be; empty where it may be any."""
    least, most = bounds
    if least is None and most is None:
        return ""
    if most is None:
        return f" of at least {least}"
    return f" of at most {most}" if least is None else f" from {least} to {most}"
