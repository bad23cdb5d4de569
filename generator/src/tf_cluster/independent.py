"""Findings that hold whatever is meant by a value that is itself wrong.

A wrong value is left out, and the checks see the default in its place. A finding that rests on that
default would be a second one for the same mistake, and would often be untrue.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tf_cluster.findings.finding import Finding
from tf_cluster.params.go_validator import matches
from tf_cluster.params.schema_files import params_schema, resolved
from tf_cluster.pointer import Pointer

_MOST_VALUES = 20
"""Most wrong values that others are tried for."""
_TEXTS = ("a", "1Gi", "a.b:C", "/a.py", "r/i:1")

Checked = Callable[[Mapping[str, Any]], Iterable[Finding]]


def independent(
    found: list[Finding], wrong: Iterable[Pointer], sound: Mapping[str, Any], checked: Checked
) -> list[Finding]:
    """The findings that the checks also have with other values in place of the wrong ones.

    `found` are those of the `sound` part of a file, `wrong` the paths that it leaves out.
    """
    for path in sorted(wrong, key=str)[:_MOST_VALUES]:
        for value in _possible(path) if found else ():
            there = {(one.code, one.pointer) for one in checked(_with(sound, path, value))}
            found = [one for one in found if (one.code, one.pointer) in there]
    return found


def _possible(path: Pointer) -> Iterator[Any]:
    """A few values that the params schema takes at `path`."""
    node: Mapping[str, Any] = params_schema()
    for part in path:
        node = resolved(node.get("properties", {}).get(part, {}), params_schema())
    types = node.get("type", "")
    if "enum" in node:
        yield from node["enum"]
    elif types == "boolean":
        yield from (True, False)
    elif types in ("integer", "number"):
        yield from (node[key] for key in ("minimum", "maximum") if key in node)
    elif "string" in types:
        yield from (text for text in _TEXTS if matches(node.get("pattern", ""), text))


def _with(data: Mapping[str, Any], path: Pointer, value: Any) -> Mapping[str, Any]:
    key, *rest = path
    if not rest:
        return {**data, str(key): value}
    inner = data.get(str(key))
    return {**data, str(key): _with(inner if isinstance(inner, dict) else {}, tuple(rest), value)}
