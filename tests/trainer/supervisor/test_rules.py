"""The plain functions: final states, the gate, the pace, the steps saved, the document."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.config import COMBINATIONS, Task
from tf_cluster_trainer.run_directory.owner import Owner, create_owner, replace_owner
from tf_cluster_trainer.supervisor.gate_log import GateLog
from tf_cluster_trainer.supervisor.rules import chief_turn, gate
from tf_cluster_trainer.supervisor.rules.actions import StartChild
from tf_cluster_trainer.supervisor.rules.chief import decide
from tf_cluster_trainer.supervisor.rules.events import (
    ChildEnded,
    ChildSaid,
    Event,
    PeerSeen,
    RunSeen,
    StandingChanged,
    StandingLooked,
    Tick,
)
from tf_cluster_trainer.supervisor.rules.final_state import ends
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED, Health, Peer
from tf_cluster_trainer.supervisor.rules.restart import how_it_ended
from tf_cluster_trainer.supervisor.rules.stall import Replaced
from tf_cluster_trainer.supervisor.rules.standing import Owning
from tf_cluster_trainer.supervisor.rules.visits import Visits, with_job
from tf_cluster_trainer.supervisor.saved_step import saved_step
from tf_cluster_trainer.supervisor.status.counts import NOTHING_COUNTED
from tf_cluster_trainer.supervisor.status.document import (
    DONE,
    RUNNING,
    STARTING,
    WAITING,
    Document,
    as_bytes,
)
from tf_cluster_trainer.supervisor.status.metrics import text
from tf_cluster_trainer.supervisor.status.pace import Pace
from tf_cluster_trainer.supervisor.status.progress_file import ProgressFile, read_progress
from tf_cluster_trainer.supervisor.status.server import Board, Condition
from tf_cluster_trainer.supervisor.timing import Timing

from tests.trainer.simulation.attempt import Attempt

from .supervisors import SCHEMAS

CHIEF = Task("chief", 0, "job", "pod")
WORKER_0 = Task("worker", 0, "job", "pod")
FORMATS = Path(__file__).resolve().parents[3] / "docs" / "formats.md"
DOCUMENT = Document(attempt="a1", start=1.0, total=2000, examples_per_step=64)


@pytest.mark.parametrize(
    ("worker", "from_file", "acts"),
    [
        ("mine", False, True),
        ("mine", True, True),
        ("another", False, False),
        ("another", True, False),
        (None, False, True),
        (None, True, False),
    ],
)
def test_a_worker_acts_on_its_own_attempts_final_state(
    worker: str | None, from_file: bool, acts: bool
) -> None:
    document = {"final": True, "attempt": "a1", "jobUids": {"worker": worker}}
    assert ends(document, "a1", "mine", from_file=from_file) is acts
    assert not ends({**document, "attempt": "a2"}, "a1", "mine", from_file=from_file)
    assert not ends({**document, "final": False}, "a1", "mine", from_file=from_file)


@pytest.mark.parametrize("document", [{}, {"final": True}, {"final": True, "jobUids": 3}])
def test_a_document_that_is_not_one_ends_nobody(document: dict[str, object]) -> None:
    assert not ends(document, "a1", "mine", from_file=True)


@pytest.mark.parametrize(
    ("status", "uid"), [(STARTING, "new"), (WAITING, "new"), (RUNNING, "old"), (DONE, "old")]
)
def test_the_latest_workers_job_is_the_attempts_until_training_begins(
    status: str, uid: str
) -> None:
    board = Board(CHIEF, DOCUMENT)
    board.visited("worker-0", "old")
    board.show(replace(DOCUMENT, status=status), Condition(False, None, 0))
    board.visited("ps-0", "none")
    board.visited("worker-1", "")
    assert board.visited("worker-1", "new").worker_uid == uid
    board.show(replace(DOCUMENT, status=RUNNING), Condition(False, None, 0))
    assert board.visited("worker-0", "old").worker_uid == uid


def test_worker_0_knows_the_workers_job_for_itself() -> None:
    board = Board(WORKER_0, replace(DOCUMENT, worker_uid="ours"))
    assert board.visited("worker-1", "another").worker_uid == "ours"


def test_a_worker_that_is_first_heard_of_at_the_end_is_known() -> None:
    board = Board(CHIEF, replace(DOCUMENT, status=DONE))
    assert board.visited("worker-0", "first").worker_uid == "first"


@pytest.mark.parametrize(
    ("changes", "asked", "known"),
    [
        ({"status": WAITING}, [(0, "first"), (1, "second")], "second"),
        ({"status": RUNNING}, [(0, "first"), (1, "second")], "first"),
        ({"status": RUNNING}, [(0, "first"), (1, "second"), (11, "second")], "second"),
        ({"status": RUNNING}, [(0, "first"), (1, "second"), (6, "first"), (11, "second")], "first"),
        ({"status": RUNNING}, [(0, "first"), (1, ""), (11, "")], "first"),
        ({"status": DONE, "final": True}, [(0, "first"), (1, "second"), (11, "second")], "first"),
        ({"status": DONE, "final": True}, [(0, "first")], "first"),
    ],
)
def test_another_evaluators_job_is_the_attempts_when_it_alone_has_asked_for_a_while(
    changes: dict[str, Any], asked: list[tuple[float, str]], known: str
) -> None:
    """The chief may be that of an uninstalled release with the same name, and about to end."""
    document, visits = DOCUMENT, Visits()
    for now, job in asked:
        visits = visits.asked("evaluator-0", job, now)
        document = with_job(replace(document, **changes), visits, "chief-0", "evaluator-0")
    assert document.evaluator_uid == known


@pytest.mark.parametrize("kind", ["worker", "evaluator"])
def test_a_chief_that_ends_takes_no_other_job_for_its_own(kind: str) -> None:
    board = Board(CHIEF, replace(DOCUMENT, status=WAITING))
    board.visited(f"{kind}-0", "first")
    board.know_no_other_job()
    assert getattr(board.visited(f"{kind}-0", "second"), f"{kind}_uid") == "first"


@pytest.mark.parametrize("kind", ["worker", "evaluator"])
def test_a_chief_that_ends_learns_the_first_job_it_hears_of(kind: str) -> None:
    board = Board(CHIEF, replace(DOCUMENT, status=WAITING))
    board.know_no_other_job()
    assert getattr(board.visited(f"{kind}-0", "first"), f"{kind}_uid") == "first"


PS, WORKER = Peer("ps-0", "ps-0.host:8080"), Peer("worker-0", "worker-0.host:8080")
SERVING_PS = Health(True, "pod/2", "a1", "ps-0")
SERVING_WORKER = Health(True, None, "a1", "worker-0")


def absent(ps: Health, worker: Health, bound: str = "ps") -> dict[str, str]:
    seen = {"ps-0": ps, "worker-0": worker}
    missing = gate.missing((PS, WORKER), seen, "a1", "pod/2", bound)
    return {one.peer.task: one.reason for one in missing}


def test_the_gate_opens_when_all_serve_and_every_ps_has_the_chiefs_epoch() -> None:
    assert absent(SERVING_PS, SERVING_WORKER) == {}


def test_with_all_reduce_every_worker_needs_the_chiefs_epoch() -> None:
    late = replace(SERVING_WORKER, epoch="pod/1")
    assert absent(SERVING_PS, late, bound="worker") == {
        "worker-0": "about to start afresh for this chief"
    }
    assert absent(SERVING_PS, replace(late, epoch="pod/2"), bound="worker") == {}


def test_the_gate_says_why_it_is_shut() -> None:
    assert absent(replace(SERVING_PS, epoch="pod/1"), NOT_ASKED) == {
        "ps-0": "about to start afresh for this chief",
        "worker-0": "not heard of yet",
    }
    assert absent(replace(SERVING_PS, serving=False), replace(SERVING_WORKER, attempt="b")) == {
        "ps-0": "not serving yet (TensorFlow is starting)",
        "worker-0": "serves another attempt (b)",
    }
    assert absent(replace(SERVING_PS, task="worker-7"), SERVING_WORKER) == {
        "ps-0": "worker-7 answers in its place"
    }


def test_the_gate_names_five_and_counts_the_rest() -> None:
    many = tuple(gate.Missing(Peer(f"worker-{i}", f"w{i}:1"), "refuses") for i in range(7))
    line = gate.waiting_for(many, 9, 12.4, 900.0, "kubectl get pods")
    assert line == (
        "waiting for 7 of 9 tasks, 12 s of 900 s: worker-0 (w0), worker-1 (w1), worker-2 (w2), "
        "worker-3 (w3), worker-4 (w4): refuses; and 2 more. Look at: kubectl get pods"
    )


def test_a_wait_is_logged_at_first_on_change_and_every_half_minute() -> None:
    said: list[str] = []
    now = [0.0]
    log = GateLog(said.append, lambda: now[0])
    for second in range(70):
        now[0] = float(second)
        state = "one" if second < 10 else "two"
        log.write(state, f"{state} at {second}")
    assert said == ["one at 1", "two at 10", "two at 40"]


def test_the_estimate_is_over_the_whole_run_of_the_child() -> None:
    pace = Pace(1000)
    assert pace.eta_seconds() is None
    pace.add(90, 20.0)
    pace.add(100, 50.0)
    assert (pace.steps_per_second(), pace.eta_seconds()) == (None, None)
    pace.add(200, 60.0)
    assert pace.eta_seconds() == pytest.approx(80.0)
    # A save of 10 s is spread over the run; it does not double the estimate.
    pace.add(210, 71.0)
    assert pace.eta_seconds() == pytest.approx(790 / (110 / 21))


@pytest.mark.parametrize("origin", [0, 600])
def test_a_first_step_that_is_compiled_does_not_spoil_the_estimate(origin: int) -> None:
    total, begun, compiling, rate = 1000, 12.0, 8.0, 20.0
    pace = Pace(total)
    pace.add(origin, begun)
    told = None
    first = begun + compiling  # of the first step
    for half_seconds in range(1000):
        now = first + half_seconds / 2
        step = origin + 1 + int((now - first) * rate)
        pace.add(step, now)
        if step - origin >= (total - origin) / 10:
            told = pace.eta_seconds()
            true = first + (total - origin - 1) / rate - now
            break
    assert told == pytest.approx(true, rel=0.02)


def test_no_progress_is_an_unknown_estimate_and_the_total_is_none_left() -> None:
    pace = Pace(100)
    pace.add(9, 0.5)
    pace.add(10, 1.0)
    pace.add(10, 9.0)
    assert pace.eta_seconds() is None
    pace.add(120, 10.0)
    assert pace.eta_seconds() == 0.0


def test_the_saved_step_is_that_of_the_newest_whole_checkpoint(tmp_path: Path) -> None:
    assert saved_step(tmp_path) is None
    for name, meta in {
        "ckpt-100": '{"version": 1, "step": 100}',
        "ckpt-900": '{"version": 1, "step": 900}',
        "ckpt-1000": "torn",
        ".ckpt-2000.tmp": '{"version": 1, "step": 2000}',
    }.items():
        (tmp_path / "checkpoints" / name).mkdir(parents=True)
        (tmp_path / "checkpoints" / name / "meta.json").write_text(meta)
    assert saved_step(tmp_path) == 900


def test_numbers_that_json_does_not_have_are_unknown() -> None:
    document = replace(DOCUMENT, step=10, loss=math.nan, metrics={"accuracy": math.inf})
    told = json.loads(as_bytes(document))
    jsonschema.validate(told, json.loads((SCHEMAS / "progress.schema.json").read_text()))
    assert (told["loss"], told["metrics"], told["percent"]) == (None, {"accuracy": None}, 0.5)


def test_every_exit_code_of_a_child_is_explained() -> None:
    section = FORMATS.read_text().partition("## A child that ends")[2].partition("\n## ")[0]
    codes = {value for name, value in vars(exit_codes).items() if name.isupper()}
    explained = {int(number) for number in re.findall(r"\b\d+\b", section)}
    assert codes - explained == set()


def test_every_field_of_the_document_is_required_and_explained() -> None:
    schema = json.loads((SCHEMAS / "progress.schema.json").read_text())
    page = FORMATS.read_text()
    assert sorted(schema["required"]) == sorted(schema["properties"])
    assert [name for name in schema["properties"] if f'"{name}": ' not in page] == []


def test_every_metric_has_a_name_of_its_own_and_stands_in_the_formats() -> None:
    document = replace(
        DOCUMENT, step=10, examples=640, steps_per_second=2.0, eta_seconds=9.0, loss=0.5
    )
    document = replace(document, checkpoint_step=5)
    names = [
        line.split()[2].removeprefix("tf_cluster_")
        for line in text(document, serving=False).decode().splitlines()
        if line.startswith("# TYPE ")
    ]
    page = FORMATS.read_text()
    assert sorted(names) == sorted(set(names))
    assert [name for name in names if f"`{name}`" not in page and f"`{name}{{" not in page] == []


def test_metrics_have_the_documents_numbers_and_leave_out_unknown_ones() -> None:
    document = replace(
        DOCUMENT, step=10, examples=640, steps_per_second=2.0, workers={"0": 4, "1": 6}
    )
    lines = text(document, serving=False).decode().splitlines()
    assert "tf_cluster_step 10.0" in lines
    assert "tf_cluster_examples 640.0" in lines
    assert "tf_cluster_examples_per_second 128.0" in lines
    assert 'tf_cluster_worker_steps{worker="1"} 6.0' in lines
    assert "tf_cluster_restarts_total 0.0" in lines
    assert not any(line.startswith("tf_cluster_loss") for line in lines)


def test_metrics_count_checkpoints_and_losses() -> None:
    counts = NOTHING_COUNTED
    for saved in ((1, 0.5, 10), (2, 1.5, 20, "ps"), (3, 2.5, 30, "ps")):
        counts = counts.saved(protocol.Saved(*saved))
    counts = counts.lost(["worker-1"]).lost(["ps-0", "worker-1"])
    counts = replace(counts, ps_bytes={"ps-0": 12, "ps-1": 18})
    lines = text(DOCUMENT, serving=False, counts=counts).decode().splitlines()
    assert 'tf_cluster_checkpoint_seconds_count{way="copied"} 1.0' in lines
    assert 'tf_cluster_checkpoint_seconds_count{way="ps"} 2.0' in lines
    assert 'tf_cluster_checkpoint_seconds_sum{way="ps"} 4.0' in lines
    assert 'tf_cluster_checkpoint_seconds_count{way="streamed"} 0.0' in lines
    assert "tf_cluster_checkpoint_bytes 30.0" in lines
    assert 'tf_cluster_ps_state_bytes{ps="ps-1"} 18.0' in lines
    assert 'tf_cluster_task_losses_total{task="worker-1"} 2.0' in lines
    assert 'tf_cluster_task_losses_total{task="ps-0"} 1.0' in lines


def test_progress_that_can_not_be_written_is_said_once_and_ends_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    # A file where the directory should be: reading the owner fails as a broken disk would.
    (tmp_path / "run").write_text("")
    file = ProgressFile(tmp_path / "run", "job", "pod", log=said.append)
    for second in range(5):
        file.offer(replace(DOCUMENT, step=second), float(second))
    assert len(said) == 1
    assert "training goes on" in said[0]


def test_progress_is_written_when_there_is_some_and_now_and_then_as_a_sign_of_life(
    tmp_path: Path,
) -> None:
    create_owner(tmp_path, Owner("job", "pod", "a1", 0))
    file = ProgressFile(tmp_path, "job", "pod", log=str)
    offers = [
        (0.0, {"step": 1}, True),
        (0.5, {"step": 2}, False),  # sooner than a second later
        (1.0, {"step": 2}, True),
        (2.0, {"step": 2}, False),  # nothing but the time
        (5.9, {"step": 2}, False),
        (6.0, {"step": 2}, True),  # a sign of life
        (6.1, {"step": 2, "status": "saving"}, True),  # at once
        (6.2, {"step": 2, "status": "saving", "final": True}, True),
    ]
    for now, changes, written in offers:
        file.offer(replace(DOCUMENT, now=now, **changes), now)
        told = read_progress(tmp_path) or {}
        assert (told["now"] == now) is written, now


def test_progress_that_could_not_be_written_is_tried_again_a_second_later(tmp_path: Path) -> None:
    file = ProgressFile(tmp_path, "job", "pod", log=str)
    file.offer(DOCUMENT, 0.0)  # nobody owns the run
    assert read_progress(tmp_path) is None
    create_owner(tmp_path, Owner("job", "pod", "a1", 0))
    file.offer(replace(DOCUMENT, status="running"), 0.5)
    assert read_progress(tmp_path) is None
    file.offer(replace(DOCUMENT, status="running"), 1.0)
    assert read_progress(tmp_path)


def test_progress_that_the_disk_kept_back_is_not_put_over_the_next_owners(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A final state is written again after the run was released."""
    create_owner(tmp_path, Owner("job", "pod", "a1", 0, released=True))
    file = ProgressFile(tmp_path, "job", "pod", log=str)
    flush = os.fsync

    def slowly(descriptor: int) -> None:
        monkeypatch.setattr(os, "fsync", flush)
        replace_owner(tmp_path, Owner("job2", "pod2", "a2", 1))
        (tmp_path / "progress.json").write_text(json.dumps({"attempt": "a2"}))

    monkeypatch.setattr(os, "fsync", slowly)
    file.offer(replace(DOCUMENT, final=True), 0.0)
    assert read_progress(tmp_path) == {"attempt": "a2"}
    assert not file.owed


