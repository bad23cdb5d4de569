"""Each `tf-cluster` command in the pages on params files runs, and prints what the page shows.

A session is a block of lines that begin with `$`: it is run from top to bottom in one folder. `cat
FILE` there makes the file of what is shown. A command in a sentence is run by itself; one that is a
verb alone is asked for its help.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.pages import blocks, codes, text_of, typed
from tests.support.waiting import HANG_SECONDS

PAGES = ("params.md", "rules.md", "ci.md", "converting.md")
# What is not run, and why. An entry that its page has not any more is a failure.
NOT_RUN = {
    ("params.md", "tf-cluster run FILE"): "it trains: tests/generator/local has it",
    ("params.md", "tf-cluster --install-completion"): "it writes into the start of one's own shell",
    (
        "converting.md",
        "kubectl get tfjob mnist -o yaml | tf-cluster convert - -o mnist.params.yaml",
    ): "it needs a cluster with the TFJobs of Kubeflow",
}
# Commands that do not end with 0, and what the page says of it.
EXITS = {
    ("rules.md", "tf-cluster validate --diff digits.params.yaml"): (1, "Exit 1 if there is a fix"),
}
# What stands for the reader's own in a sentence, and what it is here.
OWN = {
    "init [FILE]": "init new.params.yaml",
    "convert FILE": "convert mnist.yaml",
    "FILE…": "digits.params.yaml",
    "FILE": "digits.params.yaml",
    "[KEY]": "train.optimizer",
    "KEY": "train.optimizer",
    "CODE": "TFC305",
}
FOLDERS = ("teams", "trainings")  # which ci.md has in its commands


@dataclass(frozen=True)
class Step:
    """A command of a session, and what the page shows of its output; empty where it shows none."""

    command: str
    shown: str


def steps(block: str) -> list[Step]:
    """The commands of a session; of a job for CI its lines that are commands of ours."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    if len(parts) > 1:
        return [Step(*step) for step in zip(parts[1::2], parts[2::2], strict=True)]
    lines = re.findall(r"^(?:- | +- )?(tf-cluster .*)$", block, re.MULTILINE)
    return [Step(line, "") for line in lines]


def sentences(page: str) -> list[str]:
    """Commands in the sentences and tables of a page."""
    return [code for code in codes(page) if re.search(r"(?:^|\| )tf-cluster \S", code)]


def in_sentences() -> list[tuple[str, str]]:
    every = {(page, words): None for page in PAGES for words in sentences(page)}
    told: dict[str, tuple[str, str]] = {}
    for page, words in every:
        if (page, words) not in NOT_RUN:
            told.setdefault(words, (page, words))
    return [*told.values()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the program `tf-cluster` on the PATH of `ran`."""
    program = tmp_path / "bin" / "tf-cluster"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m tf_cluster "$@"\n')
    program.chmod(0o755)
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


def ran(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The command with `tf-cluster` on the PATH, and the folder above for a home."""
    path = f"{folder.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    home = str(folder.parent)
    environment = {**os.environ, "PATH": path, "HOME": home, "PYTHONUNBUFFERED": "1"}
    return typed(command, folder, environment, HANG_SECONDS)


def is_as_shown(shown: str, printed: str) -> bool:
    """Whether the page shows what is printed; `…` is what it leaves out, of a line or of lines."""
    parts = []
    for line in shown.rstrip("\n").split("\n"):
        if line == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(r".*".join(map(re.escape, line.split("…"))) + r"\n")
    return re.fullmatch("".join(parts), printed) is not None


def first_params() -> str:
    """The params file that params.md begins with."""
    begins = re.search(r"^```yaml\n(.*?)^```$", text_of("params.md"), re.DOTALL | re.MULTILINE)
    assert begins
    return begins[1]


def tfjob() -> str:
    """The manifest of converting.md."""
    return next(
        step.shown
        for block in blocks("converting.md")
        for step in steps(block)
        if step.command == "cat mnist.yaml"
    )


def test_what_is_not_run_is_on_its_page() -> None:
    commands = {(page, step.command) for page in PAGES for b in blocks(page) for step in steps(b)}
    commands |= {(page, words) for page in PAGES for words in sentences(page)}

    assert NOT_RUN.keys() <= commands
    assert EXITS.keys() <= commands
    for (page, _), (_, words) in EXITS.items():
        assert words in text_of(page)


@pytest.mark.parametrize("page", PAGES)
def test_the_sessions_of_a_page_are_as_it_shows_them(page: str, folder: Path) -> None:
    for name in (".", *FOLDERS) if page == "ci.md" else ():
        (folder / name).mkdir(exist_ok=True)
        (folder / name / "digits.params.yaml").write_text(first_params())
        assert ran(f"tf-cluster generate --pairs {name}/digits.params.yaml", folder).returncode == 0
    count = 0
    for step in (step for block in blocks(page) for step in steps(block)):
        if (page, step.command) in NOT_RUN:
            continue
        if step.command.startswith("cat "):
            (folder / step.command.removeprefix("cat ")).write_text(step.shown)
            continue
        assert "tf-cluster " in step.command, f"{step.command}: what to make of it here?"
        done = ran(step.command, folder)
        code, _ = EXITS.get((page, step.command), (0, ""))
        assert done.returncode == code, f"{step.command}: {done.stdout}"
        if step.shown.strip():
            assert is_as_shown(step.shown, done.stdout), f"{step.command}:\n{done.stdout}"
        count += 1

    assert count > 0


@pytest.mark.parametrize(("page", "words"), in_sentences(), ids=lambda one: one.replace("/", " "))
def test_a_command_in_a_sentence_runs(page: str, words: str, folder: Path) -> None:
    (folder / "digits.params.yaml").write_text(first_params())
    (folder / "mnist.yaml").write_text(tfjob())
    command = words
    for own, here in OWN.items():
        command = command.replace(own, here)
    if re.fullmatch(r"tf-cluster [a-z]+", command):
        command += " --help"

    done = ran(command, folder)

    assert done.returncode == 0, f"{page}: {command}: {done.stdout}"
    assert done.stdout


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb\n", "a\nb\n", True),
        ("a …\n", "a and more\n", True),
        ("a\n…\nb\n", "a\nx\ny\nb\n", True),
        ("a\n…\nb\n", "a\nb\n", True),
        ("a\n", "a\nb\n", False),
        ("a.c\n", "abc\n", False),
        ("a\n…\nb\n", "a\nx\nb\nc\n", False),
    ],
)
def test_what_is_shown_is_held(shown: str, printed: str, same: bool) -> None:
    assert is_as_shown(shown, printed) == same
