"""Every declared value is used by a template, and every used value is declared.

    python -m tools.chart.value_lint        print what is not so; exit 1 if anything

Templates read values by a path from `.Values`, by a variable set to such a path, and by
`get PATH X` where X chooses a section (a role or a volume); each may be in parentheses with
`| default dict`. All three are rewritten to one form, `.Values.<role>.resources`; so is `.pod.X`,
the pod values of a role (_pod.tpl), which come from its section or from `pod`. Fields that pass
through stand in a loop (LOOP, BY_NAME) or are picked (PICK); a section that passes through whole is
named once (WHOLE). What is written in another way shows as a value that nobody uses.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.chart.values_docs import PAGES, POD, ROLES, read_values

# What the variables that choose a section stand for.
CHOICES = {"<role>": {POD, *ROLES}, "<volume>": {"data", "log"}}
# Declared for others: Helm gives `global` to every chart of a release.
NOT_READ = {("global",)}

PATH = r"\.Values(?:\.[\w<>]+)*"
REWRITES = (
    # tf-storage and tf-tenant: each class, volume and claim is laid over the section of defaults.
    (
        r'range \$name, (\$\w+) := include "tf-\w+\.(class|volume|claim)(?:es|s)" [$.] \| fromJson',
        r"}}{{- \1 := .Values.\2 -}}{{",
    ),
    (r'include "tf-cluster\.podValues" \. \| fromJson', ".Values.<role>"),
    (r"(?<![\w)])[$]?\.pod(?=\.[a-z])", ".Values.<role>"),
    (r"(?:\$root|\.root|\$|\(first \.\))\.Values", ".Values"),
    (rf"\(({PATH}) \| default (?:dict|list)\)", r"\1"),
    (rf"get ({PATH}) [$.](role|volume)(?:\.name)?", r"\1.<\2>"),
    (rf"\(({PATH})\)", r"\1"),
)

# Fields that pass through: `range $field := list "a" "b"`, then `get .Values.<role> $field`.
LOOP = (
    r"range \$(?P<name>\w+) := list\s+(?P<fields>[^}]*?) \}\}\s*"
    rf"\{{\{{- with get (?P<section>{PATH}) \$(?P=name)\b"
)

# Fields that pass through together: `pick .Values.pod "a" "b"`.
PICK = rf'pick (?P<section>{PATH})(?P<fields>(?:\s+"\w+")+)'

# The same of several sections: `range $name, $x := dict "a" 1 "b" 2`, `get .Values.x $name`.
BY_NAME = r'range \$(?P<name>\w+), \$\w+ := dict (?P<words>(?:"[^"]*"\s*)+)'

# A section that passes through whole: every value below it is used. An image is handed over as a
# copy; other copies (`class` of tf-storage) are what entries are laid over.
WHOLE = (
    r'(?:include "tf-(?:(?:cluster\.config|storage)\.given|tenant\.subjects)"'
    rf"|deepCopy(?= [\w.]*\.image\b)) ({PATH})"
)

Steps = tuple[str, ...]


def used_values(template: str) -> Iterator[Steps]:
    """The paths that a template reads, with `<role>` and `<volume>` where those choose."""
    for block in re.split(r"(?=\{\{-? *define )", template):
        for match in re.finditer(r"\.Values((?:\.[\w<>]+)+)", _one_form(block)):
            yield tuple(match[1].strip(".").split("."))


def whole_sections(template: str) -> Iterator[Steps]:
    """The sections that a template passes through whole."""
    for block in re.split(r"(?=\{\{-? *define )", template):
        for match in re.finditer(WHOLE, _one_form(block)):
            yield tuple(match[1].removeprefix(".Values").strip(".").split("."))


def _one_form(block: str) -> str:
    before = ""
    while block != before:
        before = block
        for pattern, replacement in REWRITES:
            block = re.sub(pattern, replacement, block)
        if match := re.search(rf"\{{\{{-? *(\$\w+) :?= ({PATH}) *-?\}}\}}", block):
            block = block.replace(match[0], "")
            block = re.sub(rf"{re.escape(match[1])}(?!\w)", match[2].replace("\\", ""), block)
    for match in re.finditer(LOOP, block):
        fields = re.findall(r'"(\w+)"', match["fields"])
        block += _uses(match["section"], fields)
    for match in re.finditer(PICK, block):
        block += _uses(match["section"], re.findall(r'"(\w+)"', match["fields"]))
    for match in re.finditer(BY_NAME, block):
        names = re.findall(r'"([^"]*)"', match["words"])[::2]
        for section in re.findall(rf"get ({PATH}) \${match['name']}\b", block):
            block += _uses(section, names)
    return block


def _uses(section: str, fields: list[str]) -> str:
    return "".join(f" {{{{ {section}.{field} }}}}" for field in fields)


def findings(templates: list[str], values: str) -> list[str]:
    """What is declared and not used, then what is used and not declared."""
    declared = {value.path for value in read_values(values) if not value.is_section} - NOT_READ
    used = {path for template in templates for path in used_values(template)}
    whole = {path for template in templates for path in whole_sections(template)}
    return [
        *(
            f"{'.'.join(path)} is declared in values.yaml and used by no template"
            for path in sorted(declared)
            if not any(_starts_with(use, path) for use in used)
            and not any(_starts_with(path, section) for section in whole)
        ),
        *(
            f"{'.'.join(path)} is used by a template and not declared in values.yaml"
            for path in sorted(used)
            if not any(_starts_with(path, leaf) or _starts_with(leaf, path) for leaf in declared)
        ),
    ]


def _starts_with(path: Steps, start: Steps) -> bool:
    """True when each step of `start` is, or may be, that of `path`."""
    return len(path) >= len(start) and all(
        a == b or a in CHOICES.get(b, ()) or b in CHOICES.get(a, ())
        for a, b in zip(path, start, strict=False)
    )


def templates_of(chart: Path) -> list[str]:
    """The text of every template."""
    return [path.read_text() for path in sorted(chart.glob("templates/**/*.*"))]


def main() -> int:
    """Lint every chart."""
    bad = False
    for chart in PAGES:
        for finding in findings(templates_of(chart), (chart / "values.yaml").read_text()):
            print(f"{chart.name}: {finding}")
            bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
