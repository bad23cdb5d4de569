"""The course of an attempt's end, step by step, on a clock of our own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from lightkube.models.batch_v1 import JobCondition
from tf_cluster_cleanup.decision import (
    APPEAR_SECONDS,
    CUT_POLL_SECONDS,
    CUT_SECONDS,
    POLL_SECONDS,
    Action,
    EndJobs,
    Finish,
    Memory,
    ResizeJobs,
    ScaleDown,
    Seen,
    Wait,
    decide,
)
from tf_cluster_cleanup.job_state import JobState, Phase, from_conditions
from tf_cluster_cleanup.plan import Plan

RUNNING, COMPLETE = JobState(Phase.RUNNING, completions=3), JobState(Phase.COMPLETE, completions=3)
ABSENT = JobState(Phase.ABSENT)
FAILED = JobState(Phase.FAILED, "PodFailurePolicy: exit 2", 3)

PLAN = Plan(
    client="chief",
    jobs=("worker",),
    deployments=("ps-0", "ps-1"),
    workers_timeout=60,
    delay_success=30,
    delay_failure=10,
    completions={"worker": 3},
)
KEEP = replace(PLAN, deployments=("ps-0",), delay_failure=None)


@dataclass
class Course:
    """Decisions in a row; the memory goes from one to the next."""

    plan: Plan = PLAN
    memory: Memory = field(default_factory=lambda: Memory(started=0))

    def at(
        self, now: float, client: JobState, worker: JobState, evaluator: JobState = COMPLETE
    ) -> Action:
        seen = Seen(now, client, {"worker": worker, "eval": evaluator})
        self.memory, action = decide(self.plan, self.memory, seen)
        return action


def test_a_running_client_is_waited_for_however_long() -> None:
    course = Course()
    for now in (0.0, 1e3, 1e6):
        assert course.at(now, RUNNING, RUNNING) == Wait("Job chief has not ended")


def test_after_a_success_ps_go_when_the_delay_is_over() -> None:
    course = Course()
    course.at(0, RUNNING, RUNNING)
    assert isinstance(course.at(100, COMPLETE, COMPLETE), Wait)
    assert course.at(129, COMPLETE, COMPLETE) == Wait(
        "Job chief is complete; parameter servers go to 0 after 30 s"
    )
    assert course.at(130, COMPLETE, COMPLETE) == ScaleDown()


def test_the_delay_begins_when_the_workers_have_ended() -> None:
    course = Course()
    assert course.at(100, COMPLETE, RUNNING) == Wait("Job chief is complete; still running: worker")
    course.at(140, COMPLETE, COMPLETE)
    assert isinstance(course.at(169, COMPLETE, COMPLETE), Wait)
    assert course.at(170, COMPLETE, COMPLETE) == ScaleDown()


def test_workers_that_do_not_end_after_a_failure_are_ended_after_their_time() -> None:
    course = Course()
    course.at(100, FAILED, RUNNING)
    assert isinstance(course.at(159, FAILED, RUNNING), Wait)
    assert course.at(160, FAILED, RUNNING) == EndJobs(("worker",))
    assert isinstance(course.at(160, FAILED, RUNNING), Wait), "ended once, not again"
    assert course.at(190, FAILED, FAILED) == ScaleDown()


def late(done: int, completions: int = 3) -> JobState:
    return JobState(Phase.RUNNING, completions=completions, done=done)


@pytest.mark.parametrize("done", [0, 1, 2])
def test_workers_that_do_not_end_after_a_success_are_cut_and_their_job_completes(done: int) -> None:
    course = Course()
    course.at(100, COMPLETE, late(done))
    assert isinstance(course.at(159, COMPLETE, late(done)), Wait)
    assert course.at(160, COMPLETE, late(done)) == ResizeJobs({"worker": done})
    waiting = course.at(160, COMPLETE, late(done, completions=done))
    assert isinstance(waiting, Wait)
    assert waiting.seconds == CUT_POLL_SECONDS, "somebody compares it with its manifest"
    cut = JobState(Phase.COMPLETE, completions=done)
    assert course.at(161, COMPLETE, cut) == ResizeJobs({"worker": 3})
    assert isinstance(course.at(161, COMPLETE, COMPLETE), Wait)
    assert course.at(190, COMPLETE, COMPLETE) == ScaleDown()
    assert isinstance(course.at(190, COMPLETE, COMPLETE), Finish)


def test_a_job_that_somebody_gives_its_size_back_too_early_is_cut_again() -> None:
    course = Course()
    course.at(100, COMPLETE, late(1))
    course.at(160, COMPLETE, late(1))
    course.at(160, COMPLETE, late(1, completions=1))
    assert course.at(161, COMPLETE, late(1)) == ResizeJobs({"worker": 1})


def test_a_job_that_was_never_seen_cut_is_asked_once() -> None:
    course = Course()
    course.at(100, COMPLETE, late(1))
    assert course.at(160, COMPLETE, late(1)) == ResizeJobs({"worker": 1})
    assert isinstance(course.at(161, COMPLETE, late(1)), Wait)
    assert course.at(190, COMPLETE, late(1)) == ScaleDown()
    assert isinstance(course.at(190, COMPLETE, late(1)), Finish)


def test_a_cut_job_whose_pod_does_not_end_keeps_cleanup_for_a_while_and_the_ps_not() -> None:
    course = Course()
    course.at(100, COMPLETE, late(1))
    course.at(160, COMPLETE, late(1))
    cut = late(1, completions=1)
    assert course.at(190, COMPLETE, cut) == ScaleDown()
    waiting = Wait("Job chief is complete; pods still end: worker", CUT_POLL_SECONDS)
    assert course.at(190, COMPLETE, cut) == waiting
    assert course.at(159 + CUT_SECONDS, COMPLETE, cut) == waiting
    assert course.at(160 + CUT_SECONDS, COMPLETE, cut) == Finish(
        "Job chief is complete; left as it is, since its pods do not end: worker"
    )


def test_a_long_delay_is_not_polled_for_quickly_all_the_time() -> None:
    course = Course(replace(PLAN, delay_success=3600))
    course.at(0, COMPLETE, late(1))
    course.at(60, COMPLETE, late(1))
    cut = late(1, completions=1)
    for at, seconds in ((61, CUT_POLL_SECONDS), (61 + CUT_SECONDS, POLL_SECONDS)):
        action = course.at(at, COMPLETE, cut)
        assert isinstance(action, Wait) and action.seconds == seconds


def test_a_job_that_may_not_have_its_size_back_is_asked_once() -> None:
    course = Course()
    cut = JobState(Phase.COMPLETE, completions=0)
    assert course.at(0, COMPLETE, cut) == ResizeJobs({"worker": 3})
    assert isinstance(course.at(1, COMPLETE, cut), Wait)
    assert course.at(30, COMPLETE, cut) == ScaleDown()
    assert isinstance(course.at(30, COMPLETE, cut), Finish)


def test_a_cleanup_that_comes_anew_gives_a_cut_job_its_size_back() -> None:
    course = Course()
    assert course.at(0, COMPLETE, JobState(Phase.COMPLETE, completions=1)) == ResizeJobs(
        {"worker": 3}
    )


def test_a_failure_has_its_own_delay_and_its_reason_is_told() -> None:
    course = Course()
    assert course.at(100, FAILED, FAILED) == Wait(
        "Job chief failed (PodFailurePolicy: exit 2); parameter servers go to 0 after 10 s"
    )
    assert course.at(110, FAILED, FAILED) == ScaleDown()


def test_after_a_failure_ps_can_be_kept_and_workers_end_all_the_same() -> None:
    course = Course(KEEP)
    assert isinstance(course.at(0, FAILED, RUNNING), Wait)
    assert course.at(60, FAILED, RUNNING) == EndJobs(("worker",))
    assert course.at(60, FAILED, RUNNING) == Finish(
        "Job chief failed (PodFailurePolicy: exit 2); the parameter servers are kept, as configured"
    )


def test_keeping_after_a_failure_does_not_keep_after_a_success() -> None:
    course = Course(KEEP)
    course.at(0, COMPLETE, COMPLETE)
    assert course.at(30, COMPLETE, COMPLETE) == ScaleDown()


def test_a_client_that_is_deleted_is_the_end_without_a_delay() -> None:
    course = Course()
    course.at(0, RUNNING, RUNNING)
    assert course.at(10, ABSENT, ABSENT) == ScaleDown()


def test_a_client_that_is_not_there_yet_is_waited_for() -> None:
    course = Course()
    assert course.at(0, ABSENT, ABSENT) == Wait("Job chief is not there yet")
    assert course.at(20, RUNNING, ABSENT) == Wait("Job chief has not ended")


def test_a_client_that_never_comes_is_an_error() -> None:
    course = Course()
    course.at(0, ABSENT, ABSENT)
    end = course.at(APPEAR_SECONDS, ABSENT, ABSENT)
    assert end == Finish("Job chief never came", ok=False)


def test_a_client_that_had_ended_before_cleanup_began_is_the_same() -> None:
    course = Course()
    course.at(0, COMPLETE, COMPLETE)
    assert course.at(30, COMPLETE, COMPLETE) == ScaleDown()


WITH_EVALUATOR = replace(PLAN, jobs_after_failure=("eval",))


def test_after_a_success_the_evaluator_is_neither_waited_for_nor_ended() -> None:
    course = Course(WITH_EVALUATOR)
    assert isinstance(course.at(100, COMPLETE, COMPLETE, RUNNING), Wait)
    assert course.at(130, COMPLETE, COMPLETE, RUNNING) == ScaleDown()


@pytest.mark.parametrize("client", [FAILED, ABSENT])
def test_an_evaluator_whose_training_failed_or_was_deleted_is_ended(client: JobState) -> None:
    course = Course(WITH_EVALUATOR)
    course.at(0, RUNNING, RUNNING, RUNNING)
    course.at(100, client, COMPLETE, RUNNING)
    assert isinstance(course.at(159, client, COMPLETE, RUNNING), Wait)
    assert course.at(160, client, COMPLETE, RUNNING) == EndJobs(("eval",))


def test_without_ps_nothing_is_left_when_the_jobs_have_ended() -> None:
    course = Course(replace(WITH_EVALUATOR, jobs=(), deployments=()))
    assert course.at(0, COMPLETE, COMPLETE, RUNNING) == Finish(
        "Job chief is complete; nothing is left to do"
    )


def condition(kind: str, status: str = "True", reason: str = "", message: str = "") -> JobCondition:
    return JobCondition(type=kind, status=status, reason=reason, message=message)


def test_complete_is_found_behind_other_conditions() -> None:
    conditions = [condition("SuccessCriteriaMet"), condition("Complete")]
    assert from_conditions(conditions) == JobState(Phase.COMPLETE)


def test_failed_is_found_behind_other_conditions_with_its_reason() -> None:
    failed = condition("Failed", reason="BackoffLimitExceeded", message="too many")
    state = from_conditions([condition("FailureTarget"), failed])
    assert state == JobState(Phase.FAILED, "BackoffLimitExceeded: too many")


def test_a_job_that_is_about_to_end_still_runs() -> None:
    running = JobState(Phase.RUNNING)
    assert from_conditions([condition("FailureTarget")]) == running
    assert from_conditions([condition("Complete", status="False")]) == running
    assert from_conditions([]) == running
