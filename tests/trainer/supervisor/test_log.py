"""The log of a task: text as it always was, or one JSON object a line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer.log import LONGEST, MARK, Line
from tf_cluster_trainer.supervisor.process.output import MOST_SECONDS, Lines, Output

from tests.support.waiting import eventually

from .conftest import MakeWorld
from .supervisors import Task

JSON = {"TF_CLUSTER_LOG_FORMAT": "json"}
UGLY = (
    b"bytes that are no text: \xff\xfe\n"
    b'a NUL \x00, a bell \x07, an escape \x1b[31m, a quote " and \\\n'
    b'\x1e{"message": 7}\n'
    b"[1, 2, 3]\n"
    b'{"severity": "DEBUG", "message": "of the program"}\n'
    b"\xe2\x80\xa8 and \xf0\x9f\x90\x99\r\n"
    b"\n"
)


def records(task: Task) -> list[dict[str, Any]]:
    """Every line of its log is one JSON object."""
    return [json.loads(line) for line in task.log.read_bytes().decode("utf-8").splitlines()]


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().split(b"\n")[:-1]


def test_every_line_of_every_task_is_a_record_with_run_attempt_task_and_step(
    make_world: MakeWorld,
) -> None:
    world = make_world(steps=40)
    tasks = world.start_all(**JSON)
    chief, worker, ps = tasks
    assert chief.ends() == worker.ends() == 0
    ps.stop()
    ps.ends()

    for task in tasks:
        said = [json.loads(line) for line in lines_of(task.log)]
        role = task.name.partition("-")[0]
        for record in said:
            whose = {key: record[key] for key in ("release", "run", "attempt", "task", "role")}
            assert whose == {
                **{"release": "digits", "run": "1", "attempt": "a1"},
                **{"task": task.name, "role": role},
            }
            assert record["index"] == 0
            assert record["time"].endswith("Z")
            assert datetime.fromisoformat(record["time"].replace("Z", "+00:00"))
            assert record["severity"] in ("INFO", "WARNING", "ERROR")
            assert record["message"]
        assert [one["step"] for one in said if "step" in one] == sorted(
            one["step"] for one in said if "step" in one
        )
        assert "step" in said[-1], task.name

    last = records(chief)[-1]
    assert (last["message"].partition(":")[0], last["step"]) == ("done, exit code 0", 40)


def test_the_chief_tells_the_numbers_of_its_progress(make_world: MakeWorld) -> None:
    chief, _, _ = make_world(steps=40).start_all(**JSON)
    assert chief.ends() == 0

    told = [one for one in records(chief) if one.get("event") == "progress"]
    assert [one["step"] for one in told] == list(range(1, 41))
    last = told[-1]
    assert (last["total"], last["percent"], last["loss"]) == (40, 100.0, 1 / 40)
    assert (last["stepsPerSecond"], last["etaSeconds"]) == (50.0, 0.0)
    assert (last["examples"], last["workers"]) == (320, {"0": 40})
    assert last["message"] == (
        "running 100.0%, step 40 of 40, 50 steps/s, ETA 0:00, loss 0.025, workers 40"
    )


def test_what_a_child_prints_becomes_one_record_a_line(make_world: MakeWorld) -> None:
    world = make_world()
    chief, _, _ = world.start_all(**JSON)
    chief.until(status="running")
    printed = world.directory / "printed"
    printed.write_bytes(UGLY)
    chief.do(f"print stdout {printed}")

    def there() -> list[dict[str, Any]] | None:
        raw = [one for one in records(chief) if "stream" in one]
        return raw if len(raw) >= UGLY.count(b"\n") else None

    raw = eventually("what the child printed", there)
    assert [one["message"] for one in raw] == [
        line.decode("utf-8", "replace").removesuffix("\r") for line in UGLY.split(b"\n")[:-1]
    ]
    assert {one["stream"] for one in raw} == {"stdout"}
    # A program's own words are a message: they change no field.
    assert not any("severity" in one for one in raw)
    assert {(one["run"], one["task"]) for one in raw} == {("1", "chief-0")}


def test_a_child_that_is_killed_loses_no_line(make_world: MakeWorld) -> None:
    world = make_world()
    chief, worker, _ = world.start_all(**JSON)
    first = worker.child(1)
    chief.until(status="running")
    printed = world.directory / "printed"
    printed.write_bytes(b"".join(b"line %d\n" % number for number in range(5000)) + b"without end")
    # It blocks in this print until all is read; the stop keeps its last bytes in the pipe.
    worker.do(f"print stderr {printed}")
    eventually("the child prints", lambda: "line 0" in worker.said())
    os.kill(first, signal.SIGKILL)
    worker.child(2)

    said = [one["message"] for one in records(worker) if one.get("stream") == "stderr"]
    assert said == [f"line {number}" for number in range(len(said) - 1)] + [said[-1]]
    assert said[-1] == "without end" or said[-1] == f"line {len(said) - 1}"[: len(said[-1])]
    again = [one for one in records(worker) if "starting it again" in one["message"]]
    assert again and again[0]["severity"] == "WARNING"
    # Its last words come before what the supervisor says of its end.
    everything = records(worker)
    assert max(n for n, one in enumerate(everything) if "stream" in one) < everything.index(
        again[0]
    )


def test_a_process_that_holds_the_childs_pipes_keeps_nobody_waiting(make_world: MakeWorld) -> None:
    world = make_world()
    chief, worker, _ = world.start_all(**JSON)
    chief.until(status="running")
    worker.do("leave 45")
    eventually("the order is taken", lambda: not (world.children / "worker-0.do").exists())
    began = time.monotonic()
    worker.do("exit 41")
    worker.child(2)
    assert time.monotonic() - began < 30
    chief.do("finish")
    assert chief.ends() == worker.ends() == 0


def test_lines_of_two_streams_and_of_the_supervisor_are_never_mixed(make_world: MakeWorld) -> None:
    world = make_world()
    chief, _, _ = world.start_all(**JSON)
    chief.until(status="running")
    long = world.directory / "long"
    long.write_bytes(b"x" * 300_000 + b"\n" + "é".encode() * 30_000 + b"\nthe end\n")
    for number, stream in enumerate(("stdout", "stderr"), start=1):
        chief.do(f"print {stream} {long}")

        def ended(times: int = number) -> bool:
            return chief.log.read_bytes().count(b'"the end"') == times

        eventually(f"the end on {stream}", ended)

    assert max(map(len, lines_of(chief.log))) < 16 * 1024
    for stream in ("stdout", "stderr"):
        parts = [one for one in records(chief) if one.get("stream") == stream]
        whole, text = [], ""
        for one in parts:
            text += one["message"]
            if not one.get("partial"):
                whole.append(text)
                text = ""
        assert whole == ["x" * 300_000, "é" * 30_000, "the end"]


def test_text_is_the_default_and_the_childs_output_is_the_supervisors_own(
    make_world: MakeWorld,
) -> None:
    world = make_world()
    chief, _, _ = world.start_all()
    chief.until(status="running")
    child = chief.child(1)
    for number in (1, 2):
        assert Path(f"/proc/{child}/fd/{number}").readlink() == chief.log
    printed = world.directory / "printed"
    printed.write_bytes(UGLY)
    chief.do(f"print stderr {printed}")
    eventually("what the child printed", lambda: UGLY in chief.log.read_bytes())
    environment = Path(f"/proc/{child}/environ").read_bytes()
    assert b"TF_CLUSTER_LOG" not in environment
    chief.do("finish")
    assert chief.ends() == 0
    rest = chief.log.read_bytes().replace(UGLY, b"").decode()
    assert all(line[20:30] == " chief-0: " for line in rest.splitlines()), rest


def test_a_format_that_is_not_known_is_refused(make_world: MakeWorld) -> None:
    chief = make_world().start("chief", TF_CLUSTER_LOG_FORMAT="xml")
    assert chief.ends() == 2
    assert "TF_CLUSTER_LOG_FORMAT is 'xml', not text or json" in chief.said()


def test_a_configuration_that_is_wrong_is_a_record_of_its_run(make_world: MakeWorld) -> None:
    world = make_world()
    known = {
        "TF_CLUSTER_RELEASE": "digits",
        "TF_CLUSTER_RUN": "7",
        "TF_CLUSTER_ATTEMPT": "a1",
        "TF_CLUSTER_CONFIG": str(world.directory / "nowhere"),
    }
    chief = world.start("chief", 0, **JSON, **known)
    assert chief.ends() == 2
    (record,) = records(chief)
    assert record["severity"] == "ERROR"
    assert "cluster.json: No such file" in record["message"]
    assert (record["release"], record["run"], record["attempt"]) == ("digits", "7", "a1")
    assert (record["task"], record["index"], "step" in record) == ("chief-0", 0, False)


def test_an_error_of_the_supervisor_itself_is_a_record(make_world: MakeWorld) -> None:
    world = make_world()
    # The run's directory is one thing; this breaks the supervisor where nobody expects it.
    program = (
        "import os, sys\n"
        "from tf_cluster_trainer.supervisor import main\n"
        "main.load = lambda environment: 1 / 0\n"
        "main.supervise(os.environ, [])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **JSON, "TF_CLUSTER_CONFIG": str(world.write())},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (1, "")
    record = json.loads(done.stdout)
    assert record["severity"] == "CRITICAL"
    assert record["message"].endswith("ZeroDivisionError: division by zero")


@pytest.mark.parametrize("environment", [{}, JSON], ids=["text", "json"])
def test_a_log_that_nobody_reads_any_more_ends_the_task(
    make_world: MakeWorld, environment: dict[str, str]
) -> None:
    world = make_world()
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as stream:
        process = subprocess.run(
            [sys.executable, "-c", "from tf_cluster_trainer.supervisor import main; main.main()"],
            stdout=stream,
            stderr=stream,
            env={**os.environ, **environment, "TF_CLUSTER_CONFIG": str(world.write())},
        )
    assert process.returncode not in (0, 2)


@pytest.mark.parametrize(
    ("line", "severity"),
    [
        ("2026-11-25 01:02:03.123456: W tensorflow/core/x.cc:1] words", "WARNING"),
        ("2026-11-25 01:02:03.123456: F tensorflow/core/x.cc:1] words", "CRITICAL"),
        ("I0000 00:00:1764032523.123456     123 x.cc:1] words", "INFO"),
        ("E1125 01:02:03.123456 140 x.py:1] words", "ERROR"),
        ("WARNING:tensorflow:words", "WARNING"),
        ("/usr/lib/x.py:12: DeprecationWarning: words", "WARNING"),
        ("Error: words", None),
        ("", None),
    ],
)
def test_a_line_that_says_its_severity_has_it(line: str, severity: str | None) -> None:
    assert Lines().feed(f"{line}\n".encode()) == [Line(line, severity)]


def test_a_traceback_is_one_record() -> None:
    text = 'Traceback (most recent call last):\n  File "x", line 1, in f\n    1 / 0\nValueError: no'
    lines = Lines()
    assert lines.feed(f"before\n{text[:50]}".encode()) == [Line("before")]
    assert lines.holds
    assert lines.feed(f"{text[50:]}\nafter\n".encode()) == []
    assert lines.idle() == [Line(text, "ERROR"), Line("after")]
    assert not lines.holds


def printed(program: str) -> str:
    """What Python prints of the exception that ends this program."""
    done = subprocess.run(
        (sys.executable, "-c", textwrap.dedent(program)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.startswith("Traceback")
    return done.stderr


@pytest.mark.parametrize(
    "program",
    [
        "try: 1 / 0\nexcept ZeroDivisionError: {}['b']",
        "try: 1 / 0\nexcept ZeroDivisionError as e: raise ValueError('no') from e",
        "try: raise ValueError('a\\nb\\n\\n  c\\n')\nexcept ValueError: {}['b']",
        """
        try:
            try: 1 / 0
            except ZeroDivisionError as e: raise ValueError('a\\n\\nb') from e
        except ValueError:
            {}['c']
        """,
    ],
)
def test_a_chain_of_tracebacks_is_one_record(program: str) -> None:
    text = printed(program)
    lines = Lines()
    given = lines.feed(f"before\n{text}/x.py:1: UserWarning: words\n".encode())
    assert given == [
        Line("before"),
        Line(text.removesuffix("\n"), "ERROR"),
        Line("/x.py:1: UserWarning: words", "WARNING"),
    ]
    assert not lines.holds


def test_two_tracebacks_that_are_no_chain_are_two_records() -> None:
    text = printed("1 / 0")
    one = Line(text.removesuffix("\n"), "ERROR")
    lines = Lines()
    assert [*lines.feed(f"{text}{text}".encode()), *lines.idle()] == [one, one]
    assert [*lines.feed(f"{text}\n{text}".encode()), *lines.idle()] == [one, Line(""), one]


def test_a_message_of_several_lines_ends_what_is_known_of_a_traceback() -> None:
    text = printed("raise ValueError('a\\nb')")
    *known, more, _ = text.split("\n")
    lines = Lines()
    assert lines.feed(text.encode()) == []
    assert lines.idle() == [Line("\n".join(known), "ERROR"), Line(more)]


def test_what_follows_a_traceback_is_held_to_a_bound() -> None:
    text = printed("1 / 0")
    lines = Lines()
    said = f"{'x' * 99}\n" * 200
    given = lines.feed(f"{text}{said}".encode())
    assert given[0] == Line(text.removesuffix("\n"), "ERROR")
    assert [line.message for line in given[1:]] == said.split("\n")[:-1]
    assert not lines.holds
    text = text.replace("1 / 0", f"1 / 0  # {'x' * 3000}", 1)
    chain = f"\n{'During handling of the above exception, another exception occurred:'}\n\n"
    given = lines.feed(chain.join([text.replace("<module>", "x" * 3000)] * 9).encode())
    assert given
    assert max(len(line.message) for line in given) < 2 * LONGEST


def test_a_traceback_is_written_although_the_program_goes_on_to_print() -> None:
    written: list[tuple[float, Line]] = []
    output = Output(lambda line, _: written.append((time.monotonic(), line)))
    stdout, stderr = (os.dup(end) for end in output.ends)
    output.begin()
    began = time.monotonic()
    os.write(stderr, printed("1 / 0").encode())

    def there() -> bool:
        os.write(stdout, b"on and on\n")
        os.write(stderr, b"on\n")
        return any(line.severity == "ERROR" for _, line in written)

    eventually("the traceback", there)
    assert next(at for at, line in written if line.severity) - began < MOST_SECONDS + 5
    for end in (stdout, stderr):
        os.close(end)
    output.drain(5, 5)


def test_a_traceback_without_an_end_is_not_held_for_ever() -> None:
    lines = Lines()
    assert lines.feed(b"Traceback (most recent call last):\n  File\n") == []
    assert [line.severity for line in lines.idle()] == ["ERROR"]
    assert lines.feed(b"Traceback (most recent call last):\n") == []
    assert [line.message for line in lines.end()] == ["Traceback (most recent call last):"]


def test_a_record_of_ours_keeps_its_severity_also_after_a_line_without_an_end() -> None:
    ours = f'{MARK}{{"severity": "ERROR", "message": "a\\nb"}}\n'
    assert Lines().feed(f"10% {ours}".encode()) == [Line("10% "), Line("a\nb", "ERROR")]


def test_the_same_bytes_give_the_same_lines_however_they_come() -> None:
    data = UGLY + "ä".encode() * LONGEST + b"\n" + b"Traceback (most recent call last):\n  x\ny\nz"
    whole = Lines()
    expected = [*whole.feed(data), *whole.end()]
    for size in (1, 7, 4096):
        lines = Lines()
        given = [
            line for at in range(0, len(data), size) for line in lines.feed(data[at : at + size])
        ]
        assert [*given, *lines.end()] == expected


def test_the_last_words_are_waited_for_while_they_come() -> None:
    written: list[str] = []

    def slowly(line: Line, _: str) -> None:
        time.sleep(0.05)
        written.append(line.message)

    output = Output(slowly)
    held = os.dup(output.ends[0])
    output.begin()
    os.write(held, b"a line\n" * 20)
    os.close(held)
    # No line takes as long as the quiet that ends it, all of them do.
    output.drain(quiet=0.5, most=60)
    assert written == ["a line"] * 20


@pytest.mark.parametrize(
    ("quiet", "most", "prints"),
    [(0.5, 600, False), (600, 2, True)],
    ids=["silent", "prints-without-end"],
)
def test_who_holds_the_pipes_is_not_waited_for_longer_than_that(
    quiet: float, most: float, prints: bool
) -> None:
    output = Output(lambda *_: None)
    held = os.dup(output.ends[0])
    output.begin()
    ended = threading.Event()

    def print_on() -> None:
        while prints and not ended.wait(0.01):
            os.write(held, b"more\n")

    printer = threading.Thread(target=print_on)
    printer.start()
    output.drain(quiet, most)
    ended.set()
    printer.join()
    os.close(held)
