"""Values and expectations in words, for messages."""

import json
import re
from collections.abc import Iterable
from typing import Any

from tf_cluster.printable import cut

_KINDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}


def kind_of(value: Any) -> str:
    """The kind of a value, with its article."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "a boolean"
    if isinstance(value, (int, float)):
        return "a number"
    if isinstance(value, str):
        return "a text"
    return "a list" if isinstance(value, list) else "a mapping"


def needed(types: str | list[str]) -> str:
    """What a schema's `type` asks for: `a text or a number`."""
    names = [types] if isinstance(types, str) else types
    return either(_KINDS[name] for name in names)


def either(words: Iterable[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last


def choices(values: Iterable[Any]) -> str:
    """The values of a schema's enum, as a file has them: `auto, true or false`."""
    return either(one if isinstance(one, str) else json.dumps(one) for one in values)


def excerpt(value: Any, limit: int = 60) -> str:
    """The value as JSON, cut at `limit` characters."""
    return cut(json.dumps(value, ensure_ascii=False, default=str), limit)


def type_fix(value: Any, types: str | list[str]) -> str:
    """What to do about a value of the wrong type; empty when there is nothing short to say."""
    names = {types} if isinstance(types, str) else set(types)
    if isinstance(value, str) and "array" in names:
        if not value or re.search(r"[\s'\"\\]", value):
            return "write each as an item of a list"
        return f"write it as a list: [{cut(value)}]"
    name = value["name"] if isinstance(value, dict) and [*value] == ["name"] else None
    if isinstance(name, str) and "string" in names:
        return f"write the name alone: {cut(name)}"
    number = value.get("replicas") if isinstance(value, dict) and len(value) == 1 else None
    if type(number) is int and "integer" in names:
        return f"write the number alone: {number}"
    return ""


SCRIPT_ALONE = "name the script alone; what comes behind it goes to program.args"
"""What to do about a script with arguments, or with what runs it."""


def module_fix(value: str) -> str:
    """A suggestion for a program that is not `package.module:ClassName`."""
    file, _, name = value.partition(":")
    if file.endswith((".py", ".ipynb")) or "/" in value:
        stem = re.sub(r"\.(py|ipynb)$", "", file).strip("./").replace("/", ".")
        found = f"{stem}:{name if name.isidentifier() else 'ClassName'}"
        return f"name the module and a class in it: {found}; a script is program.script"
    if value and ":" not in value:
        return f"add the class: {value}:ClassName"
    return ""
