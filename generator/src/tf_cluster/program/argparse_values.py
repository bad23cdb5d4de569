"""Whether a value fits an option of argparse, by its type and its choices, and what would."""

from collections.abc import Callable, Container
from typing import Any

from tf_cluster.params.wording import either, excerpt
from tf_cluster.printable import cut
from tf_cluster.program.options import Option

_TYPES: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}
_OFF = ("false", "f", "0", "no", "off", "none")


def wrong_value(option: Option, text: str) -> str:
    """What is wrong with a value; empty if nothing is."""
    value: Any = text
    if option.type in _TYPES:
        convert, words = _TYPES[option.type]
        try:
            value = convert(text)
        except (ValueError, OverflowError):
            return f"is {excerpt(text)}, not {words}"
    if option.choices is None or value in option.choices:
        return ""
    return f"is {excerpt(value)}, not {either(excerpt(one) for one in option.choices)}"


def value_fix(option: Option, text: str, names: Container[str]) -> str:
    """How to mend a wrong value; empty if that is not known. `names` are those of all options."""
    if len(text) > 2 and text[0] == text[-1] in "'\"" and not wrong_value(option, text[1:-1]):
        return "leave out the inner quotes"
    for part in text.split():
        if part.partition("=")[0] in names:
            return f"write {cut(part)} as an argument of its own"
    types = {type(one) for one in option.choices or ()}
    if option.type == "text" and types and types <= {int, float}:
        kind = "int" if types == {int} else "float"
        return f"add type={kind} to {option.title} in the script: the choices are numbers"
    return ""


def flag_fix(option: Option, text: str) -> str:
    """What to write instead of an option that takes no value, with the value `text`."""
    name = option.title
    is_off = text.lower() in _OFF
    if option.action == "optional" and name.startswith("--"):
        return f"write --no-{name[2:]}" if is_off else f"write {name}"
    if option.type == "bool":
        return f"write {name}={cut(text)}"
    return "leave it out" if is_off and option.action == "store_true" else f"write {name}"
