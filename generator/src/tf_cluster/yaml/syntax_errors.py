"""Syntax errors, with advice for common mistakes."""

import re
from collections.abc import Iterator

import yaml

from tf_cluster.findings.finding import Code, Finding, Place
from tf_cluster.yaml.document import START

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
    if template:
        message, fix, place = "not YAML, but a template of it", TEMPLATE_FIX, template
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


def _templates(lines: list[str]) -> Iterator[Place]:
    for number, line in enumerate(lines, 1):
        match = _BRACES.match(line)
        if match and ("}}" if match[1] else "%}") in line[match.end() :]:
            yield Place(number, match.end() - 1)


def is_template(key: yaml.Node) -> bool:
    """Whether a key is `{{ name }}`, which YAML reads as a mapping with a mapping as its key."""
    return isinstance(key, yaml.MappingNode) and bool(key.flow_style)
