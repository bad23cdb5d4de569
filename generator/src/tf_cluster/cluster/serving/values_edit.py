"""Edits a values file as a person would: two keys of one model, and not a byte beside them.

The file is read twice: for what it says, and for where each thing stands. After an edit it is read
again, and has to say what was wished and all the rest as before; else it is refused, untouched.
"""

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from tf_cluster.cluster.serving.promotion import Wanted
from tf_cluster.cluster.serving.servers import CHART_NAME, ON_CLAIMS, Model
from tf_cluster.cluster.serving.values import place_in_values
from tf_cluster.exits import RefusedError
from tf_cluster.yaml.reader import read_document
from tf_cluster.yaml.writer import yaml_text

_LABELS, _POLICY, _SPECIFIC = "labels", "policy", "specific"


def model_in(file: str, raw: bytes, name: str) -> Model:
    """A model as a values file has it. Raises RefusedError where it does not."""
    model = _model_values(file, _read(file, raw), name)
    source = model.get("source") or {}
    kind = next(iter(source), "")
    claim, path = place_in_values(source) if kind in ON_CLAIMS else ("", "")
    labels = model.get(_LABELS) or {}
    try:
        return Model(
            name=name,
            kind=kind,
            claim=claim,
            path=path,
            policy={key: one for key, one in (model.get(_POLICY) or {}).items() if one},
            labels={str(label): int(version) for label, version in labels.items()},
        )
    except (AttributeError, TypeError, ValueError):
        raise RefusedError(
            f"{file}: policy or labels of {name} are not as the chart has them"
        ) from None


def edited(file: str, raw: bytes, name: str, wanted: Wanted) -> str:
    """The text with other versions of a model. Raises RefusedError where it can't be done well."""
    before = _read(file, raw)
    wish = copy.deepcopy(before)
    model = _model_values(file, wish, name)
    if _as_wanted(model) == wanted:
        return raw.decode()
    model[_POLICY] = dict(wanted.policy)
    model[_LABELS] = dict(wanted.labels)
    if not wanted.labels:
        del model[_LABELS]
    text = raw.decode()
    is_crlf = 0 < text.count("\n") == text.count("\r\n")
    text = text.replace("\r\n", "\n") if is_crlf else text
    path = _path_to(before, name)
    text = _with_value(text, (*path, _POLICY), dict(wanted.policy))
    text = _with_labels(text, path, wanted.labels)
    try:
        again = _read(file, text.encode())
    except RefusedError:
        again = {}
    if again != wish:
        raise RefusedError(
            f"{file}: {name} is written in a way that can't be edited so that the rest stays as it "
            f"is. By hand it is: policy: {_flow(wanted.policy)}, labels: {_flow(wanted.labels)}"
        )
    return text.replace("\n", "\r\n") if is_crlf else text


def _as_wanted(model: Mapping[str, Any]) -> Wanted:
    policy = {key: one for key, one in (model.get(_POLICY) or {}).items() if one}
    return Wanted(policy, dict(model.get(_LABELS) or {}))


def _read(file: str, raw: bytes) -> dict[str, Any]:
    document = read_document(file, raw)
    if document.findings:
        first = document.findings[0]
        raise RefusedError(f"{file}:{first.place.line}:{first.place.column}: {first.words}")
    return document.data


