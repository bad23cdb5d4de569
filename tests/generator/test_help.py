"""Help fits a terminal of 80 columns, says what to type, and ends with examples and exit codes."""

from __future__ import annotations

import io
import os
import re
import shlex
from contextlib import redirect_stdout
from unittest import mock

import pytest
import typer.main
from tf_cluster.cli import app

GROUP = typer.main.get_command(app)
TOP = sorted(GROUP.commands)  # type: ignore[attr-defined]
BELOW = [
    f"{name} {below}"
    for name in TOP
    for below in getattr(GROUP.commands[name], "commands", ())  # type: ignore[attr-defined]
]
COMMANDS = [*TOP, *BELOW]


def shown(*arguments: str, columns: int = 80) -> str:
    """What the command prints on a terminal of that width, cold starts left aside."""
    text = io.StringIO()
    with redirect_stdout(text), mock.patch.dict(os.environ, {"COLUMNS": str(columns)}):
        words = [word for one in arguments for word in one.split()]
        GROUP.main(words, "tf-cluster", standalone_mode=False)
    return text.getvalue()


@pytest.mark.parametrize("command", ["", *COMMANDS])
@pytest.mark.parametrize("columns", [70, 80, 81, 200])
def test_help_fits(command: str, columns: int) -> None:
    lines = shown(command, "--help", columns=columns).splitlines()

    assert [line for line in lines if len(line) > min(columns, 80)] == []
    assert len(lines) > 10


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_has_words_for_values_and_no_types(command: str) -> None:
    text = shown(command, "--help")

    assert not re.search(r"<[a-z]|\{FILE|\[\[|x>=|\[required", text), text
    assert "-completion " not in text.partition("Options:")[2].partition("\n\n")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_ends_with_examples_and_exit_codes(command: str) -> None:
    """When it does not: decorate the command with `ends_with`."""
    text = shown(command, "--help")
    examples = re.findall(r"(?m)^  (tf-cluster .*)$", text.partition("\nExamples:\n")[2])

    assert examples, text
    assert all(example.startswith(f"tf-cluster {command}") for example in examples)
    assert re.search(r"(?m)^Exit codes: 0 ", text)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_an_example_is_an_option_of_its_command(command: str) -> None:
    text = shown(command, "--help")
    known = set(re.findall(r"(?m)^  (-.*?)(?:  |$)", text.partition("Options:")[2]))
    names = {name for options in known for name in re.findall(r"-[-a-zA-Z]+", options)}

    for example in re.findall(r"(?m)^  (tf-cluster .*)$", text):
        assert {word for word in shlex.split(example) if word.startswith("-")} - {"-"} <= names


def test_every_command_is_listed_in_one_line() -> None:
    rows = shown("--help").partition("Commands:\n")[2].partition("\n\n")[0].splitlines()

    assert sorted(row.split()[0] for row in rows) == TOP
    assert [row for row in rows if not row.endswith(".") or row.endswith("...")] == []


def test_completion_is_there_though_its_options_are_left_out() -> None:
    assert "install_completion" in {param.name for param in GROUP.params}
