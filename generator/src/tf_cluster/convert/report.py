"""What became of each field of a manifest: told in lines for people, or as JSON."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from tf_cluster import __version__
from tf_cluster.findings.relative import relative_path
from tf_cluster.pointer import Pointer, dotted, json_pointer
from tf_cluster.printable import cut, escaped_json, printable

Fate = Literal["maps", "left out", "to do"]
"""maps: a key says the same. left out: nothing is needed. to do: a person has to decide."""

_MOST_SHOWN = 1_000
_LONGEST_WORDS = 500
_REPLICAS = re.compile(r"^spec\.tfReplicaSpecs\.")
_ORDER: tuple[Fate, ...] = ("maps", "left out", "to do")


@dataclass(frozen=True)
class Entry:
    """What became of one field: `key` is the key that says it, or that a person has to look at."""

    fate: Fate
    line: int
    field: Pointer
    words: str
    key: str = ""

    @property
    def told(self) -> str:
        """The entry as one line, without the name of the file."""
        name = short(self.field)
        if self.fate == "maps":
            return printable(cut(f"{name} -> {self.key}{self._more}", _LONGEST_WORDS))
        return printable(cut(f"{self.fate}: {name}: {self.words}", _LONGEST_WORDS))

    @property
    def _more(self) -> str:
        return f" ({self.words})" if self.words else ""


def short(field: Pointer) -> str:
    """A field's name for people, without what all replicas have: `Worker.containers[0].env[1]`."""
    name = _REPLICAS.sub("", dotted(field))
    return name.replace(".template.spec.", ".").replace(".template.metadata.", ".") or "the TFJob"


def in_order(entries: Iterable[Entry]) -> list[Entry]:
    """What is to do stands last, where a terminal shows it; each part from top to bottom."""
    return sorted(entries, key=lambda e: (_ORDER.index(e.fate), e.line, dotted(e.field), e.words))


def text_report(file: str, entries: Sequence[Entry]) -> str:
    """A line for each field, and how many there are of each fate."""
    # What is to do stands last: where there is too much to show, the beginning is left out.
    hidden = max(0, len(entries) - _MOST_SHOWN)
    lines = [f"{hidden} lines are not shown"] if hidden else []
    lines += [f"{printable(file)}:{entry.line}: {entry.told}" for entry in entries[hidden:]]
    counts = {fate: sum(entry.fate == fate for entry in entries) for fate in _ORDER}
    lines.append(f"{counts['maps']} mapped, {counts['left out']} left out, {counts['to do']} to do")
    return "\n".join(lines) + "\n"


def json_report(file: str, name: str, entries: Sequence[Entry]) -> str:
    """`{"version": 1, "tool": {…}, "file": …, "name": …, "fields": [{…}]}`."""
    document = {
        "version": 1,
        "tool": {"name": "tf-cluster", "version": __version__},
        "file": relative_path(file),
        "name": name,
        "fields": [
            {
                "fate": entry.fate,
                "line": entry.line,
                "field": json_pointer(entry.field),
                "key": entry.key,
                "words": cut(entry.words, _LONGEST_WORDS),
            }
            for entry in entries
        ],
    }
    return escaped_json(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"
