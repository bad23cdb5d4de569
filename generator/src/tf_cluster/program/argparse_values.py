"""Whether a value fits an option of argparse: its type and its choices."""

from collections.abc import Callable
from typing import Any

from tf_cluster.params.wording import either, excerpt
from tf_cluster.program.options import Option

_TYPES: dict[str, tuple[Callable[[str], Any], str]] = {
    "int": (int, "a whole number"),
    "float": (float, "a number"),
}


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
