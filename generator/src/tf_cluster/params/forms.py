"""Values in another form than the one that is needed, which leave only one meaning."""

import json
import re
import shlex
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

from tf_cluster.params.schema_files import one_level, types_of
from tf_cluster.params.spelling import likely
from tf_cluster.pointer import Pointer
from tf_cluster.yaml.helm_scalars import unquoted
from tf_cluster.yaml.syntax_errors import TEMPLATE

_QUANTITY = re.compile(r"[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)")
_OBJECT_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SCRIPT = re.compile(r"([^\s]*/)?[^/\s]+\.py")
_CLASS = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*:[A-Za-z_][A-Za-z0-9_]*")
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_GANG = re.compile(r"(?i)volcano|coscheduling")
_VENDORS = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu", "intel": "gpu.intel.com/i915"}

_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?([KkMmGgTtPp])([Ii]?)([Bb]?)")
_BYTES = ("memory", "ephemeral-storage", "size")
_DURATION = re.compile(r"([0-9]+) ?(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_THOUSANDS = re.compile(r"([0-9]{1,3}(?:,[0-9]{3})+)|([0-9]{1,12}) ?([kKM])")
_TIMES = {"k": 1_000, "K": 1_000, "M": 1_000_000}

# A mapping that people write as the value of its first key. `safe`: no other key could be meant.
_SHORT: Mapping[Pointer, tuple[tuple[re.Pattern[str], str, bool], ...]] = {
    ("program",): ((_SCRIPT, "script", True), (_CLASS, "module", True)),
    ("train", "optimizer"): ((_WORD, "name", True),),
    ("train", "optimizer", "schedule"): ((_WORD, "name", True),),
    ("scheduling", "gang"): ((_GANG, "provider", True),),
    ("data",): ((_QUANTITY, "size", True), (_OBJECT_NAME, "claim", False)),
    ("log",): ((_QUANTITY, "size", True), (_OBJECT_NAME, "claim", False)),
}


# The same of values that are no texts.
_SHORT_OTHERS: Mapping[Pointer, tuple[type, str, bool]] = {
    ("data",): (bool, "enabled", True),
    ("train", "checkpoint"): (int, "seconds", False),
}


class Form(NamedTuple):
    """A value in the form that is needed, as data and as YAML. `safe`: nothing else is meant."""

    value: Any
    text: str
    safe: bool


def other_form(value: Any, path: Pointer, types: Set[str], node: Mapping[str, Any]) -> Form | None:
    """A value in place of a mapping or of a list of texts; None where it is not clear what for.

    `types` are those of the schema's `node`, all of it resolved.
    """
    if not isinstance(value, str):
        kind, key, safe = _SHORT_OTHERS.get(path, (str, "", False))
        is_short = type(value) is kind and "object" in types
        return Form({key: value}, f"{{{key}: {json.dumps(value)}}}", safe) if is_short else None
    if "object" in types:
        for form, key, safe in _SHORT.get(path, ()):
            if form.fullmatch(value):
                word, sure = _word(value, node.get("properties", {}).get(key, {}))
                return Form({key: word}, f"{{{key}: {unquoted(word)}}}", safe and sure)
    items = node.get("items", {})
    if "array" in types and value and "\n" not in value and _takes_text(items):
        parts, is_one = _split(value, path)
        words = [_word(one, items) for one in parts]
        sure = is_one and all(one for _, one in words)
        text = ", ".join(unquoted(word) for word, _ in words)
        return Form([word for word, _ in words], f"[{text}]", sure) if words else None
    return None


def may_be(
    value: Any, node: Mapping[str, Any], schema: Mapping[str, Any], path: Pointer, *, sure: bool
) -> bool:
    """Whether a value of this kind can be what the key at `path` says, by its schema's `node`.

    Of a key that is `sure` to be meant no more is asked than that it is a setting if it needs one.
    """
    types = types_of(node)
    if not types or value is None:
        return True
    if isinstance(value, dict):
        return "object" in types
    if sure:
        return True
    if isinstance(value, list):
        return "array" in types
    if isinstance(value, bool) and "enum" in node:
        return False
    if types != {"object"}:
        return True
    form = other_form(value, path, types, one_level(node, schema))
    return form is not None and form.safe


def _split(value: str, path: Pointer) -> tuple[list[str], bool]:
    """A text as the list that it stands for, and whether it surely is one item.

    `--steps 5 --name='a b'` of arguments, or `a, b` of other texts. Empty where it can't be told.
    """
    if path[-1:] != ("args",):
        parts = [one for one in re.split(r"[\s,]+", value) if one]
        return parts, parts == [value]
    if not re.search(r"[\s'\"]", value):
        return [value], True
    if "\\" in value:  # of a shell, or of the program?
        return [], False
    try:
        return shlex.split(value), False
    except ValueError:  # a quote that is not closed
        return [], False


def _takes_text(items: Mapping[str, Any]) -> bool:
    return "enum" in items or items.get("type") == "string"


def _word(value: str, node: Mapping[str, Any]) -> tuple[str, bool]:
    """The word of the schema that is meant, or the value itself."""
    words = node.get("enum", ())
    right = None if value in words else likely(value, words)
    return (right.word, right.sure) if right else (value, True)


def closest_number(path: Pointer, value: str, types: Set[str]) -> int | None:
    """The number that a text stands for: `10m` of seconds, `1,000` and `10k` of whole numbers."""
    if str(path[-1]).lower().endswith("seconds"):
        match = _DURATION.fullmatch(value)
        return int(match[1]) * _SECONDS[match[2][0]] if match and len(match[1]) < 10 else None
    if "integer" not in types:
        return None
    match = _THOUSANDS.fullmatch(value[:30])
    if not match:
        return None
    return int(match[1].replace(",", "")) if match[1] else int(match[2]) * _TIMES[match[3]]


def _closest_amount(value: str) -> str:
    """An amount of bytes with Kubernetes' letter: `4GB` is 4G; `4g`, as Docker has it, 4Gi."""
    match = _AMOUNT.fullmatch(value[:30])
    if not match:
        return ""
    number, letter, binary, bytes_ = match.groups()
    if letter.isupper() and bytes_ and not binary:
        return number + letter.replace("K", "k")
    return f"{number}{letter.upper()}i"


def closest_form(path: Pointer, value: str) -> str:
    """A text that is nearly in the form that its key needs, in that form; empty for none."""
    if TEMPLATE.search(value):
        return ""
    if path[-1:] and path[-1] in _BYTES:
        return _closest_amount(value)
    if path == ("name",):
        offer = "".join(c if c.isascii() and c.isalnum() else "-" for c in value.lower())
        return offer.lstrip("-0123456789").rstrip("-")
    if path == ("gpus", "vendor"):
        return _VENDORS.get(value.lower(), "")
    if path == ("program", "module"):
        package, dot, last = value.rpartition(".")
        return f"{package}:{last}" if dot and last[:1].isupper() and ":" not in value else ""
    return ""
