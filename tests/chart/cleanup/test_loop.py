"""Looking, deciding and acting: API errors, the log, the end."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx2
import pytest
from tf_cluster_cleanup.job_state import JobState, Phase
from tf_cluster_cleanup.loop import API_PATIENCE_SECONDS, ApiUnusableError, end_attempt
from tf_cluster_cleanup.plan import Plan

RUNNING, COMPLETE = JobState(Phase.RUNNING), JobState(Phase.COMPLETE)
LATE = JobState(Phase.RUNNING, completions=3, done=1)
SIZE = {"worker": 3}
PLAN = Plan("chief", ("worker",), ("ps-0", "ps-1"), 60, 30, None, completions=SIZE)


@dataclass
class Script:
    """An attempt whose client goes through the given states, one at each look, then stays.

    Its worker has the client's state, or `worker`. The errors are raised by the calls they name.
    """

    states: Iterator[JobState | Exception]
    gone: frozenset[str] = frozenset()
    scale_errors: list[Exception] = field(default_factory=list)
    end_errors: list[Exception] = field(default_factory=list)
    worker: JobState | None = None
    now: float = 0.0
    last: JobState = RUNNING
    scaled: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    sizes: list[tuple[str, int]] = field(default_factory=list)
    may_resize: bool = True
    lines: list[str] = field(default_factory=list)

    def job(self, name: str) -> JobState:
        if name == "chief":
            state = next(self.states, self.last)
            if isinstance(state, Exception):
                raise state
            self.last = state
        elif self.worker:
            return self.worker
        return self.last

    def end_job(self, name: str) -> bool:
        if self.end_errors:
            raise self.end_errors.pop()
        self.ended.append(name)
        return name not in self.gone

    def resize_job(self, name: str, completions: int) -> bool:
        if self.end_errors:
            raise self.end_errors.pop()
        self.sizes.append((name, completions))
        if self.may_resize:
            phase = Phase.COMPLETE
            self.worker = JobState(phase, completions=completions)
        return self.may_resize

    def scale_to_zero(self, deployment: str) -> bool:
        if self.scale_errors:
            raise self.scale_errors.pop()
        self.scaled.append(deployment)
        return deployment not in self.gone

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def run(self) -> bool:
        return end_attempt(
            PLAN, self, clock=lambda: self.now, sleep=self.sleep, log=self.lines.append
        )


def error(text: str = "connection refused") -> Exception:
    return httpx2.ConnectError(text)


def test_a_good_end_is_told_in_three_lines_and_scales_every_ps() -> None:
    script = Script(iter([RUNNING, RUNNING, RUNNING, COMPLETE]))
    assert script.run()
    assert script.scaled == ["ps-0", "ps-1"]
    assert script.lines == [
        "Job chief has not ended",
        "Job chief is complete; parameter servers go to 0 after 30 s",
        "scaled to 0: ps-0, ps-1",
        "Job chief is complete; nothing is left to do",
    ]
    assert 30 <= script.now <= 60


def test_an_api_server_that_is_away_for_a_while_changes_nothing() -> None:
    script = Script(iter([RUNNING, error(), error(), error(), RUNNING, COMPLETE]))
    assert script.run()
    assert script.lines[1:4] == [
        "API server: connection refused; trying again in 1 s",
        "API server: connection refused; trying again in 2 s",
        "API server: connection refused; trying again in 4 s",
    ]


def test_an_api_server_that_stays_away_is_an_error() -> None:
    script = Script(iter([error() for _ in range(1000)]))
    with pytest.raises(ApiUnusableError, match="connection refused"):
        script.run()
    assert API_PATIENCE_SECONDS <= script.now <= API_PATIENCE_SECONDS + 60


def test_errors_with_good_answers_between_them_never_add_up() -> None:
    script = Script(iter([state for _ in range(1000) for state in (error(), RUNNING)]))
    script.states = iter([*script.states, COMPLETE])
    assert script.run()


def test_a_scale_that_fails_is_done_again() -> None:
    script = Script(iter([COMPLETE]), scale_errors=[error("conflict")])
    assert script.run()
    assert script.scaled == ["ps-0", "ps-1"]


def test_a_job_that_could_not_be_ended_is_ended_at_the_next_look() -> None:
    script = Script(iter([COMPLETE]), worker=LATE, end_errors=[error("internal error")])
    assert script.run()
    assert script.sizes == [("worker", 1), ("worker", 3)], "and has its size again at the end"
    assert script.ended == []
    assert script.scaled == ["ps-0", "ps-1"]


def test_a_job_that_may_not_be_cut_is_ended_as_failed_and_keeps_no_ps() -> None:
    script = Script(iter([COMPLETE]), worker=LATE, may_resize=False)
    assert script.run()
    assert script.sizes == [("worker", 1)], "asked once"
    assert "Job worker gets 1 completions: it is no more, or may not" in script.lines
    assert script.ended == ["worker"]
    assert script.scaled == ["ps-0", "ps-1"]


def test_objects_that_are_gone_are_no_error() -> None:
    script = Script(iter([RUNNING, JobState(Phase.ABSENT)]), gone=frozenset({"ps-0", "ps-1"}))
    assert script.run()
    assert script.lines[-2] == "gone already: ps-0, ps-1"


def test_keeping_ps_scales_nothing() -> None:
    script = Script(iter([JobState(Phase.FAILED, "BackoffLimitExceeded")]))
    assert script.run()
    assert script.scaled == []
    assert script.lines[-1].endswith("the parameter servers are kept, as configured")
