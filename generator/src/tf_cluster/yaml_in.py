"""Reads YAML the way Helm reads values files, and remembers where everything stands.

Helm's reader (go.yaml.in/yaml/v2 below sigs.k8s.io/yaml) differs from PyYAML: `1e-4` is a number,
`1:30` and `2024-01-01` are strings, `y` is true. Here scalars are typed by its rules, and what
readers disagree on, or what Helm drops without a word, is a finding.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from tf_cluster import codes
from tf_cluster.findings.finding import Finding, Place
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

MAX_CHARACTERS = 1_000_000
MAX_BYTES = 4 * MAX_CHARACTERS
"""A longer file has more characters; it need not be read to its end."""
LONGEST_KEY = 1_000
"""Kubernetes' longest have 317. Each finding has the keys around it."""
MAX_DEPTH = 40
MAX_VALUES = 100_000
LARGEST_EXACT = 2**53
"""Helm carries numbers as float64: whole numbers beyond this lose digits."""

START = Place(1, 1)

# What is no text, what breaks a line for YAML and for no editor or reviewer (a carriage return
# alone, U+0085, U+2028, U+2029), and what shows a line in another order than it is read in.
_REFUSED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]|\r(?!\n)"
)
_BREAKS = "\r\x85\u2028\u2029"


class Spot(NamedTuple):
    """Where a value stands, and its key (the value itself for the root and for list items).

    `plain` is the text of a scalar that has no quotes, as it is written.
    """

    key: Place
    value: Place
    plain: str | None = None


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
    if len(raw) > MAX_BYTES:
        message = f"more than {MAX_BYTES} bytes: a params file has at most {MAX_CHARACTERS}"
        return _unreadable(file, START, codes.UNSUPPORTED_YAML, message)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1)
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8 text"
        return _unreadable(file, place, codes.NOT_TEXT, message, "save the file as UTF-8")
    refused = _REFUSED.search(text)
    if refused:
        return _refused(file, text, refused)
    if len(text) > MAX_CHARACTERS:
        message = f"{len(text)} characters: a params file has at most {MAX_CHARACTERS}"
        return _unreadable(file, START, codes.UNSUPPORTED_YAML, message)
    return _read_text(file, text)


