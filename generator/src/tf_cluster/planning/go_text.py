"""JSON as Go prints it: the chart's hashes are made of that text."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

_IN_HTML = {character: f"\\u{ord(character):04x}" for character in "<>&\u2028\u2029"}


def go_json(data: Any, *, indent: bool = False) -> str:
    """The text of `toJson`, or with `indent` of `toPrettyJson`: keys sorted, no blank at an end."""
    return _text(data, "\n" if indent else "")


def _text(data: Any, line: str) -> str:
    """`line` is what begins a line at this depth; empty where all is one line."""
    inner = f"{line}  " if line else ""
    if isinstance(data, Mapping):
        colon = ": " if line else ":"
        entries = [f"{_string(str(key))}{colon}{_text(data[key], inner)}" for key in sorted(data)]
        return _framed("{}", entries, line, inner)
    if isinstance(data, (list, tuple)):
        return _framed("[]", [_text(one, inner) for one in data], line, inner)
    if isinstance(data, str):
        return _string(data)
    if data is None or isinstance(data, bool):
        return json.dumps(data)
    return _number(data)


def _framed(marks: str, entries: list[str], line: str, inner: str) -> str:
    if not entries:
        return marks
    return marks[0] + inner + f",{inner}".join(entries) + line + marks[1]


def _string(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    for character, escape in _IN_HTML.items():
        quoted = quoted.replace(character, escape)
    return quoted


def _number(value: Any) -> str:
    """A number of JSON in Go: every one is a float64."""
    number = float(value)
    if number == 0:
        return "0"
    digits = Decimal(repr(number))
    if 1e-6 <= abs(number) < 1e21:
        text = format(digits, "f")
        return text.rstrip("0").rstrip(".") if "." in text else text
    sign, figures, _ = digits.normalize().as_tuple()
    exponent = digits.adjusted()
    head = "".join(map(str, figures))
    fraction = f".{head[1:]}" if head[1:] else ""
    power = f"{exponent:+d}" if exponent < 0 else f"{exponent:+03d}"
    return f"{'-' if sign else ''}{head[0]}{fraction}e{power}"