def test_a_chief_between_two_children_does_not_give_up_for_want_of_workers() -> None:
    """It would start the next one, and then wait for its end for as long as saving may take."""
    attempt = Attempt("a1", COMBINATIONS[0], 1, 1, 100, 5, 40.0, evaluator=False, backoff=6)
    chief = chief_turn.Chief(attempt.config("chief", 0, "cj", "pod"), Timing())
    state = chief_turn.first_state(chief, 0.0)
    gone = Health(False, None, "", "", reason="refuses connections")
    events: list[tuple[float, Event]] = [
        (0.0, RunSeen()),
        (1.0, PeerSeen(1, "ps-0", Health(True, "pod/1", "a1", "ps-0", "x/0"))),
        (1.0, PeerSeen(1, "worker-0", Health(True, "pod/1", "a1", "worker-0", "y/0"))),
        (1.0, ChildSaid(1, protocol.Ready())),
        (2.0, StandingChanged(Owning(None))),
        (2.0, RunSeen()),
        (3.0, PeerSeen(1, "worker-0", gone)),
        *((float(now), Tick()) for now in range(4, 43)),  # the deadline would be at 43
        (43.0, ChildEnded(1, exit_codes.NOT_OWNER)),
        (43.0, StandingLooked(Owning(None))),
    ]
    for now, event in events:
        state, actions = decide(chief, state, event, now)
    assert StartChild(2, "pod/2") in actions
    assert state.ending is None