def _refused(file: str, text: str, match: re.Match[str]) -> Document:
    place = _place_at(text, match.start())
    character = match.group()
    name = f"U+{ord(character):04X}"
    if character in _BREAKS:
        message = f"{name} begins a new line for YAML, and for no editor or reviewer"
        fix = "end lines with \\n" if character == "\r" else ""
    elif unicodedata.category(character) == "Cf":
        message = f"{name} shows what follows in another order than it is read in"
        fix = ""
    else:
        message, fix = f"control character {name}: this is not a text file", "take it out"
    fix = fix or f'take it out; a text has it as "\\u{ord(character):04x}", in double quotes'
    return _unreadable(file, place, codes.NOT_TEXT, message, fix)


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
    if data is None or reader.is_full:  # refused as a whole: a tag, for one
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
        self._seen = self._characters = 0

    def value(self, path: Pointer, node: yaml.Node, key: Place, around: tuple[int, ...]) -> Any:
        """Read the node at `path`; `around` are the ids of the collections it stands in."""
        plain = node.value if node.tag == "plain" else None
        self.spots[path] = Spot(key, _start(node), plain)
        if self._has_too_much(path, node):
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

    def _has_too_much(self, path: Pointer, node: yaml.Node) -> bool:
        """Aliases make a small file large: values and characters count where they are used."""
        before = self.is_full
        self._seen += 1
        self._characters += len(node.value) if isinstance(node, yaml.ScalarNode) else 0
        if self.is_full and not before:
            what = (
                f"{MAX_VALUES} values"
                if self._seen > MAX_VALUES
                else f"{MAX_CHARACTERS} characters"
            )
            message = f"more than {what} (aliases counted where they are used)"
            self._report(path, node, codes.UNSUPPORTED_YAML, message)
        return self.is_full

    @property
    def is_full(self) -> bool:
        """Whether there is more in the file than is read."""
        return self._seen > MAX_VALUES or self._characters > MAX_CHARACTERS

    def _mapping(self, path: Pointer, node: yaml.MappingNode, around: tuple[int, ...]) -> Any:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(path, key_node)
            if key is None:
                continue
            self._characters += len(key)
            if key in data:
                first = self.spots[path + (key,)].key  # noqa: RUF005
                message = f"the key '{cut(key)}' stands twice, first on line {first.line}"
                self._report(
                    (*path, key), key_node, codes.DUPLICATE_KEY, message, fix="keep one of them"
                )
                continue
            data[key] = self.value((*path, key), value_node, _start(key_node), around)
        return data

    def _key(self, path: Pointer, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            fix = _TEMPLATE_FIX if _is_template(node) else ""
            self._report(path, node, codes.UNSUPPORTED_YAML, "a key has to be a text", fix=fix)
            return None
        if len(node.value) > LONGEST_KEY:
            message = f"a key of {len(node.value)} characters: it has at most {LONGEST_KEY}"
            self._report(path, node, codes.UNSUPPORTED_YAML, message)
            return None
        if node.tag == "plain":
            if node.value == "<<":
                message = "merge keys (<<) are not supported"
                self._report(path, node, codes.UNSUPPORTED_YAML, message, fix="write the keys out")
                return None
            typed = scalar(node.value)
            if not isinstance(typed.value, str) or typed.code:
                message = f"the key {cut(node.value) or '(empty)'} is not read as text by Helm"
                fix = f"write it in quotes: {quoted(node.value)}"
                self._report((*path, node.value), node, codes.AMBIGUOUS, message, fix=fix)
                return None
        return str(node.value)

    def _scalar(self, path: Pointer, node: yaml.ScalarNode) -> Any:
        if node.tag != "plain":
            return str(node.value)
        typed = scalar(node.value)
        if typed.code:
            message = f"{dotted(path)} is {cut(node.value)}: {typed.problem}"
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
    """A plain scalar as Helm types it, and what is wrong with writing it so (if `code`).

    `meant` says what to write for that value; empty where there is nothing to write for it.
    """

    value: str | int | float | bool | None
    code: str = ""
    problem: str = ""
    meant: str = ""
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
_MOST_DIGITS = 300  # more than any number has that a float holds; Python stops at 4,300
_LONGEST_QUOTED = 100
_LEADING_ZERO = re.compile(r"[-+]?0[0-9oO].*")  # 017 is 15, 0o17 is 15, 08 is 8


def scalar(text: str) -> Scalar:
    """Type a plain scalar as Helm does; whole floats are integers, as Helm's JSON has them."""
    if text in _WORDS:
        return Scalar(_WORDS[text])
    if text in _YES or text in _NO:
        word = "true" if text in _YES else "false"
        return _ambiguous(text in _YES, word, text)
    if _NOT_FINITE.fullmatch(text):
        return _not_finite("values files can't hold it", "write a number")
    if text[0] in "+-.0123456789":
        return _number(text)
    return Scalar(text)


def quoted(text: str) -> str:
    """A text of one line as YAML has it in quotes."""
    return "'" + text.replace("'", "''") + "'" if len(text) <= _LONGEST_QUOTED else "'…'"


def _number(text: str) -> Scalar:
    if text.startswith(".") and not _FRACTION.fullmatch(text):
        return Scalar(text)
    plain = text.replace("_", "")
    number: int | float
    if _INTEGER.fullmatch(plain):
        if len(plain) > _MOST_DIGITS:
            return _not_finite("too large for a number", "write a smaller one")
        number = _integer(plain)
    elif _FLOAT.fullmatch(plain):
        number = float(plain)
        if number in (float("inf"), float("-inf")):
            return _not_finite("too large for a number", "write a smaller one")
        if number.is_integer() and abs(number) <= LARGEST_EXACT:
            number = int(number)
    else:
        return Scalar(text)
    if _LEADING_ZERO.fullmatch(plain):
        return _ambiguous(number, str(number), text)
    if isinstance(number, int) and abs(number) > LARGEST_EXACT:
        problem = "Helm keeps whole numbers exactly only up to 2^53"
        meant, fix = "write a smaller one", "write it in quotes, as a text"
        return Scalar(number, codes.TOO_LARGE_NUMBER, problem, meant, fix)
    return Scalar(number)


def _ambiguous(value: float | bool, word: str, text: str) -> Scalar:
    meant = f"write {word}"
    fix = f"{meant}, or {quoted(text)} in quotes for the text"
    return Scalar(value, codes.AMBIGUOUS, "Helm reads it as " + word, meant, fix)


def _not_finite(problem: str, fix: str) -> Scalar:
    return Scalar(None, codes.NOT_FINITE, problem, fix, fix)


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
    lines = text.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    template = next(_templates(lines), None)
    if template:
        message, fix, place = "not YAML, but a template of it", _TEMPLATE_FIX, template
    elif "invalid Unicode character escape" in problem:
        fix = "write the character itself: YAML has no surrogate pairs, unlike JSON"
    elif "cannot start any token" in problem and "\t" in line[: place.column]:
        fix = "indent with spaces, not with tabs"
    elif "cannot start any token" in problem and line[place.column - 1 : place.column] in "@`%":
        fix = "put the text in quotes"
    elif "mapping values are not allowed" in problem:
        fix = "a text that contains ': ' needs quotes; keys of one mapping need one indentation"
    return Finding(file, place, codes.YAML_SYNTAX, message, fix=fix)


_TEMPLATE = re.compile(r"(?:[^#'\"]*?[:,\[-] )? *(\{\{)")
"""`{{` where a key or a value begins: in a text it is a text."""
_TEMPLATE_FIX = "{{ … }} is a template: render it first"


def _templates(lines: list[str]) -> Iterator[Place]:
    for number, line in enumerate(lines, 1):
        match = _TEMPLATE.match(line)
        if match and "}}" in line[match.end() :]:
            yield Place(number, match.start(1) + 1)


def _is_template(key: yaml.Node) -> bool:
    """`{{ name }}` is YAML: a mapping whose key is a mapping, in braces both."""
    return isinstance(key, yaml.MappingNode) and bool(key.flow_style)


def _unreadable(file: str, place: Place, code: str, message: str, fix: str = "") -> Document:
    return Document(file, findings=(Finding(file, place, code, message, fix=fix),))


def _place_at(text: str, offset: int) -> Place:
    return Place(text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def _start(node: Any) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
