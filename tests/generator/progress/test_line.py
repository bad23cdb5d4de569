"""The one reader of the progress line, against both of its writers: the tool and the trainer."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import product

import pytest
from tf_cluster.progress.document import Progress, read_message
from tf_cluster.progress.line import Wait, newest, newest_wait, read_line
from tf_cluster.progress.text import progress_line
from tf_cluster_trainer.log import as_json
from tf_cluster_trainer.supervisor.log import TextLog
from tf_cluster_trainer.supervisor.rules.gate import Missing, Peer, waiting_for
from tf_cluster_trainer.supervisor.status import progress_line as trainers
from tf_cluster_trainer.supervisor.status import termination
from tf_cluster_trainer.supervisor.status.document import Document

DOCUMENT = Document(
    attempt="1c3a5f70",
    start=0.0,
    total=2000,
    examples_per_step=32,
    status="running",
    step=1200,
    examples=38400,
    steps_per_second=412.0,
    eta_seconds=4000.0,
    loss=0.31,
    workers={"0": 610, "1": 590},
)
WHOLE = Progress(
    status="running",
    step=1200,
    total=2000,
    percent=60.0,
    steps_per_second=412.0,
    eta_seconds=4000.0,
    loss=0.31,
    workers={"0": 610, "1": 590},
)
LINE = "running 60.0%, step 1200 of 2000, 412 steps/s, ETA 1:06:40, loss 0.31, workers 610 590"


def test_the_tool_and_the_trainer_write_the_same_line() -> None:
    assert trainers.progress_line(DOCUMENT) == progress_line(WHOLE) == LINE


@pytest.mark.parametrize(
    "before", ["", "digits: ", "2026-11-25T01:26:43Z chief-0: ", "[pod/digits-chief-0/chief] "]
)
def test_a_line_is_read_as_it_was_written_whatever_stands_before_it(before: str) -> None:
    assert read_line(f"{before}{LINE}\n") == WHOLE


def test_a_termination_message_is_read_as_it_was_written() -> None:
    ended = replace(DOCUMENT, status="failed", final=True, message='no such module: "digitz"')
    shown = replace(WHOLE, status="failed", final=True, message='no such module: "digitz"')
    assert read_message(termination.message(ended).decode()) == shown


@pytest.mark.parametrize("message", ["", "Traceback (most recent call last):", "{}", "[1]", "7"])
def test_what_is_no_termination_message_of_ours_is_none(message: str) -> None:
    assert read_message(message) is None


def test_every_choice_of_known_figures_is_read() -> None:
    names = ("steps_per_second", "eta_seconds", "loss", "workers")
    for known in product((True, False), repeat=len(names)):
        unknown = {name: None for name, is_known in zip(names, known, strict=True) if not is_known}
        if "workers" in unknown:
            unknown["workers"] = {}  # type: ignore[assignment]
        progress = replace(WHOLE, **unknown)  # type: ignore[arg-type]
        assert read_line(progress_line(progress)) == progress


@pytest.mark.parametrize(
    ("rate", "written"),
    [(412.0, "412"), (1.0, "1"), (0.49, "0.49"), (0.0312, "0.031"), (1e-06, "1e-06")],
)
def test_a_rate_is_written_alike_by_both_and_read_as_far(rate: float, written: str) -> None:
    ours = progress_line(replace(WHOLE, steps_per_second=rate))
    assert f", {written} steps/s" in ours
    assert trainers.progress_line(replace(DOCUMENT, steps_per_second=rate)) == ours
    read = read_line(ours)
    assert read is not None and read.steps_per_second == float(written)


@pytest.mark.parametrize("loss", [0.0, 1e-05, 123456.0, -0.5, 1e20])
def test_every_loss_is_read_as_far_as_it_is_written(loss: float) -> None:
    read = read_line(progress_line(replace(WHOLE, loss=loss)))
    assert read is not None and read.loss == float(f"{loss:.3g}")


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("waiting", "waiting for worker-1 (10.0.0.7): 3 of 4 serve"),
        ("saving", "saving"),
        ("starting", "starting again: worker-1 is lost"),
    ],
)
def test_a_status_with_words_has_them(status: str, message: str) -> None:
    line = progress_line(replace(WHOLE, status=status, message=message))
    assert read_line(line) == replace(
        WHOLE, status=status, message="" if message == status else message
    )


def test_a_record_of_the_trainer_is_read_whole() -> None:
    exact = replace(DOCUMENT, loss=0.31415926, steps_per_second=412.25)
    record = {
        "time": "2026-11-25T01:26:43.277Z",
        "message": trainers.progress_line(exact),
        "task": "chief-0",
        "event": "progress",
        **trainers.progress_numbers(exact),
    }
    expected = replace(WHOLE, loss=0.31415926, steps_per_second=412.25)
    assert read_line(as_json(record)) == expected
    assert read_line(f"[pod/digits-chief-0/chief] {as_json(record)}") == expected


def test_the_line_of_a_log_for_people_is_read_and_comes_every_ten_seconds() -> None:
    now = [100.0]
    written = io.StringIO()
    log = TextLog("chief-0", written, lambda: now[0])
    for second in range(25):
        now[0] = 100.0 + second
        log.progress(replace(DOCUMENT, step=1200 + second))
    lines = written.getvalue().splitlines()
    assert [read_line(line).step for line in lines] == [1200, 1210, 1220]  # type: ignore[union-attr]
    assert read_line(lines[0]) == WHOLE


def test_whom_a_client_waits_for_is_read_as_its_gate_writes_it() -> None:
    peers = {name: Peer(name, f"digits-{name}.digits:8080") for name in ("worker-1", "worker-3")}
    absent = [Missing(peer, "not heard of yet") for peer in peers.values()]
    absent.append(Missing(Peer("ps-0", "digits-ps-0.digits:8080"), "not serving yet"))
    line = waiting_for(absent, 7, 61.4, 1800.0, "kubectl get pods")
    reasons = (
        "worker-1 (digits-worker-1.digits), worker-3 (digits-worker-3.digits): not heard of yet; "
        "ps-0 (digits-ps-0.digits): not serving yet"
    )
    wait = Wait(("worker-1", "worker-3", "ps-0"), 61, reasons)

    stamped = f"2026-11-28T06:11:49Z chief-0: {line}"
    record = as_json({"time": "2026-11-28T06:11:49Z", "message": line, "task": "chief-0"})
    for said in (line, stamped, record):
        assert newest_wait(["words", said, "other words"]) == wait
    without_hint = waiting_for(absent, 7, 61.4, 1800.0, "")
    assert newest_wait([without_hint]) == wait
    assert newest_wait([stamped, LINE]) is None
    assert newest_wait(["words"]) is None


@pytest.mark.parametrize(
    "line",
    [
        "",
        "2026-11-25T01:26:43Z chief-0: training from step 0 to 2000",
        "first step after 3.1 s; running on step 4 of 5",
        json.dumps({"message": LINE, "event": "other"}),
        '{"event": "progress"',
        '["event", {"a": 1}]',
    ],
)
def test_other_lines_are_none(line: str) -> None:
    assert read_line(line) is None


def test_the_newest_of_a_log_is_its_last() -> None:
    later = progress_line(replace(WHOLE, step=1300, percent=65.0))
    found = newest([LINE, "words", later, "done, exit code 0: done at step 2000 of 2000"])
    assert found is not None and found.step == 1300
    assert newest(["words"]) is None