@pytest.mark.parametrize("began", [False, True], ids=["at the gate", "training"])
def test_time_in_which_a_chief_was_stopped_is_nobodys_absence(began: bool) -> None:
    """A paused container, Ctrl-Z: a worker that was absent before may be back for long."""
    attempt = Attempt("a1", COMBINATIONS[0], 1, 1, 100, 5, 40.0, evaluator=False, backoff=6)
    chief = chief_turn.Chief(attempt.config("chief", 0, "cj", "pod"), Timing())
    state = chief_turn.first_state(chief, 0.0)
    gone = Health(False, None, "", "", reason="refuses connections")
    ps = Health(True, "pod/1", "a1", "ps-0", "x/0")
    worker = Health(True, "pod/1", "a1", "worker-0", "y/0")
    events: list[tuple[float, Event]] = [
        (0.0, RunSeen()),
        (1.0, PeerSeen(1, "ps-0", ps)),
        (1.0, PeerSeen(1, "worker-0", worker if began else gone)),
        (1.0, ChildSaid(1, protocol.Ready())),
        (1.0, StandingChanged(Owning(None))),
        *([(1.0, RunSeen())] if began else []),  # what the chief looks at before it begins
        (2.0, PeerSeen(1, "worker-0", gone)),
        *((float(now), Tick()) for now in range(3, 12)),
    ]
    for now, event in events:
        state, _ = decide(chief, state, event, now)
    assert state.child is not None and state.child.begun is began
    for now in range(3600, 3625):
        state, _ = decide(chief, state, Tick(), float(now))
    assert state.ending is None
    for now in range(3625, 3640):
        state, _ = decide(chief, state, Tick(), float(now))
    assert state.ending is not None and state.ending.exit_code == exit_codes.PEERS_LOST


