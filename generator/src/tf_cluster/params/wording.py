"""Values and expectations in words, for messages."""

import json
import re
from collections.abc import Iterable
from typing import Any

from tf_cluster.pointer import Pointer
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


_OBJECT = "lower-case letters, digits, '-' and '.', as Kubernetes names objects"
_CHART_FORMS = {
    "nameOverride": "lower-case letters, digits and '-', no '-' at the ends",
    "fullnameOverride": "lower-case letters, digits and '-', a letter first, no '-' at the end",
    "clusterDomain": "a domain in lower case, as in cluster.local",
    "repository": "a registry and a name, as in registry.example.com/team/trainer",
    "tag": "letters, digits, '.', '_' and '-', at most 128, '.' and '-' not first",
    "digest": "sha256: and 64 hexadecimal digits in lower case",
    "pullSecrets": _OBJECT,
    "id": "letters, digits, '.', '_' and '-', with a letter or digit first and last",
    "module": "package.module:ClassName",
    "script": "the path of a Python script, as in /data/code/train.py",
    "files": "a relative path of letters, digits, '_', '.', '-', '/' and blanks",
    "url": "an address with a path and no login in it, as in https://example.com/code.tar.gz",
    "sha256": "64 hexadecimal digits",
    "git": "an address with a path and no login in it, as in https://example.com/team/code.git",
    "commit": "40 hexadecimal digits",
    "priorityClassName": _OBJECT,
    "existingClaim": _OBJECT,
    "volumeName": _OBJECT,
    "storageClassName": _OBJECT,
    "size": "a Kubernetes quantity, as in 500Mi, 5Gi or 1Ti",
    "extraEnv": "a variable's name: letters, digits, '_', '-' and '.', no digit first",
}
_LABELS = {"commonLabels", "podLabels", "nodeSelector"}
_LABEL = (
    "a label's value: at most 63 letters, digits, '.', '_' and '-', "
    "with a letter or digit first and last"
)


def form_of(path: Pointer) -> str:
    """The form of the text at `path` in words; the chart's schema has patterns only."""
    if _LABELS & {*path}:
        return _LABEL
    keys = reversed([part for part in path if isinstance(part, str)])
    return next((_CHART_FORMS[k] for k in keys if k in _CHART_FORMS), "in the form that is needed")


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


def excerpt(value: Any, limit: int = 60) -> str:
    """The value as JSON, cut at `limit` characters."""
    return cut(json.dumps(value, ensure_ascii=False, default=str), limit)


def type_fix(value: Any, types: str | list[str]) -> str:
    """What to do about a value of the wrong type; empty when there is nothing short to say."""
    names = {types} if isinstance(types, str) else set(types)
    if isinstance(value, str) and "array" in names:
        return f"write it as a list: [{cut(value)}]"
    return ""


def module_fix(value: str) -> str:
    """A suggestion for a program that is not `package.module:ClassName`."""
    if value.endswith((".py", ".ipynb")) or "/" in value:
        stem = re.sub(r"\.(py|ipynb)$", "", value).strip("./").replace("/", ".")
        return f"name the module and a class in it: {stem}:ClassName; a script is program.script"
    package, dot, last = value.rpartition(".")
    if dot and last[:1].isupper() and ":" not in value:
        return f"did you mean '{package}:{last}'?"
    if value and ":" not in value:
        return f"add the class: {value}:ClassName"
    return ""
