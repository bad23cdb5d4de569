"""Whether argparse takes what a script declares: if not, the script ends before it reads any."""

from tf_cluster.program.options import CommandLine, Option, Problem

_TAKES_VALUE = frozenset(("const", "metavar", "nargs", "type", "choices"))
_LACKS = {
    "store_true": _TAKES_VALUE,
    "store_false": _TAKES_VALUE,
    "store_const": _TAKES_VALUE - {"const", "metavar"},
    "append_const": _TAKES_VALUE - {"const", "metavar"},
    "count": _TAKES_VALUE,
    "help": _TAKES_VALUE | {"required"},
    "version": _TAKES_VALUE | {"required"},
    "optional": frozenset(("nargs", "const")),
}
"""What argparse's own actions have no argument for, in every Python since 3.9."""


def refused_keys(name: str, action: str, keys: frozenset[str]) -> tuple[str, ...]:
    """Those of the keywords of `add_argument` that it does not take beside the action."""
    lacks = _LACKS.get(action, frozenset())
    if action != "version":
        lacks |= {"version"}
    if not name.startswith("-"):
        lacks |= {"required"}
    return tuple(sorted(keys & lacks))


def refused_option(line: CommandLine) -> Problem | None:
    """The first declaration that argparse refuses; of kind `unsure`, if it only may."""
    own = Option(("-h", "--help"), "")
    named = dict.fromkeys(own.names if line.has_help else (), own)
    for option in line.options:
        kind = "declared"
        words, fix = _refused(option)
        for name in dict.fromkeys(option.names) if option.names[0].startswith("-") else ():
            if name in named and not words:
                other = named[name]
                by = ": argparse has it for its help" if other is own else f", at {other.place} too"
                words, fix = f"{name} is declared twice{by}", "give it another name"
                is_sure = other is own or (option.within and option.within == other.within)
                kind = "declared" if is_sure else "unsure"
            named[name] = option
        if words:
            return Problem(kind, words, None, option.names[0], fix, option.place)
    return None


def _refused(option: Option) -> tuple[str, str]:
    """What argparse refuses of a declaration, and the fix; empty if nothing."""
    title = option.title
    if option.refused:
        keys = " and ".join(option.refused)
        action = "" if option.action == "store" else f" with this action ({option.action})"
        return f"{title} can't have {keys}{action}", f"leave out {keys}"
    if option.nargs == 0:
        return f"{title} has nargs=0", "write action='store_true'"
    starts = {name.startswith("-") for name in option.names}
    if len(starts) > 1 or (starts == {False} and len(option.names) > 1):
        return f"{title} has several names, and not all begin with -", "leave one"
    is_needed = option.required or (starts == {False} and option.nargs not in ("?", "*"))
    if option.group >= 0 and is_needed:
        return f"{title} is required, in a group of which one excludes the others", "mend the group"
    return "", ""
