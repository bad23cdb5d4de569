"""Advice on a step that takes more examples than a program.json beside the file counts (TFC407)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.check import Checked, check
from tf_cluster.params.beside import Given

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
FOUR = f"{GOOD}workers: 4\n"
TOLD = {"version": 1, "program": "p.m:C", "flags": {"units": 64, "wide": True}, "examples": 100}


def _checked(folder: Path, text: str, program: Any = TOLD) -> Checked:
    (folder / "program.json").write_text(json.dumps(program))
    return check("p.yaml", text.encode(), folder=folder)


def _advice(checked: Checked) -> list[str]:
    assert checked.good
    return [one.message for one in checked.findings if one.code == "TFC407"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{FOUR}update: sync\ntrain: {{batchSize: 26}}\n", "4 × 26 = 104"),
        (f"{FOUR}update: sync\ntrain: {{batchSize: 13, microBatches: 2}}\n", "4 × 2 × 13 = 104"),
        (f"{GOOD}workers: 1\nupdate: sync\ntrain: {{batchSize: 101}}\n", "101"),
        (f"{FOUR}train: {{batchSize: 101}}\nupdate: async\n", "101"),
        (f"{FOUR}strategy: all-reduce\ntrain: {{batchSize: 26}}\n", "4 × 26 = 104"),
    ],
)
def test_a_step_of_more_than_all_examples_is_advised_on(
    text: str, words: str, tmp_path: Path
) -> None:
    (told,) = _advice(_checked(tmp_path, text))

    assert told == f"a step takes {words} examples, and program.json counts 100"


@pytest.mark.parametrize(
    "text",
    [
        f"{FOUR}update: sync\ntrain: {{batchSize: 25}}\n",
        f"{FOUR}update: async\ntrain: {{batchSize: 100}}\n",  # each worker steps alone
        f"{FOUR}update: sync\n# tf-cluster: ignore TFC407 so small\ntrain: {{batchSize: 26}}\n",
    ],
)
def test_nothing_is_advised_where_they_are_enough_or_it_is_ignored(
    text: str, tmp_path: Path
) -> None:
    assert _checked(tmp_path, text).findings == ()


@pytest.mark.parametrize(
    ("params", "fix"),
    [("", "set train.batchSize to 50 or less"), ("workers: 200\n", "take fewer workers")],
)
def test_the_fix_says_how_many_would_do(params: str, fix: str, tmp_path: Path) -> None:
    text = f"{GOOD}{params}update: sync\ntrain: {{batchSize: 101}}\n"
    (found,) = [one for one in _checked(tmp_path, text).findings if one.code == "TFC407"]

    assert found.fix == fix


def test_nothing_is_advised_on_a_value_that_the_file_does_not_have(tmp_path: Path) -> None:
    few = TOLD | {"examples": 3}
    text = f"{GOOD}train: {{batchSize: abc}}\n"

    assert [one.code for one in _checked(tmp_path, text, few).findings] == ["TFC203"]


LARGE = f"{GOOD}train: {{batchSize: 1000}}\nflags: {{units: 64}}\n"


@pytest.mark.parametrize(
    ("program", "note"),
    [
        (TOLD | {"program": "p.m:D"}, "it is of another program, or of other flags"),
        (TOLD | {"flags": {"units": 32}}, "it is of another program, or of other flags"),
        (TOLD | {"flags": {}}, "it is of another program, or of other flags"),
        (TOLD | {"version": 2}, "it is of another program, or of other flags"),
        ([], "it is not what tf-trainer inspect writes"),
        ({"name": "a package of JavaScript"}, "it is not what tf-trainer inspect writes"),
        (TOLD | {"flags": 3}, "it is not what tf-trainer inspect writes"),
        (TOLD | {"examples": None}, "read: program.json"),
        (TOLD | {"examples": "many"}, "read: program.json"),
    ],
)
def test_what_tells_nothing_of_this_file_is_noted(program: Any, note: str, tmp_path: Path) -> None:
    checked = _checked(tmp_path, LARGE, program)

    assert _advice(checked) == []
    assert any(note in one for one in checked.notes)


def test_only_a_small_regular_file_of_the_folder_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "params"
    folder.mkdir()
    file = folder / "program.json"
    outside = tmp_path / "program.json"
    outside.write_text(json.dumps(TOLD))
    file.symlink_to(outside)
    of_a_link = check("p.yaml", LARGE.encode(), folder=folder)
    file.unlink()
    os.mkfifo(file)
    of_a_pipe = check("p.yaml", LARGE.encode(), folder=folder)
    file.unlink()
    file.write_text(json.dumps(TOLD) + " " * 1_000_000)
    of_a_large_one = check("p.yaml", LARGE.encode(), folder=folder)
    file.write_text("[" * 100_000)
    of_a_deep_one = check("p.yaml", LARGE.encode(), folder=folder)

    for checked in (of_a_link, of_a_pipe, of_a_large_one, of_a_deep_one):
        assert checked.findings == ()


def test_a_program_gives_the_file_by_its_name() -> None:
    given = Given({"program.json": json.dumps(TOLD)})

    assert _advice(check("p.yaml", LARGE.encode(), folder=given)) != []