def test_time_that_a_slow_disk_took_is_time_in_which_a_worker_was_absent() -> None:
    attempt = Attempt("a1", COMBINATIONS[0], 1, 1, 100, 5, 40.0, evaluator=False, backoff=6)
    chief = chief_turn.Chief(attempt.config("chief", 0, "cj", "pod"), Timing())
    state = chief_turn.first_state(chief, 0.0)
    state, _ = decide(chief, state, RunSeen(), 0.0)
    state, _ = decide(chief, state, ChildSaid(1, protocol.Ready()), 0.0)
    for now in (0.5, 11.0, 21.5, 32.0):
        assert state.ending is None
        state, _ = decide(chief, state, Tick(), now)
        state = state.acted(now + 10)  # progress.json was written for as long
    state, _ = decide(chief, state, Tick(), 42.5)
    assert state.ending is not None and state.ending.exit_code == exit_codes.PEERS_LOST


def test_an_end_is_told_in_words() -> None:
    assert how_it_ended(1) == "ended with exit code 1"
    assert how_it_ended(-9) == "was killed by SIGKILL (out of memory?)"
    assert how_it_ended(-11) == "was killed by SIGSEGV"


def test_a_replaced_worker_is_waited_for_as_long_as_steps_have_taken() -> None:
    replaced = Replaced.nobody(60.0, 0.0)
    replaced = replaced.hear({}, 500.0)  # it loads, and compiles
    replaced = replaced.hear({"0": 1, "1": 1}, 1000.0)
    replaced = replaced.hear({"0": 2, "1": 1}, 1100.0)  # a call of that many seconds
    replaced = replaced.note("worker-1", 1100.0)
    assert replaced.overdue(1299.0) == []
    assert replaced.overdue(1300.0) == ["worker-1"]


def test_a_worker_that_comes_back_late_has_its_time_from_then_on() -> None:
    replaced = Replaced.nobody(60.0, 0.0).hear({"0": 1, "1": 1}, 0.0)
    replaced = replaced.note("worker-1", 300.0)  # there was no worker
    assert replaced.overdue(359.0) == []
    assert replaced.overdue(360.0) == ["worker-1"]
