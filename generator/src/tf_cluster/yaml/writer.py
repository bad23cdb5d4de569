"""Writes YAML that every reader types the same: what is ambiguous is quoted."""

import re
from typing import Any

import yaml

from tf_cluster.printable import OLD_COMMAND, escaped_yaml

_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*")
_WORDS = {
    *("y", "n", "yes", "no", "on", "off", "true", "false", "t", "f"),
    *("null", "nan", "inf", "infinity"),
}
# No line that begins with `::`: a CI runner that prints the values would take it for a command.
# The same holds for `##[` anywhere, which is escaped in double quotes.
_BLOCK_LINE = re.compile(r"(?! *::)[ -~]*[!-~]|")


class _Writer(yaml.SafeDumper):
    """Replaces PyYAML's rules for plain scalars: they are YAML 1.1's, and leave '1e-4' unquoted."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write everything out: anchors are noise in a values file."""
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent lists under their key, as people do."""
        super().increase_indent(flow, False)


def _text(writer: _Writer, text: str) -> yaml.ScalarNode:
    style = '"'
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = ""
    elif "\n" in text and _fits_a_block(text):
        style = "|"
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style or None)


def _fits_a_block(text: str) -> bool:
    """Printable lines with no trailing blanks, one newline at the end at most, no indent first."""
    lines = text.removesuffix("\n").split("\n")
    return (
        bool(lines[0].strip())
        and bool(lines[-1])
        and not lines[0].startswith(" ")
        and not OLD_COMMAND.search(text)
        and all(_BLOCK_LINE.fullmatch(line) for line in lines)
    )


_Writer.add_representer(str, _text)


def yaml_text(data: Any) -> str:
    r"""Mappings in their own order, two spaces, `\n` line ends; deterministic.

    Letters of all scripts stand raw. What is unsafe to print is in double quotes, as YAML escapes
    it: `\u202e`.
    """
    text = yaml.dump(
        data,
        Dumper=_Writer,
        default_flow_style=False,
        sort_keys=False,
        allow_unicode=True,
        width=10_000_000,
    )
    # All but ASCII is in double quotes here: see `_PLAIN` and `_BLOCK_LINE`.
    return escaped_yaml(text)
