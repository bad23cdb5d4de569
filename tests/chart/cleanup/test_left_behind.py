"""Jobs that would keep an attempt's parameter servers for ever."""

from __future__ import annotations

import pytest
from lightkube.models.batch_v1 import JobCondition, JobStatus
from tf_cluster_cleanup.decision import ALONE_SECONDS, EndJobs, ScaleDown, Wait
from tf_cluster_cleanup.job_state import JobState, Phase, from_status
from tf_cluster_cleanup.plan import Plan

from tests.chart.cleanup.test_decision import ABSENT, COMPLETE, FAILED, RUNNING, Course

WITHOUT_A_CHIEF = Plan("worker", (), ("ps-0",), 60, 30, 10)
WORKER_0_IS_DONE = JobState(Phase.RUNNING, first_done=True, ready=True)
NO_POD_READY, READY = RUNNING, JobState(Phase.RUNNING, ready=True)


@pytest.mark.parametrize(
    ("indexes", "done"),
    [(None, False), ("", False), ("1,3-5", False), ("10-12", False)]
    + [(indexes, True) for indexes in ("0", "0-1", "0,2", "0-2,4,7-9")],
)
def test_worker_0_is_done_when_its_index_is_completed(indexes: str | None, done: bool) -> None:
    state = from_status(JobStatus(completedIndexes=indexes, ready=1))
    assert state == JobState(Phase.RUNNING, first_done=done, ready=True)


def test_a_job_without_a_status_runs_and_has_no_pod_that_is_ready() -> None:
    assert from_status(None) == from_status(JobStatus()) == from_status(JobStatus(ready=0))
    assert from_status(None) == JobState(Phase.RUNNING, first_done=False, ready=False)


def test_a_job_that_is_complete_is_no_more_than_that() -> None:
    ended = JobCondition("True", "Complete")
    assert from_status(JobStatus(conditions=[ended], completedIndexes="0-1")) == COMPLETE


def test_a_follower_without_a_node_does_not_keep_the_ps_of_a_training_that_is_done() -> None:
    course = Course(WITHOUT_A_CHIEF)
    course.at(0, READY, ABSENT)
    assert course.at(100, WORKER_0_IS_DONE, ABSENT) == Wait(
        "worker 0 of Job worker is done; still running: worker"
    )
    assert isinstance(course.at(159, WORKER_0_IS_DONE, ABSENT), Wait)
    # The Job is left: ended, it would have failed, and the training did not.
    assert course.at(160, WORKER_0_IS_DONE, ABSENT) == Wait(
        "worker 0 of Job worker is done; parameter servers go to 0 after 30 s"
    )
    assert course.at(190, WORKER_0_IS_DONE, ABSENT) == ScaleDown()


def test_followers_that_end_after_worker_0_are_waited_for() -> None:
    course = Course(WITHOUT_A_CHIEF)
    course.at(100, WORKER_0_IS_DONE, ABSENT)
    assert isinstance(course.at(110, COMPLETE, ABSENT), Wait)
    assert isinstance(course.at(139, COMPLETE, ABSENT), Wait)
    assert course.at(140, COMPLETE, ABSENT) == ScaleDown()


def test_a_chief_that_never_came_is_ended_when_its_workers_have_given_up() -> None:
    course = Course()
    course.at(0, NO_POD_READY, READY)
    waiting = Wait("Job chief has no pod that is ready, and of its training's Jobs worker failed")
    assert course.at(100, NO_POD_READY, FAILED) == waiting
    assert course.at(99 + ALONE_SECONDS, NO_POD_READY, FAILED) == waiting
    assert course.at(100 + ALONE_SECONDS, NO_POD_READY, FAILED) == EndJobs(("chief",))
    assert course.at(100 + ALONE_SECONDS, NO_POD_READY, FAILED) == waiting, "ended once"
    course.at(1000, FAILED, FAILED)
    assert course.at(1010, FAILED, FAILED) == ScaleDown()


def test_a_chief_whose_pod_is_ready_ends_by_itself() -> None:
    course = Course()
    course.at(0, NO_POD_READY, FAILED)
    for now in (10.0, 5 * ALONE_SECONDS):
        assert course.at(now, READY, FAILED) == Wait("Job chief has not ended")
    # Its pod was replaced: it has its time again.
    later = 5 * ALONE_SECONDS + 1
    assert isinstance(course.at(later, NO_POD_READY, FAILED), Wait)
    assert isinstance(course.at(later + ALONE_SECONDS - 1, NO_POD_READY, FAILED), Wait)


def test_a_chief_whose_workers_may_come_is_waited_for() -> None:
    course = Course()
    for now in (0.0, 2 * ALONE_SECONDS):
        assert course.at(now, NO_POD_READY, RUNNING) == Wait("Job chief has not ended")
