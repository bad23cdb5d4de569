"""A shell's line that runs one plain command, taken apart as the shell would."""

import re
import shlex

_FOLDER_FIRST = re.compile(r"(?:cd (?P<folder>[\w./-]+) && )?(?:exec )?")
_BLANKS = r"(?:\\\n)*[ \t](?:[ \t]|\\\n)*"
_PART = r"""[\w./=,:@%+-]|\\[^\n]|'[^'\n]*'|"(?:[^"$`\\\n]|\\["\\])*\""""
_PLAIN = re.compile(rf"(?:{_PART})+(?:{_BLANKS}(?:{_PART})+)*")
_QUOTED = re.compile(r"""\\[^\n]|'[^'\n]*'|"(?:[^"\\]|\\.)*"|(?P<more>\\\n)""")


def plain_command(line: str) -> tuple[str, list[str]] | None:
    """The directory that a line changes to, and the words of its command.

    None where the shell does more than to run it: variables, substitutions, patterns, operators.
    """
    line = line.strip(" \t\n")
    start = _FOLDER_FIRST.match(line)
    assert start
    rest = line[start.end() :]
    if not _PLAIN.fullmatch(rest):
        return None
    joined = _QUOTED.sub(lambda match: "" if match["more"] else match[0], rest)
    return start["folder"] or "", shlex.split(joined)
