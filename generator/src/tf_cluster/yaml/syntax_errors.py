"""Syntax errors, with advice for common mistakes."""

import math
import re
from collections.abc import Iterator

import yaml

from tf_cluster.findings.finding import Code, Finding, Place
from tf_cluster.printable import printable
from tf_cluster.yaml.document import START

_Loader = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
YAML_SYNTAX = Code(
    "TFC102",
    "the file is not valid YAML",
    why="Nothing can be read from the file, by no tool.",
    wrong=("train:\n  steps: 2000\n   seed: 1"),
    right=("train:\n  steps: 2000\n  seed: 1"),
)


def syntax_finding(file: str, text: str, error: yaml.MarkedYAMLError) -> Finding:
    """PyYAML's error as a finding, with a fix if the mistake is a common one."""
    mark = error.problem_mark or error.context_mark
    place = Place(mark.line + 1, mark.column + 1) if mark else START
    problem = error.problem or "not YAML"
    message = f"not YAML: {error.context}: {problem}" if error.context else f"not YAML: {problem}"
    fix = ""
    lines = text.split("\n")
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    template = next(_templates(lines), None)
    begin = error.context_mark or mark
    joined = _joined(lines, place, begin.line + 1 if begin else 1)
    if template:
        message, fix, place = "not YAML, but a template of it", TEMPLATE_FIX, template
    elif joined:
        place, key = joined
        lacks, fix = "no colon", f"write '{key}: ', without ="
        if key.endswith(":"):
            lacks, fix = "no blank", "write one after the colon"
        message = f"not YAML: {lacks} after '{printable(key)}'"
    elif begin and place.line >= len(lines) and error.context:
        place = Place(begin.line + 1, begin.column + 1)  # the end of the file is no place to mend
        if error.context == "while scanning a quoted scalar":
            message, fix = "not YAML: this quote is not closed", "close it"
    elif "invalid Unicode character escape" in problem:
        fix = "write the character itself: YAML has no surrogate pairs, unlike JSON"
    elif "cannot start any token" in problem and "\t" in line[: place.column]:
        fix = "indent with spaces, not with tabs"
    elif "cannot start any token" in problem and line[place.column - 1 : place.column] in "@`%":
        fix = "put the text in quotes"
    elif "mapping values are not allowed" in problem:
        fix = "a text that contains ': ' needs quotes; keys of one mapping need one indentation"
    return Finding(file, place, YAML_SYNTAX, message, fix=fix)


_BRACES = re.compile(r"(?:[^#'\"]*?[:,\[-] )? *(\{\{)|\s*(\{%)")
"""`{{` at the start of a key or value, or `{%` of a line; inside a text they are plain text."""
TEMPLATE = re.compile(r"\{\{[^{}]*\}\}|\$\{[A-Za-z_][A-Za-z0-9_]*\}")
"""What a template leaves in a text."""
TEMPLATE_FIX = "this is a template: render it first"


_JOINED = re.compile(r"( *(?:- +)*)([A-Za-z_][A-Za-z0-9_.-]*:)(?!//)(?=[^\s:,\]}])")
_ASSIGNED = re.compile(r"( *)([A-Za-z_][A-Za-z0-9_.-]*) *= *(?=[^\s=])")


def _joined(lines: list[str], place: Place, begin: int) -> tuple[Place, str] | None:
    """The first `key:value` or `key = value`, if `key: value` takes the error away.

    Where it is, and the key, with the colon that it has.
    """
    found = {}
    for number in range(min(place.line, len(lines)), 0, -1):
        line = lines[number - 1]
        if match := _JOINED.match(line) or _ASSIGNED.match(line):
            found[number] = match
        elif line.split("#")[0].strip() and number not in (place.line, begin):
            break
    if not found:
        return None
    mended = [*lines]
    for number, match in found.items():
        key = match[2].removesuffix(":")
        mended[number - 1] = f"{match[1]}{key}: {lines[number - 1][match.end() :]}"
    if _first_error("\n".join(mended)) <= place.line:
        return None
    first = min(found)
    return Place(first, found[first].start(2) + 1), found[first][2]


def _first_error(text: str) -> float:
    """The line of the first syntax error, from 1; infinity where there is none."""
    try:
        for _ in yaml.parse(text, Loader=_Loader):
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return mark.line + 1 if mark else 0
    except yaml.YAMLError:
        return 0
    return math.inf


def _templates(lines: list[str]) -> Iterator[Place]:
    for number, line in enumerate(lines, 1):
        match = _BRACES.match(line)
        if match and ("}}" if match[1] else "%}") in line[match.end() :]:
            yield Place(number, match.end() - 1)


def is_template(key: yaml.Node) -> bool:
    """Whether a key is `{{ name }}`, which YAML reads as a mapping with a mapping as its key."""
    return isinstance(key, yaml.MappingNode) and bool(key.flow_style)
