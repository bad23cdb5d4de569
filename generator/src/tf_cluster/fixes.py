"""Applies the repairs of findings to the text of a params file: its comments and layout stay."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import yaml

from tf_cluster.check import BugError, Checked, check
from tf_cluster.findings.finding import Finding
from tf_cluster.params.ignores import IGNORES_NOTHING
from tf_cluster.pointer import Pointer
from tf_cluster.yaml.helm_scalars import unquoted
from tf_cluster.yaml.reader import DUPLICATE_KEY, NodeLoader

_ANCHOR = re.compile(r"^&\S+\s+")
_TAG = re.compile(r"!\S*\s+")
_BLOCK = re.compile(r"[|>][-+0-9]*[ \t]*(#[^\r\n]*)?\r?\n")
"""The first line of a block of text, with its comment."""
_MOST_ROUNDS = 5
"""Repairs that would touch each other are made one after the other."""
_MOST_CERTAIN = 1_000
"""With more findings or values, not all that is wrong was looked for (mend.py, check.py)."""


@dataclass(frozen=True)
class Fixed:
    """A file with repairs made: its new bytes, what was repaired, and what is still wrong."""

    raw: bytes
    repaired: tuple[Finding, ...]
    left: Checked


def repairable(findings: Iterable[Finding], *, unsafe: bool) -> list[Finding]:
    """The findings that have a repair: a safe one, or with `unsafe` any.

    A key that stands twice is left as it is: it is not clear which one goes.
    """
    listed = list(findings)
    twice = {one.pointer for one in listed if one.code == DUPLICATE_KEY}
    return [
        one
        for one in listed
        if one.repair and (unsafe or one.repair.safe)
        if not (one.repair.at_key and one.pointer in twice)
    ]


def fixed(file: str, raw: bytes, *, unsafe: bool = False, folder: Path | None = None) -> Fixed:
    """Repair what can be repaired in a params file, and check it again.

    Nothing that was right becomes wrong, and no value changes. Raises BugError where it would.
    """
    before = left = check(file, raw, folder=folder)
    repaired: list[Finding] = []
    for _ in range(_MOST_ROUNDS if before.document.readable else 0):
        new, done = _with_repairs(raw, repairable(left.findings, unsafe=unsafe))
        if not done:
            break
        raw, left = new, check(file, new, folder=folder)
        repaired += done
        _refuse_new(before, repaired, left)
    return Fixed(raw, tuple(repaired), left)


def _refuse_new(before: Checked, repaired: list[Finding], after: Checked) -> None:
    if len(before.findings) > _MOST_CERTAIN or len(before.document.spots) > _MOST_CERTAIN:
        return
    allowed = Counter(f.code for f in before.findings) - Counter(f.code for f in repaired)
    new = Counter(f.code for f in after.findings if f.code != IGNORES_NOTHING) - allowed
    if new or after.values.data != before.values.data:
        raise BugError(f"fixes change what {before.document.file} means: {', '.join(new)}")


class _Edit(NamedTuple):
    start: int
    end: int
    text: str
    finding: Finding


def _with_repairs(raw: bytes, findings: list[Finding]) -> tuple[bytes, list[Finding]]:
    """The bytes with the repairs of these findings that can be made, and those findings."""
    if not findings:
        return raw, []
    text = raw.decode("utf-8-sig")
    mark = raw[: len(raw) - len(text.encode())]
    nodes = _Nodes(text)
    edits = sorted(filter(None, map(nodes.edit, findings)), key=lambda edit: edit.start)
    parts, done, end = [], [], 0
    for edit in edits:
        if edit.start < end:
            continue
        parts += [text[end : edit.start], edit.text]
        done.append(edit.finding)
        end = edit.end
    return mark + "".join([*parts, text[end:]]).encode(), done


class _Nodes:
    """The places of a text's keys and values."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [0]
        for line in text.split("\n"):
            self._lines.append(self._lines[-1] + len(line) + 1)
        self._keys: dict[Pointer, yaml.Node | None] = {}
        self._values: dict[Pointer, yaml.Node] = {}
        root = yaml.compose(text, Loader=NodeLoader)
        for path, key, value in _walk((), root) if root else ():
            if path not in self._values:  # of a key that stands twice, the first is read
                self._values[path] = value
                self._keys[path] = key

    def edit(self, finding: Finding) -> _Edit | None:
        """The replacement that a finding's repair is; None where its text can't be told."""
        repair = finding.repair
        node = (self._keys if repair and repair.at_key else self._values).get(finding.pointer)
        if repair is None or not isinstance(node, yaml.ScalarNode):
            return None
        start, end = (
            self._lines[mark.line] + mark.column for mark in (node.start_mark, node.end_mark)
        )
        source = _ANCHOR.sub("", self._text[start:end], count=1)
        start, source = end - len(source), source.rstrip()
        tag = _TAG.match(source)  # it goes: what is written has the right type by itself
        written = source[tag.end() :] if tag else source
        quote = written[:1] if written[:1] in ("'", '"') else ""
        head = _BLOCK.match(written)
        said = written[head.end() :] if head else written
        is_told = source[-1:] == quote if quote else said.split() == node.value.split()
        if not is_told:
            return None
        text = repair.text
        if quote and unquoted(text) == text:
            text = f"{quote}{text}{quote}"
        if head and head[1]:
            text = f"{text}  {head[1]}"
        return _Edit(start, start + len(source), text, finding)


def _walk(
    path: Pointer, node: yaml.Node, around: tuple[yaml.Node, ...] = ()
) -> Iterator[tuple[Pointer, yaml.Node | None, yaml.Node]]:
    """Every value below a node, with its path and its key's node; `around` are those it is in."""
    below: list[tuple[str | int, yaml.Node | None, yaml.Node]] = []
    if isinstance(node, yaml.MappingNode):
        below = [(k.value, k, value) for k, value in node.value if isinstance(k, yaml.ScalarNode)]
    elif isinstance(node, yaml.SequenceNode):
        below = [(index, None, value) for index, value in enumerate(node.value)]
    for part, key, value in below:
        yield (*path, part), key, value
        if value is not node and value not in around:
            yield from _walk((*path, part), value, (*around, node))
