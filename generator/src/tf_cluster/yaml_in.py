"""Reads YAML the way Helm reads values files, and remembers where everything stands.

Helm's reader (go.yaml.in/yaml/v2 below sigs.k8s.io/yaml) differs from PyYAML: `1e-4` is a number,
`1:30` and `2024-01-01` are strings, `y` is true. Here scalars are typed by its rules, and what
readers disagree on, or what Helm drops without a word, is a finding.
"""

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from tf_cluster import codes
from tf_cluster.finding import Finding, Place
from tf_cluster.pointer import Pointer, dotted

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 40
MAX_VALUES = 100_000
LARGEST_EXACT = 2**53
"""Helm carries numbers as float64: whole numbers beyond this lose digits."""

START = Place(1, 1)


class Spot(NamedTuple):
    """Where a value stands, and its key (the value itself for the root and for list items)."""

    key: Place
    value: Place


@dataclass(frozen=True)
class Document:
    """A params file as read. `data` is empty when the file could not be read as a mapping."""

    file: str
    data: dict[str, Any] = field(default_factory=dict)
    spots: dict[Pointer, Spot] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()

    @property
    def readable(self) -> bool:
        """Whether there is a mapping to look at."""
        return () in self.spots

    def spot(self, path: Pointer) -> Spot:
        """Where `path` stands; for what does not stand there, the nearest mapping around it."""
        while path not in self.spots and path:
            path = path[:-1]
        return self.spots.get(path, Spot(START, START))


def read_document(file: str, raw: bytes) -> Document:
    """Read one params file; `file` is its name in findings. Never raises for bad input."""
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1)
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8 text"
        return _unreadable(file, place, codes.NOT_TEXT, message, "save the file as UTF-8")
    control = re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]", text)
    if control:
        place = _place_at(text, control.start())
        message = f"control character U+{ord(control.group()):04X}: this is not a text file"
        return _unreadable(file, place, codes.NOT_TEXT, message)
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text)} characters: a params file has at most {MAX_CHARACTERS}"
        return _unreadable(file, START, codes.UNSUPPORTED_YAML, message)
    return _read_text(file, text)


def _read_text(file: str, text: str) -> Document:
    try:
        _refuse_depth(file, text)
        root = yaml.compose(text, Loader=_Loader)
    except _UnreadableError as unreadable:
        return Document(file, findings=(unreadable.finding,))
    except yaml.MarkedYAMLError as error:
        return Document(file, findings=(_syntax_finding(file, text, error),))
    except yaml.YAMLError as error:
        return _unreadable(file, START, codes.YAML_SYNTAX, f"not YAML: {error}")
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        message = "the file is empty"
        return _unreadable(file, START, codes.EMPTY, message, "`tf-cluster init` writes a start")
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "one value"
        message = f"the file holds {kind}, not a mapping of keys to values"
        return _unreadable(file, _start(root), codes.NOT_A_MAPPING, message, "start with `name: …`")
    reader = _Reader(file)
    data = reader.value((), root, _start(root), ())
    if data is None:  # refused as a whole: a tag, for one
        return Document(file, findings=tuple(reader.findings))
    return Document(file, data, reader.spots, tuple(reader.findings))


class _Loader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Leaves the typing of scalars to `scalar`: tags say only plain or quoted."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Tag a node that carries no tag of its own."""
        if kind is yaml.ScalarNode:
            return "plain" if implicit[0] else "quoted"
        return "collection"


class _UnreadableError(Exception):
    def __init__(self, finding: Finding) -> None:
        self.finding = finding


