"""Reads YAML as Helm reads values files, and records the place of every value.

Findings are on what readers disagree on, and on what Helm drops silently.
"""

import re
import unicodedata
from itertools import takewhile
from typing import Any

import yaml

from tf_cluster.findings.finding import MOST_FINDINGS, Code, Finding, Place, Repair
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut
from tf_cluster.yaml.document import START, Document, Spot
from tf_cluster.yaml.helm_scalars import AMBIGUOUS, in_quotes, quoted, scalar
from tf_cluster.yaml.syntax_errors import TEMPLATE_FIX, YAML_SYNTAX, is_template, syntax_finding

NOT_TEXT = Code(
    "TFC101",
    "the file is not UTF-8 text",
    why=(
        "An editor, Git and Helm would each read another text, and a reviewer could not see "
        "what is set."
    ),
    wrong="flags: {title: dig\x1bits}",
    right="flags: {title: digits}",
)
EMPTY = Code(
    "TFC103",
    "the file is empty",
    why="A training needs at least a name and a program.",
    wrong="# to be written",
    right=(
        "name: digits\n"
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}"
    ),
)
NOT_A_MAPPING = Code(
    "TFC104",
    "the file is not a mapping",
    why=(
        "A params file is keys with values. A list or a single text says of no value what it "
        "is for."
    ),
    wrong="- name: digits",
    right=(
        "name: digits\n"
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}"
    ),
)
DUPLICATE_KEY = Code(
    "TFC105",
    "a key stands twice in one mapping",
    why=(
        "YAML readers keep the first or the last of two equal keys and drop the other one "
        "without a word."
    ),
    wrong=("train: {steps: 2000}\ntrain: {seed: 1}"),
    right="train: {steps: 2000, seed: 1}",
)
UNSUPPORTED_YAML = Code(
    "TFC108",
    "a YAML feature that values files do not use",
    why=(
        "Helm resolves tags, merge keys and further documents in its own way or drops them, "
        "so the values would not be what the file shows."
    ),
    wrong="flags: {<<: {units: 64}}",
    right="flags: {units: 64}",
)

MAX_BYTES = 1_000_000
"""Of a longer file the rest is not read."""
MAX_CHARACTERS = 1_000_000
"""Of all keys and values, each alias counted where it is used."""
LONGEST_KEY = 1_000
"""Kubernetes' longest keys have 317. Every finding repeats the keys around it."""
MAX_DEPTH = 40
MAX_VALUES = 50_000
MAX_TAG_DIRECTIVES = 16
"""No tag is taken but one, and libyaml compares each of these with each."""
_TAG_DIRECTIVE = re.compile(r"^%TAG\b", re.MULTILINE)

# Control characters; line breaks that only YAML sees (a lone carriage return, U+0085, U+2028,
# U+2029); and characters that display a line in another order.
_REFUSED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]|\r(?!\n)"
)
_BREAKS = "\r\x85\u2028\u2029"


def read_document(file: str, raw: bytes) -> Document:
    """Read one params file; `file` is its name in findings. Never raises for bad input."""
    if len(raw) > MAX_BYTES:
        message = f"a params file has at most {MAX_BYTES} bytes, and this has more"
        return _unreadable(file, START, UNSUPPORTED_YAML, message)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        place = Place(before.count(b"\n") + 1, error.start - (before.rfind(b"\n") + 1) + 1)
        message = f"byte 0x{raw[error.start]:02x} is not UTF-8 text"
        return _unreadable(file, place, NOT_TEXT, message, "save the file as UTF-8")
    refused = _REFUSED.search(text)
    if refused:
        return _refused(file, text, refused)
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
    return _unreadable(file, place, NOT_TEXT, message, fix)


def _read_text(file: str, text: str) -> Document:
    try:
        _refuse_shape(file, text)
        root = yaml.compose(text, Loader=NodeLoader)
    except _UnreadableError as unreadable:
        return Document(file, findings=(unreadable.finding,))
    except yaml.MarkedYAMLError as error:
        return Document(file, findings=(syntax_finding(file, text, error),))
    except yaml.YAMLError as error:
        return _unreadable(file, START, YAML_SYNTAX, f"not YAML: {error}")
    if root is None or (isinstance(root, yaml.ScalarNode) and not root.value):
        message = "the file is empty"
        return _unreadable(file, START, EMPTY, message, "`tf-cluster init` writes a start")
    if not isinstance(root, yaml.MappingNode):
        kind = "a list" if isinstance(root, yaml.SequenceNode) else "one value"
        message = f"the file holds {kind}, not a mapping of keys to values"
        return _unreadable(file, _start(root), NOT_A_MAPPING, message, "start with `name: …`")
    reader = _Reader(file)
    data = reader.value((), root, _start(root), ())
    if data is None or reader.is_full:  # refused as a whole: a tag, for one
        return Document(file, findings=tuple(reader.findings))
    return Document(file, data, reader.spots, tuple(reader.findings))