def _path_to(data: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Where the model stands: in this chart's own values, or in those of an umbrella chart."""
    for start in ((), (CHART_NAME,)):
        at: Any = data
        for key in start:
            at = at.get(key) or {}
        models = at.get("models") if isinstance(at, Mapping) else None
        if isinstance(models, Mapping) and name in models:
            return (*start, "models", name)
    return ()


def _model_values(file: str, data: dict[str, Any], name: str) -> dict[str, Any]:
    at: Any = data
    path = _path_to(data, name)
    for key in path:
        at = at[key]
    if not path or not isinstance(at, dict):
        raise RefusedError(f"{file} has no model {name}: it belongs below `models:`")
    return at


# Where things stand. Offsets are of characters, as PyYAML's own reader counts them.


@dataclass(frozen=True)
class _Pair:
    """A key of a mapping and its value; `end` is where the value's own text ends."""

    key: yaml.ScalarNode
    value: yaml.Node

    @property
    def start(self) -> int:
        return int(self.key.start_mark.index)

    @property
    def end(self) -> int:
        return _end(self.value)


def _end(node: yaml.Node) -> int:
    """Where the text of a node ends: PyYAML ends a block where the next token begins."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style:
        inner = [each for part in node.value for each in _nodes(part)]
        return max(map(_end, inner), default=int(node.start_mark.index))
    return int(node.end_mark.index)


def _nodes(part: Any) -> tuple[yaml.Node, ...]:
    return part if isinstance(part, tuple) else (part,)


def _root(text: str) -> yaml.Node:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        raise RefusedError("the file is empty")
    return root


def _pairs(node: yaml.Node) -> Iterator[_Pair]:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            yield _Pair(key, value)


def _find(node: yaml.Node, path: tuple[str, ...]) -> _Pair | None:
    """The pair at a path of keys."""
    found: _Pair | None = None
    for key in path:
        found = next((one for one in _pairs(node) if one.key.value == key), None)
        if found is None:
            return None
        node = found.value
    return found


def _with_value(text: str, path: tuple[str, ...], value: Mapping[str, Any]) -> str:
    """The text with a mapping of one key at a path: the least that has to change for it."""
    pair = _find(_root(text), path)
    if pair is None:
        return _with_pair(text, path[:-1], path[-1], _flow(value))
    ((key, one),) = value.items()
    inner = list(_pairs(pair.value))
    same = next((each for each in inner if each.key.value == key), None)
    others = [each for each in inner if each is not same]
    if same is not None and not others:
        return _replaced(text, same.value, _flow(one))
    if len(inner) == 1:
        return f"{text[: inner[0].start]}{key}: {_flow(one)}{text[inner[0].end :]}"
    return _replaced(text, pair.value, _flow(value))


def _with_labels(text: str, path: tuple[str, ...], labels: Mapping[str, int]) -> str:
    """The text with these labels: numbers are changed where they stand, keys added and removed."""
    where = (*path, _LABELS)
    pair = _find(_root(text), where)
    if not labels:
        return text if pair is None else _without(text, path, _LABELS)
    if pair is None or not list(_pairs(pair.value)):
        if pair is None:
            return _with_pair(text, path, _LABELS, _flow(labels))
        return _replaced(text, pair.value, _flow(labels))
    for label, version in labels.items():
        there = _find(_root(text), (*where, label))
        if there is None:
            text = _with_pair(text, where, label, str(version))
        elif there.value.value != str(version):
            text = _replaced(text, there.value, str(version))
    pair = _find(_root(text), where)
    assert pair is not None
    for one in list(_pairs(pair.value)):
        if one.key.value not in labels:
            text = _without(text, where, one.key.value)
    return text


def _replaced(text: str, node: yaml.Node, value: str) -> str:
    start, end = int(node.start_mark.index), _end(node)
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        # A block begins on a line of its own: its value stands behind the key instead.
        start = _behind_colon(text, start)
        return f"{text[:start]} {value}{text[end:]}"
    blank = " " if start == end and text[start - 1 : start] == ":" else ""
    return f"{text[:start]}{blank}{value}{text[end:]}"


def _behind_colon(text: str, start: int) -> int:
    """The place behind the colon of the key before; comments between stay out of it."""
    before = text[:start].rstrip(" \n")
    return len(before) if before.endswith(":") else start


def _with_pair(text: str, path: tuple[str, ...], key: str, value: str) -> str:
    """The text with one more key at the end of a mapping."""
    pair = _find(_root(text), path)
    if pair is None or not isinstance(pair.value, yaml.MappingNode):
        return text
    node, inner = pair.value, list(_pairs(pair.value))
    if node.flow_style:
        last = inner[-1].end if inner else int(node.start_mark.index) + 1
        comma = ", " if inner else ""
        return f"{text[:last]}{comma}{_key(key)}: {value}{text[last:]}"
    if not inner:
        return text
    at = text.find("\n", inner[-1].end)
    at = len(text) if at < 0 else at
    indent = " " * int(inner[0].key.start_mark.column)
    return f"{text[:at]}\n{indent}{_key(key)}: {value}{text[at:]}"


def _without(text: str, path: tuple[str, ...], key: str) -> str:
    """The text without a key of a mapping, and what stands behind it on its line."""
    pair = _find(_root(text), path)
    if pair is None:
        return text
    inner = list(_pairs(pair.value))
    (number,) = (index for index, one in enumerate(inner) if one.key.value == key)
    one = inner[number]
    if isinstance(pair.value, yaml.MappingNode) and pair.value.flow_style:
        if number + 1 < len(inner):
            return text[: one.start] + text[inner[number + 1].start :]
        start = inner[number - 1].end if number else one.start
        return text[:start] + text[one.end :]
    start = text.rfind("\n", 0, one.start) + 1
    end = text.find("\n", one.end)
    return text[:start] + ("" if end < 0 else text[end + 1 :])


def _flow(value: Any) -> str:
    """A value in one line: `{specific: [3, 4]}`."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {_flow(one)}" for key, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return yaml_text(value).removesuffix("...\n").strip()


def _key(key: str) -> str:
    return yaml_text(key).removesuffix("...\n").strip()
