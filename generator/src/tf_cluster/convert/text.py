"""The params file as text, with what a person has to decide as comments where it belongs."""

import textwrap
from collections.abc import Sequence
from typing import Any

from tf_cluster.convert.report import Entry, short
from tf_cluster.printable import cut, printable
from tf_cluster.yaml.writer import yaml_text

_WIDTH = 100
_LONGEST = 500
_MOST = 200
"""Comments in the file; the report has all."""


def params_text(data: dict[str, Any], entries: Sequence[Entry], made_of: str) -> str:
    """The file. Comments about a key that it does not have stand where that would be."""
    open_ones = [entry for entry in entries if entry.fate == "to do"]
    lines = [*_comment(f"Made by tf-cluster convert of {made_of}.")]
    if open_ones:
        lines += _comment(f"To decide: {len(open_ones)}, as comments below. Check it again then:")
        lines += _comment("tf-cluster validate FILE")
    shown = open_ones[:_MOST]
    if len(open_ones) > _MOST:
        lines += _comment(f"{len(open_ones) - _MOST} more are in the report only")
    keys = ["name", *(["image"] if "image" not in data else []), *(k for k in data if k != "name")]
    for entry in shown:
        if entry.key not in keys and entry.key:
            keys.append(entry.key)
    for entry in shown:
        if not entry.key:
            lines += _to_do(entry)
    for key in dict.fromkeys(keys):
        for entry in shown:
            if entry.key == key:
                lines += _to_do(entry)
        if key in data:
            lines.append(yaml_text({key: data[key]}).rstrip("\n"))
        elif key == "image":
            lines.append("# image: registry.example.com/team/tf-cluster-trainer:1.0")
    return "\n".join(lines) + "\n"


def _to_do(entry: Entry) -> list[str]:
    words = f"TO DO (line {entry.line}): {short(entry.field)}: {entry.words}"
    return _comment(words)


def _comment(words: str) -> list[str]:
    text = printable(cut(words, _LONGEST))
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent="# ",
        subsequent_indent="#   ",
        break_long_words=False,
        break_on_hyphens=False,
    )
