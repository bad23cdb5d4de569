"""Jobs that would keep an attempt's parameter servers for ever."""

from __future__ import annotations

import pytest
from lightkube.models.batch_v1 import JobCondition, JobSpec, JobStatus
from lightkube.models.core_v1 import PodTemplateSpec
from tf_cluster_cleanup.decision import ALONE_SECONDS, EndJobs, Finish, ResizeJobs, ScaleDown, Wait
from tf_cluster_cleanup.job_state import JobState, Phase, from_job
from tf_cluster_cleanup.plan import Plan

from tests.chart.cleanup.test_decision import ABSENT, COMPLETE, FAILED, RUNNING, Course

WITHOUT_A_CHIEF = Plan("worker", (), ("ps-0",), 60, 30, 10, completions={"worker": 3})
WORKER_0_IS_DONE = JobState(Phase.RUNNING, completions=3, done=1, ready=True)
NO_POD_READY, READY = RUNNING, JobState(Phase.RUNNING, completions=3, ready=True)
INDEXED = JobSpec(template=PodTemplateSpec(), completions=3)


@pytest.mark.parametrize(
    ("indexes", "done"),
    [
        *((None, 0), ("", 0), ("1,3-5", 0), ("10-12", 0)),
        *(("0", 1), ("0-1", 2), ("0,2", 1), ("0-2,4,7-9", 3), ("0-11", 12), ("0-11,13", 12)),
    ],
)
def test_the_indexes_that_are_done_are_counted_up_to_the_first_gap(
    indexes: str | None, done: int
) -> None:
    state = from_job(INDEXED, JobStatus(completedIndexes=indexes, ready=1))
    assert state == JobState(Phase.RUNNING, completions=3, done=done, ready=True)
    assert state.first_done == (done > 0)


def test_a_job_without_a_status_runs_and_has_no_pod_that_is_ready() -> None:
    states = [from_job(None, status) for status in (None, JobStatus(), JobStatus(ready=0))]
    assert states == 3 * [JobState(Phase.RUNNING, completions=None, done=0, ready=False)]


def test_a_job_that_is_complete_is_no_more_than_that() -> None:
    ended = JobCondition("True", "Complete")
    status = JobStatus(conditions=[ended], completedIndexes="0-1")
    assert from_job(INDEXED, status) == COMPLETE


def test_a_follower_without_a_node_does_not_keep_the_ps_of_a_training_that_is_done() -> None:
    course = Course(WITHOUT_A_CHIEF)
    course.at(0, READY, ABSENT)
    assert course.at(100, WORKER_0_IS_DONE, ABSENT) == Wait(
        "worker 0 of Job worker is done; still running: worker"
    )
    assert isinstance(course.at(159, WORKER_0_IS_DONE, ABSENT), Wait)
    assert course.at(160, WORKER_0_IS_DONE, ABSENT) == ResizeJobs({"worker": 1})
    cut = JobState(Phase.COMPLETE, completions=1)
    assert course.at(161, cut, ABSENT) == ResizeJobs({"worker": 3})
    assert course.at(161, COMPLETE, ABSENT) == Wait(
        "worker 0 of Job worker is done; parameter servers go to 0 after 30 s"
    )
    assert course.at(190, COMPLETE, ABSENT) == ScaleDown()
    assert isinstance(course.at(190, COMPLETE, ABSENT), Finish)


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