def _refuse_depth(file: str, text: str) -> None:
    """Composing recurses, so depth is bounded first; a second document is refused here too."""
    depth = documents = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                message = "a second YAML document starts here (---): a params file holds one"
                raise _UnreadableError(
                    Finding(file, _start(event), codes.UNSUPPORTED_YAML, message)
                )
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                message = f"nested more than {MAX_DEPTH} levels deep"
                raise _UnreadableError(
                    Finding(file, _start(event), codes.UNSUPPORTED_YAML, message)
                )
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Turns nodes into typed values, noting spots and findings on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.spots: dict[Pointer, Spot] = {}
        self.findings: list[Finding] = []
        self._seen = 0

    def value(self, path: Pointer, node: yaml.Node, key: Place, around: tuple[int, ...]) -> Any:
        """Read the node at `path`; `around` are the ids of the collections it stands in."""
        self.spots[path] = Spot(key, _start(node))
        self._seen += 1
        if self._seen > MAX_VALUES:
            if self._seen == MAX_VALUES + 1:
                message = f"more than {MAX_VALUES} values (aliases counted where they are used)"
                self._report(path, node, codes.UNSUPPORTED_YAML, message)
            return None
        if id(node) in around:
            self._report(path, node, codes.UNSUPPORTED_YAML, "an alias that contains itself")
            return None
        if node.tag not in ("plain", "quoted", "collection", "tag:yaml.org,2002:str"):
            message = f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not supported"
            self._report(path, node, codes.UNSUPPORTED_YAML, message, fix="leave it out")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._mapping(path, node, (*around, id(node)))
        if not isinstance(node, yaml.ScalarNode):
            inside = (*around, id(node))
            return [
                self.value((*path, index), item, _start(item), inside)
                for index, item in enumerate(node.value)
            ]
        return self._scalar(path, node)

    def _mapping(self, path: Pointer, node: yaml.MappingNode, around: tuple[int, ...]) -> Any:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(path, key_node)
            if key is None:
                continue
            if key in data:
                first = self.spots[path + (key,)].key  # noqa: RUF005
                message = f"the key '{key}' stands twice, first on line {first.line}"
                self._report(
                    (*path, key), key_node, codes.DUPLICATE_KEY, message, fix="keep one of them"
                )
                continue
            data[key] = self.value((*path, key), value_node, _start(key_node), around)
        return data

    def _key(self, path: Pointer, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            self._report(path, node, codes.UNSUPPORTED_YAML, "a key has to be a text")
            return None
        if node.tag == "plain":
            if node.value == "<<":
                message = "merge keys (<<) are not supported"
                self._report(path, node, codes.UNSUPPORTED_YAML, message, fix="write the keys out")
                return None
            typed = scalar(node.value)
            if not isinstance(typed.value, str) or typed.code:
                message = f"the key {node.value or '(empty)'} is not read as text by Helm"
                fix = f"write it in quotes: '{node.value}'"
                self._report((*path, node.value), node, codes.AMBIGUOUS, message, fix=fix)
                return None
        return str(node.value)

    def _scalar(self, path: Pointer, node: yaml.ScalarNode) -> Any:
        if node.tag != "plain":
            return str(node.value)
        typed = scalar(node.value)
        if typed.code:
            message = f"{dotted(path)} is {node.value}: {typed.problem}"
            self._report(path, node, typed.code, message, value=node.value, fix=typed.fix)
        return typed.value

    def _report(
        self,
        path: Pointer,
        node: yaml.Node,
        code: str,
        message: str,
        *,
        value: Any = None,
        fix: str = "",
    ) -> None:
        self.findings.append(Finding(self.file, _start(node), code, message, path, value, fix))


class Scalar(NamedTuple):
    """A plain scalar as Helm types it, and what is wrong with writing it so (if `code`)."""

    value: str | int | float | bool | None
    code: str = ""
    problem: str = ""
    fix: str = ""


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_YES = {"y", "Y", "yes", "Yes", "YES", "on", "On", "ON"}
_NO = {"n", "N", "no", "No", "NO", "off", "Off", "OFF"}
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_INTEGER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_FRACTION = re.compile(r"\.[0-9](_?[0-9])*([eE][-+]?[0-9](_?[0-9])*)?")
_LEADING_ZERO = re.compile(r"[-+]?0[0-9oO].*")  # 017 is 15, 0o17 is 15, 08 is 8


def scalar(text: str) -> Scalar:
    """Type a plain scalar as Helm does; whole floats are integers, as Helm's JSON has them."""
    if text in _WORDS:
        return Scalar(_WORDS[text])
    if text in _YES or text in _NO:
        word = "true" if text in _YES else "false"
        fix = f"write {word}, or '{text}' in quotes for the text"
        return Scalar(text in _YES, codes.AMBIGUOUS, "Helm reads it as " + word, fix)
    if _NOT_FINITE.fullmatch(text):
        return Scalar(None, codes.NOT_FINITE, "values files can't hold it", "write a number")
    if text[0] in "+-.0123456789":
        return _number(text)
    return Scalar(text)


def _number(text: str) -> Scalar:
    if text.startswith(".") and not _FRACTION.fullmatch(text):
        return Scalar(text)
    plain = text.replace("_", "")
    number: int | float
    if _INTEGER.fullmatch(plain):
        number = _integer(plain)
    elif _FLOAT.fullmatch(plain):
        number = float(plain)
        if number in (float("inf"), float("-inf")):
            return Scalar(None, codes.NOT_FINITE, "too large for a number", "write a smaller one")
        if number.is_integer() and abs(number) <= LARGEST_EXACT:
            number = int(number)
    else:
        return Scalar(text)
    if _LEADING_ZERO.fullmatch(plain):
        fix = f"write {number}, or '{text}' in quotes for the text"
        return Scalar(number, codes.AMBIGUOUS, f"Helm reads it as {number}", fix)
    if isinstance(number, int) and abs(number) > LARGEST_EXACT:
        problem = "Helm keeps whole numbers exactly only up to 2^53"
        return Scalar(number, codes.TOO_LARGE_NUMBER, problem, "write it in quotes, as a text")
    return Scalar(number)


def _integer(plain: str) -> int:
    digits = plain.lstrip("+-")
    sign = -1 if plain.startswith("-") else 1
    if digits[:2].lower() in ("0x", "0b", "0o"):
        return sign * int(digits, 0)
    return sign * int(digits, 8 if len(digits) > 1 and digits[0] == "0" else 10)


def _syntax_finding(file: str, text: str, error: yaml.MarkedYAMLError) -> Finding:
    mark = error.problem_mark or error.context_mark
    place = Place(mark.line + 1, mark.column + 1) if mark else START
    problem = error.problem or "not YAML"
    message = f"not YAML: {error.context}: {problem}" if error.context else f"not YAML: {problem}"
    fix = ""
    lines = text.splitlines()
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    if "cannot start any token" in problem and "\t" in line[: place.column]:
        fix = "indent with spaces, not with tabs"
    elif "cannot start any token" in problem and line[place.column - 1 : place.column] in "@`%":
        fix = "put the text in quotes"
    elif "mapping values are not allowed" in problem:
        fix = "a text that contains ': ' needs quotes; keys of one mapping need one indentation"
    return Finding(file, place, codes.YAML_SYNTAX, message, fix=fix)


def _unreadable(file: str, place: Place, code: str, message: str, fix: str = "") -> Document:
    return Document(file, findings=(Finding(file, place, code, message, fix=fix),))


def _place_at(text: str, offset: int) -> Place:
    return Place(text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def _start(node: Any) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
