"""On a terminal a finding shows its line and a caret; a pipe gets the bytes that it always got."""

from __future__ import annotations

import os
import pty
import random
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from tf_cluster.findings.finding import Place
from tf_cluster.findings.source_line import Screen, around
from tf_cluster.printable import escaped_json, escaped_yaml, printable

from tests.generator.conftest import Command

BAD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\nwrokers: 3\n"
PLAIN = "b.yaml:4:1: TFC201: unknown key 'wrokers' (did you mean 'workers'?) [/wrokers]\n"
CARET = "  4 | wrokers: 3\n    | ^\n"
RED, END = "\x1b[31m", "\x1b[0m"


def on_terminal(folder: Path, *arguments: str, stream: str = "stdout", **environment: str) -> str:
    """What `tf-cluster` writes on a stream that is a terminal; the other one is a pipe."""
    ours, its = pty.openpty()
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: its}
    command = (sys.executable, "-m", "tf_cluster", *arguments)
    settings = {
        key: value for key, value in os.environ.items() if key not in ("COLUMNS", "NO_COLOR")
    }
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        env={**settings, "TERM": "xterm", **environment},
        **streams,  # type: ignore[call-overload]
    ):
        os.close(its)
        read = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # Linux says so when the other end is closed
                break
            if not part:
                break
            read += part
    os.close(ours)
    return read.decode().replace("\r\n", "\n")


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    (tmp_path / "b.yaml").write_text(BAD)
    return tmp_path


def test_a_terminal_shows_the_line_and_a_caret(bad: Path) -> None:
    shown = on_terminal(bad, "validate", "b.yaml", NO_COLOR="1")

    assert shown == PLAIN + CARET


def test_the_caret_is_colored_unless_no_color_is_set(bad: Path) -> None:
    shown = on_terminal(bad, "validate", "b.yaml")

    assert f"    | {RED}^{END}\n" in shown
    assert re.sub(r"\x1b\[\d+m", "", shown) == PLAIN + CARET
    assert "\x1b" not in on_terminal(bad, "validate", "b.yaml", TERM="dumb")


def test_generate_shows_it_where_it_prints_findings(bad: Path) -> None:
    shown = on_terminal(bad, "generate", "b.yaml", stream="stderr", NO_COLOR="1")

    assert shown == PLAIN + CARET


def test_what_is_left_after_a_fix_is_shown_in_the_new_file(bad: Path) -> None:
    (bad / "b.yaml").write_text(BAD.replace("wrokers: 3", "update: synchronous\nworkers: 0"))

    shown = on_terminal(bad, "validate", "--fix", "b.yaml", NO_COLOR="1")

    assert shown.endswith("  5 | workers: 0\n    |          ^\n")


@pytest.mark.parametrize("form", ["json", "github", "sarif"])
def test_formats_for_programs_are_the_same_on_a_terminal(
    form: str, bad: Path, tf_cluster: Command
) -> None:
    piped = tf_cluster("validate", "--format", form, "b.yaml").stdout

    assert on_terminal(bad, "validate", "--format", form, "b.yaml") == piped


def test_a_pipe_gets_the_finding_alone(bad: Path, tf_cluster: Command) -> None:
    assert tf_cluster("validate", "b.yaml", FORCE_COLOR="1", COLUMNS="20").stdout == PLAIN


def test_a_narrow_terminal_gets_the_part_around_the_caret(bad: Path) -> None:
    (bad / "b.yaml").write_text(
        BAD + "flags: {a: " + "x" * 500 + ", b: .inf, c: " + "y" * 500 + "}"
    )

    shown = on_terminal(bad, "validate", "b.yaml", NO_COLOR="1", COLUMNS="40")

    *_, line, caret = shown.splitlines()
    assert len(line) <= 40
    assert line[caret.index("^") :].startswith(".inf, c: ")
    assert line.count("…") == 2


def _columns(text: str) -> int:
    return sum(
        0
        if unicodedata.category(c) in ("Mn", "Me", "Cf")
        else 2
        if unicodedata.east_asian_width(c) in "WF"
        else 1
        for c in text
    )


ODD = "aZ09 :#[]{}'\"\\\t\x00\x07\x1b\x7f\x85\u0301\u200d\u202e\u2028\ufeff名前\uff57🙂é\ud800"


@pytest.mark.parametrize("seed", range(200))
def test_the_caret_is_below_its_character_in_lines_of_any_kind(seed: int) -> None:
    draw = random.Random(seed)
    line = "".join(draw.choice(ODD) for _ in range(draw.choice((0, 3, 30, 300, 3000))))
    room = draw.choice((20, 40, 76, 200))
    at = draw.randint(1, len(line) + 1)
    marked = line[: at - 1] + "☺" + line[at:] if line else "☺"

    shown, column = around(marked, at, room)

    assert _columns(shown[: shown.index("☺")]) == column
    assert _columns(shown) <= room
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u202e\ud800]", shown)


@pytest.mark.parametrize("blank", ["\u115f", "\u1160", "\u3164", "\uffa0"])
def test_a_letter_that_draws_as_nothing_is_escaped(blank: str) -> None:
    assert printable(f"a{blank}b") == f"a\\u{ord(blank):04x}b"
    assert blank not in escaped_json(f'"{blank}"') + escaped_yaml(f'"{blank}"')


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"a: \xff\r\n\n", b"\xef\xbb\xbfa: 1"])
@pytest.mark.parametrize("line", [1, 2, 3, 9])
def test_a_place_that_is_not_there_shows_nothing(raw: bytes, line: int) -> None:
    shown = Screen(80, False, {"f": raw.split(b"\n")}).lines("f", Place(line, 4), "error")

    assert len(shown) in (0, 2)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\ufeff]", "".join(shown))