class NodeLoader(yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader):  # type: ignore[misc]
    """Leaves the typing of scalars to `scalar`: tags say only plain or quoted."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:
        """Tag a node that carries no tag of its own."""
        if kind is yaml.ScalarNode:
            return "plain" if implicit[0] else "quoted"
        return "collection"


class _UnreadableError(Exception):
    def __init__(self, finding: Finding) -> None:
        self.finding = finding


def _refuse_shape(file: str, text: str) -> None:
    """Check depth and size before composing, which recurses and takes memory.

    Also refuse a second document.
    """
    for number, directive in enumerate(_TAG_DIRECTIVE.finditer(text), start=1):
        if number > MAX_TAG_DIRECTIVES:
            message = f"more than {MAX_TAG_DIRECTIVES} %TAG directives"
            place = _place_at(text, directive.start())
            raise _UnreadableError(Finding(file, place, UNSUPPORTED_YAML, message))
    depth = documents = nodes = 0
    for event in yaml.parse(text, Loader=NodeLoader):
        nodes += isinstance(event, yaml.NodeEvent)
        if nodes > 2 * MAX_VALUES:  # a value has a key at most
            message = f"more than {MAX_VALUES} values"
            raise _UnreadableError(Finding(file, _start(event), UNSUPPORTED_YAML, message))
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                message = "a second YAML document starts here (---): a params file holds one"
                raise _UnreadableError(Finding(file, _start(event), UNSUPPORTED_YAML, message))
        elif isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                message = f"nested more than {MAX_DEPTH} levels deep"
                raise _UnreadableError(Finding(file, _start(event), UNSUPPORTED_YAML, message))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1


class _Reader:
    """Turns nodes into typed values, and records spots and findings."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.spots: dict[Pointer, Spot] = {}
        self.findings: list[Finding] = []
        self._seen = self._characters = 0

    def value(self, path: Pointer, node: yaml.Node, key: Place, around: tuple[int, ...]) -> Any:
        """Read the node at `path`; `around` are the ids of the collections it stands in."""
        plain = node.value if _is_plain(node) else None
        self.spots[path] = Spot(key, _start(node), plain)
        if self._has_too_much(path, node):
            return None
        if id(node) in around:
            self._report(path, node, UNSUPPORTED_YAML, "an alias that contains itself")
            return None
        if node.tag not in ("plain", "quoted", "collection", "tag:yaml.org,2002:str"):
            message = f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} is not supported"
            self._report(path, node, UNSUPPORTED_YAML, message, fix="leave it out")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(path, node, (*around, id(node)))
        if not isinstance(node, yaml.ScalarNode):
            inside = (*around, id(node))
            items = takewhile(lambda _: not self.is_full, enumerate(node.value))
            return [self.value((*path, i), item, _start(item), inside) for i, item in items]
        return self._scalar(path, node)

    def _has_too_much(self, path: Pointer, node: yaml.Node) -> bool:
        """Whether a limit is passed. Aliased values count at each use: they add up fast."""
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
            self._report(path, node, UNSUPPORTED_YAML, message)
        return self.is_full

    @property
    def is_full(self) -> bool:
        """Whether the file has more than is read."""
        return (
            self._seen > MAX_VALUES
            or self._characters > MAX_CHARACTERS
            or len(self.findings) > MOST_FINDINGS
        )

    def _mapping(self, path: Pointer, node: yaml.MappingNode, around: tuple[int, ...]) -> Any:
        data: dict[str, Any] = {}
        for key_node, value_node in node.value:
            if self.is_full:
                break
            key = self._key(path, key_node)
            if key is None:
                continue
            self._characters += len(key)
            if key in data:
                first = self.spots[path + (key,)].key  # noqa: RUF005
                message = f"the key '{cut(key)}' stands twice, first on line {first.line}"
                self._report((*path, key), key_node, DUPLICATE_KEY, message, fix="keep one of them")
                continue
            data[key] = self.value((*path, key), value_node, _start(key_node), around)
        return data

    def _key(self, path: Pointer, node: yaml.Node) -> str | None:
        if not isinstance(node, yaml.ScalarNode):
            fix = TEMPLATE_FIX if is_template(node) else ""
            self._report(path, node, UNSUPPORTED_YAML, "a key has to be a text", fix=fix)
            return None
        if len(node.value) > LONGEST_KEY:
            message = f"a key of {len(node.value)} characters: it has at most {LONGEST_KEY}"
            self._report(path, node, UNSUPPORTED_YAML, message)
            return None
        if _is_plain(node):
            if node.value == "<<":
                message = "merge keys (<<) are not supported"
                self._report(path, node, UNSUPPORTED_YAML, message, fix="write the keys out")
                return None
            typed = scalar(node.value)
            if not isinstance(typed.value, str) or typed.code:
                message = f"the key {cut(node.value) or '(empty)'} is not read as text by Helm"
                fix = f"write it in quotes: {quoted(node.value)}"
                repair = Repair(in_quotes(node.value), safe=True, at_key=True)
                where = (*path, node.value)
                self._report(where, node, AMBIGUOUS, message, fix=fix, repair=repair)
        return str(node.value)

    def _scalar(self, path: Pointer, node: yaml.ScalarNode) -> Any:
        if not _is_plain(node):
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
        code: Code,
        message: str,
        *,
        value: Any = None,
        fix: str = "",
        repair: Repair | None = None,
    ) -> None:
        found = Finding(self.file, _start(node), code, message, path, value, fix, repair=repair)
        self.findings.append(found)


def _unreadable(file: str, place: Place, code: Code, message: str, fix: str = "") -> Document:
    return Document(file, findings=(Finding(file, place, code, message, fix=fix),))


def _place_at(text: str, offset: int) -> Place:
    return Place(text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def _is_plain(node: yaml.Node) -> bool:
    """Whether a node has no quotes; `!!str` stands for them."""
    tagged = node.tag == "tag:yaml.org,2002:str"
    return isinstance(node, yaml.ScalarNode) and not node.style and not tagged


def _start(node: Any) -> Place:
    return Place(node.start_mark.line + 1, node.start_mark.column + 1)
