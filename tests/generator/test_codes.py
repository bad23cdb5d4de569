"""Every code has a page whose files are run: the wrong one has this finding, the right one none."""

from __future__ import annotations

import random
import re
import string
from pathlib import Path

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.checks import CODES
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.many.check_files import check_files
from tf_cluster.many.find import find
from tf_cluster.many.values_files import drift, values_name, values_names

from tools.code_pages import BASE, PAGE, files, page


def _found(example: str, folder: Path) -> list[Finding]:
    """The findings on an example, with what it needs added and the files beside it."""
    whole = re.sub(r"«(.) × (\d+)»", lambda many: _text(many[1], int(many[2])), example)
    params, others = files(whole)
    for name, text in others.items():
        (folder / name).write_text(
            _completed(text, whole=False) if name.endswith(".params.yaml") else text
        )
    if any(name.endswith((".params.yaml", ".values.yaml")) for name in others):
        (folder / "p.params.yaml").write_text(_completed(params))
        return _found_in_all(folder)
    return list(check("p.yaml", _completed(params).encode(), folder=folder).findings)


def _text(character: str, length: int) -> str:
    """So many of a character; `?` is any letter, which no compression makes short."""
    if character != "?":
        return character * length
    return "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=length))


def _found_in_all(folder: Path) -> list[Finding]:
    """The findings on the params files of a folder, and on the values files that are there."""
    files = find([str(folder)]).files
    outcomes = check_files(files, outputs=values_names(files)[0])
    found = [finding for one in outcomes for finding in one.findings]
    for one in outcomes:
        values = values_name(one.file)
        differs = drift(one.file, values, one.values, "") if Path(values).exists() else None
        found += [differs.finding] if differs else []
    return found


def _completed(params: str, *, whole: bool = True) -> str:
    """An example with what it needs. `whole`: one with a name needs nothing."""
    try:
        keys = yaml.safe_load(params) or {}
    except yaml.YAMLError:
        return params
    if not isinstance(keys, dict) or (whole and "name" in keys):
        return params
    needed = BASE.splitlines(keepends=True)
    return params + "".join(line for line in needed if line.partition(":")[0] not in keys)


@pytest.mark.parametrize("code", CODES)
def test_the_wrong_file_has_this_one_finding(code: Code, tmp_path: Path) -> None:
    if "\n" not in code.wrong and code.wrong.startswith("#"):  # it is about nothing but comments
        found = list(check("p.yaml", code.wrong.encode()).findings)
    else:
        found = _found(code.wrong, tmp_path)

    assert [finding.code for finding in found] == [code]
    said = re.search(r"\((warning|advice)\)$", code.about)
    assert found[0].severity == (said[1] if said else "error")


@pytest.mark.parametrize("code", CODES)
def test_the_right_file_has_no_finding(code: Code, tmp_path: Path) -> None:
    assert _found(code.right, tmp_path) == []


@pytest.mark.parametrize("code", CODES)
def test_a_code_says_why_in_whole_sentences(code: Code) -> None:
    assert re.fullmatch(r"[A-Z`].*[^ ]\.", code.why)
    assert max(map(len, code.wrong.split("\n"))) <= 100


def test_the_page_of_the_codes_is_current() -> None:
    """When it is not: python -m tools.code_pages."""
    assert PAGE.read_text(encoding="utf-8") == page()
