"""No input, stream or folder makes a traceback: it is told in words, with its exit code."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.findings.formats import Format, report
from tf_cluster.params.schema_files import chart_values

from tests.generator.conftest import Command
from tests.generator.local.local_run import fake_trainer
from tests.support.waiting import HANG_SECONDS

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
COMMAND = f"{shlex.quote(sys.executable)} -m tf_cluster"
LARGE = "9" * 5_000


def found(text: str) -> list[str]:
    return report(check("p.yaml", text.encode()).findings, Format.TEXT).splitlines()


@pytest.fixture
def shell(tmp_path: Path) -> Command:
    """Run a line of bash in a folder with good.yaml and bad.yaml."""
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(GOOD + "nope: 1\n")

    def run(line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ("bash", "-c", line.replace("tf-cluster", COMMAND)),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (f"workers: {LARGE}", "4:10"),
        (f"workers: -{LARGE}", "4:10"),
        (f"flags: {{a: {LARGE}}}", "4:12"),
        (f"flags: {{a: 0{'7' * 5_000}}}", "4:12"),
        (f"flags: {{a: [0x{'f' * 5_000}]}}", "4:13"),
        (f"extraValues: {{worker: {{replicas: {LARGE}}}}}", "4:34"),
        (f"train: {{steps: 0x{'f' * 100_000}}}", "4:16"),
    ],
)
def test_a_number_of_thousands_of_digits_is_told_at_its_place(text: str, place: str) -> None:
    lines = found(GOOD + text)

    assert any(line.startswith(f"p.yaml:{place}: TFC107: ") for line in lines), lines
    assert all(len(line) < 300 for line in lines)


@pytest.mark.parametrize("key", ["script", "path"])
@pytest.mark.parametrize("character", ["\\n", "\\0", "\\x1b", "\\x7f", "\\x85"])
def test_a_path_with_a_control_character_is_refused(key: str, character: str) -> None:
    script = "" if key == "script" else "script: /a.py, "
    (line,) = found(
        f'name: a\nimage: r/i:1\nprogram: {{{script}{key}: "/data/a{character}b.py"}}\n'
    )

    assert f"TFC206: program.{key} is" in line
    assert f"[/program/{key}]" in line


@pytest.mark.parametrize(
    "line",
    ["generate good.yaml -o {}", "generate good.yaml -o {} --diff", "init {}", "validate {}"],
)
def test_a_name_that_is_too_long_for_a_file_is_told(shell: Command, line: str) -> None:
    name = "n" * 300

    ran = shell("tf-cluster " + line.format(name))

    assert (ran.returncode, ran.stdout) == (2, "")
    told = rf"tf-cluster: {name}: can't be (read|written|used): File name too long\n"
    assert re.fullmatch(told, ran.stderr), ran.stderr


def test_a_character_in_a_file_that_extra_values_add_is_told_there(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print()\n")
    text = (
        "name: a\nimage: r/i:1\nprogram: {script: a.py, source: {files: [a.py]}}\n"
        'extraValues: {program: {source: {files: {b.py: "\\x7f"}}}}\n'
    )

    (finding,) = check("p.yaml", text.encode(), folder=tmp_path).findings

    assert (finding.code, finding.pointer) == (
        "TFC330",
        ("extraValues", "program", "source", "files", "b.py"),
    )


def test_an_output_in_a_loop_of_links_is_told(shell: Command, tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")

    ran = shell("tf-cluster generate good.yaml -o a")

    assert (ran.returncode, ran.stderr) == (
        2,
        "tf-cluster: a: can't be written: Too many levels of symbolic links\n",
    )
    assert (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_a_file_whose_name_is_no_utf_8_is_checked(tmp_path: Path, form: str) -> None:
    name = os.fsencode(tmp_path) + b"/ok\xff.yaml"
    with open(name, "w") as file:  # noqa: PTH123 (a name of bytes)
        file.write(GOOD + "nope: 1\n")

    ran = subprocess.run(
        (sys.executable, "-m", "tf_cluster", "validate", "--format", form, name),
        cwd=tmp_path,
        capture_output=True,
        timeout=HANG_SECONDS,
        check=False,
    )

    assert (ran.returncode, ran.stderr) == (1, b"1 error\n")
    assert "TFC201" in ran.stdout.decode("utf-8")


def test_values_of_a_file_whose_name_is_no_utf_8_are_written(tmp_path: Path) -> None:
    with open(os.fsencode(tmp_path) + b"/ok\xff.yaml", "w") as file:  # noqa: PTH123
        file.write(GOOD)

    ran = subprocess.run(
        (sys.executable, "-m", "tf_cluster", "generate", b"ok\xff.yaml", "-o", b"v\xff.yaml"),
        cwd=tmp_path,
        capture_output=True,
        timeout=HANG_SECONDS,
        check=False,
    )

    next_one = b"helm install a charts/tf-cluster -f 'v\\udcff.yaml'"
    assert (ran.returncode, ran.stderr) == (0, b"wrote v\\udcff.yaml. Next: " + next_one + b"\n")
    with open(os.fsencode(tmp_path) + b"/v\xff.yaml") as file:  # noqa: PTH123
        assert yaml.safe_load(file)["fullnameOverride"] == "a"


WROTE = "wrote v.yaml. Next: helm install a charts/tf-cluster -f v.yaml\n"
FULL = "tf-cluster: standard output can't be written: No space left on device\n"


@pytest.mark.parametrize(
    "arguments", ["validate bad.yaml", "generate good.yaml", "--help", "--version", "init -"]
)
def test_a_full_disk_behind_stdout_is_told(shell: Command, arguments: str) -> None:
    ran = shell(f"tf-cluster {arguments} > /dev/full")

    assert (ran.returncode, ran.stderr.splitlines()[-1] + "\n") == (2, FULL)
    assert "Traceback" not in ran.stderr
    assert "Exception" not in ran.stderr


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("tf-cluster validate good.yaml >&-", 0, "1 file checked: good\n"),
        (
            "tf-cluster validate bad.yaml >&-",
            2,
            "tf-cluster: standard output can't be written: Bad file descriptor\n",
        ),
        (
            "tf-cluster generate good.yaml >&-",
            2,
            "tf-cluster: standard output can't be written: Bad file descriptor\n",
        ),
        (
            "tf-cluster validate - <&-",
            2,
            "tf-cluster: <stdin>: can't be read: Bad file descriptor\n",
        ),
        ("tf-cluster generate good.yaml -o v.yaml <&- >&-", 0, WROTE),
    ],
)
def test_a_closed_stream_is_told_where_it_is_needed(
    shell: Command, line: str, code: int, words: str
) -> None:
    ran = shell(line)

    assert (ran.returncode, ran.stdout, ran.stderr) == (code, "", words)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("tf-cluster generate good.yaml 2>&-", 0),
        ("tf-cluster generate bad.yaml 2>&-", 1),
        ("tf-cluster generate bad.yaml 2>/dev/full", 1),
        ("tf-cluster generate nope.yaml 2>&-", 2),
        ("tf-cluster --nope 2>&-", 2),
    ],
)
def test_words_that_nobody_takes_do_not_get_into_the_data(
    shell: Command, line: str, code: int
) -> None:
    ran = shell(line)

    assert ran.returncode == code
    assert ran.stdout == (shell("tf-cluster generate good.yaml").stdout if code == 0 else "")


def test_a_file_written_with_closed_streams_holds_the_values_alone(
    shell: Command, tmp_path: Path
) -> None:
    shell("tf-cluster generate good.yaml -o v.yaml")
    expected = (tmp_path / "v.yaml").read_text()
    (tmp_path / "v.yaml").unlink()

    shell("tf-cluster generate good.yaml -o v.yaml <&- >&- 2>&-")

    assert (tmp_path / "v.yaml").read_text() == expected


@pytest.mark.parametrize("arguments", ["generate good.yaml", "validate many.yaml", "--help"])
def test_a_reader_that_goes_away_is_exit_2_and_no_word(
    shell: Command, tmp_path: Path, arguments: str
) -> None:
    (tmp_path / "many.yaml").write_text("".join(f"k{i}: 1\n" for i in range(2_000)))

    ran = shell(f"tf-cluster {arguments} | true; exit ${{PIPESTATUS[0]}}")

    assert ran.returncode == 2
    assert ran.stderr == ""


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_file_that_can_not_be_read_is_in_the_report_of_programs(
    tf_cluster: Command, form: str
) -> None:
    ran = tf_cluster("validate", "--format", form, "nope.yaml")

    why = "nope.yaml: there is no such file"
    document = yaml.safe_load(ran.stdout)  # JSON is YAML
    assert (ran.returncode, ran.stderr) == (2, f"tf-cluster: {why}\n")
    if form == "json":
        assert document["unread"] == [{"file": "nope.yaml", "why": why}]
    else:
        (invocation,) = document["runs"][0]["invocations"]
        assert invocation["executionSuccessful"] is False
        assert why in invocation["toolExecutionNotifications"][0]["message"]["text"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("mkdir -p runs/a/lock", "runs/a/lock: can't be locked: Is a directory"),
        (
            "mkdir -p runs/a && mkfifo runs/a/lock",
            "runs/a/lock: can't be locked: not a regular file",
        ),
        (
            "mkdir -p runs/a/logs/chief-0.log.1/x && touch runs/a/logs/chief-0.log",
            "runs/a/logs/chief-0.log: can't be kept as chief-0.log.1: Is a directory",
        ),
    ],
)
def test_a_folder_of_runs_that_is_in_the_way_is_told(
    tf_cluster: Command, tmp_path: Path, make: str, words: str
) -> None:
    subprocess.run(("bash", "-c", make), cwd=tmp_path, check=True)

    ran = tf_cluster("run", "-", stdin=GOOD, TF_CLUSTER_TRAINER=str(fake_trainer(tmp_path)))

    assert ran.returncode == 2
    assert ran.stderr == f"tf-cluster: {tmp_path}/{words}\n"


def _sections(values: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield (*path, key)
            yield from _sections(value, (*path, key))


@pytest.mark.parametrize("wrong", [True, "x", [1], [{}], 5])
def test_a_section_of_extra_values_that_is_no_mapping_is_a_finding(wrong: Any) -> None:
    for path in _sections(chart_values()):
        values: Any = wrong
        for key in reversed(path):
            values = {key: values}

        assert found(GOOD + json.dumps({"extraValues": values})[1:-1]), path
