"""A shell's line is taken apart as the shell does, or not at all."""

from __future__ import annotations

import subprocess
from random import Random

import pytest
from tf_cluster.convert.shell import plain_command

PLAIN = (
    "python /app/train.py --lr 1e-3 --quote 'a b'",
    'python /x.py --name="a b" "" x\'y\'"z"',
    r"python /x.py a\ b \$HOME '$HOME' 'a\b' " + r'"a\"b\\c"',
    "python /x.py \\\n  --steps=3 \\\n  --out=/log\n",
    "  python\t/x.py  '*' \"#\" '&&' \\; ",
)
NOT_PLAIN = (
    *("python /x.py $HOME", 'python /x.py "$HOME"', "python `which x`", "python /x.py && ls"),
    *("python /x.py | tee log", "python /x.py > log", "python /x.py; ls", "python /x.py &"),
    *("python /x.py\nls", "python *.py", "python ~/x.py", "python /x.py # a", "python 'x"),
    *("(python /x.py)", "python {a,b}.py", "python x[1].py", "python ?.py", "a\\\nb \\", ""),
)
LETTERS = ("a", "b", " ", "'", '"', "\\", "$", "\n", "#", "\t", "=", ";", "*")


def by_sh(words: str) -> list[str]:
    """The words that sh makes."""
    line = f"show() {{ printf '%s\\0' \"$@\"; }}; show {words}"
    told = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=True).stdout
    return told.split("\0")[:-1]


@pytest.mark.parametrize("line", PLAIN)
def test_a_plain_line_has_the_words_that_the_shell_makes(line: str) -> None:
    assert plain_command(line) == ("", by_sh(line))


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_what_the_shell_does_more_is_not_guessed(line: str) -> None:
    assert plain_command(line) is None


def test_drawn_lines_are_read_as_the_shell_reads_them() -> None:
    draw = Random(5)
    read = 0
    for _ in range(3_000):
        line = "x" + "".join(draw.choices(LETTERS, k=draw.randint(1, 8)))
        plain = plain_command(line)
        if plain:
            read += 1
            assert plain == ("", by_sh(line)), line
    assert read > 100


def test_the_directory_that_it_changes_to() -> None:
    assert plain_command("cd /opt/a && exec python 'b c.py'") == ("/opt/a", ["python", "b c.py"])
    assert plain_command("cd /opt/a || exec python b.py") is None


def test_a_long_line_takes_no_longer_than_another() -> None:
    assert plain_command("python " + "a" * 100_000 + "$") is None
    assert plain_command("python " + " \\\n" * 30_000 + "$") is None
    assert plain_command("python " + "'" * 99_999) is None
