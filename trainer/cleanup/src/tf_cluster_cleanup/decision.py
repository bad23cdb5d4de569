"""What to do next: a pure function of the plan, what was seen before and what is seen now.

The course of an attempt's end:

1. Wait for the client's Job: complete, failed, or deleted after it was seen. Where worker 0 is the
   client its success is that of the training, whatever becomes of the other workers' pods: one
   that never gets a node keeps their Job from its end, but not the parameter servers. A chief
   without a ready pod whose workers' Job has failed is ended: nothing can come of it.
2. Wait, at most `workers_timeout`, for the other training Jobs. One that has not ended then is
   ended: a worker pod that was never scheduled would otherwise wait for a training that is over,
   for ever. After a failure its activeDeadlineSeconds is set, and it fails too. After a success it
   is cut to the indexes below the first that has not succeeded, so that it completes, and then gets
   its size back: a good training leaves no failed Job, and no Job that differs from its manifest.
   The evaluator is waited for and ended only after a failure: after a success it ends by itself,
   when it has measured the last checkpoint.
3. Wait `delay`, then scale the parameter servers to 0; or keep them, where the plan says so.
4. Wait for a Job that was cut and whose pods have not ended, such as one on a node that is lost.

Nothing is remembered outside the process: a restart goes through the same steps again, and each of
them can be done twice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from tf_cluster_cleanup.job_state import JobState, Phase
from tf_cluster_cleanup.plan import Plan

# A Job is created with its release: one that is not there this long after cleanup began never came.
APPEAR_SECONDS = 300.0
# A chief may have no ready pod for the longest pause that the Job controller makes between two.
ALONE_SECONDS = 600.0
# A Job that was cut completes when its pods have ended. A pod has its grace period for that.
CUT_SECONDS = 600.0
POLL_SECONDS = 3.0
# A Job that was cut differs from its manifest, which Argo CD may see and mend too early.
CUT_POLL_SECONDS = 0.3


@dataclass(frozen=True)
class Seen:
    """The jobs as they are at one time (monotonic seconds)."""

    now: float
    client: JobState
    jobs: Mapping[str, JobState]


@dataclass(frozen=True)
class Memory:
    """What was learned so far. Times are monotonic seconds."""

    started: float
    client_seen: bool = False
    client_alone_since: float | None = None
    client_end: JobState | None = None
    client_ended: float = 0.0
    jobs_ended: float | None = None
    cut_seen: bool = False
    restored: bool = False
    scaled: bool = False


@dataclass(frozen=True)
class Wait:
    """Look again later. `why` is for the log, and the same while nothing changes."""

    why: str
    seconds: float = POLL_SECONDS


@dataclass(frozen=True)
class EndJobs:
    """Make these Jobs end now, then decide again."""

    names: tuple[str, ...]


@dataclass(frozen=True)
class ResizeJobs:
    """Give these Jobs so many indexes, then decide again."""

    sizes: Mapping[str, int]


@dataclass(frozen=True)
class ScaleDown:
    """Scale every parameter server to 0, then decide again."""


@dataclass(frozen=True)
class Finish:
    """Nothing is left to do. `ok` False: this attempt was never there."""

    message: str
    ok: bool = True


Action = Wait | EndJobs | ResizeJobs | ScaleDown | Finish


def decide(plan: Plan, memory: Memory, seen: Seen) -> tuple[Memory, Action]:
    """The next action, and what to remember for the next call."""
    if memory.client_end is None:
        memory, waiting = _watch_client(plan, memory, seen)
        if waiting is not None:
            return memory, waiting
    if memory.jobs_ended is None:
        memory, action = _watch_jobs(plan, memory, seen)
        if action is not None:
            return memory, action
    return _wind_down(plan, memory, seen)


def _watch_client(plan: Plan, memory: Memory, seen: Seen) -> tuple[Memory, Action | None]:
    phase = seen.client.phase
    if phase is Phase.RUNNING and seen.client.first_done:
        good = replace(seen.client, phase=Phase.COMPLETE)
        return replace(memory, client_end=good, client_ended=seen.now), None
    if phase is Phase.RUNNING:
        return _watch_running_client(plan, replace(memory, client_seen=True), seen)
    if phase is Phase.ABSENT and not memory.client_seen:
        if seen.now - memory.started < APPEAR_SECONDS:
            return memory, Wait(f"Job {plan.client} is not there yet")
        return memory, Finish(f"Job {plan.client} never came", ok=False)
    return replace(memory, client_end=seen.client, client_ended=seen.now), None


def _watch_running_client(plan: Plan, memory: Memory, seen: Seen) -> tuple[Memory, Action]:
    failed = [name for name in plan.jobs if seen.jobs[name].phase is Phase.FAILED]
    if seen.client.ready or not failed:
        memory = replace(memory, client_alone_since=None)
        return memory, Wait(f"Job {plan.client} has not ended")
    since = seen.now if memory.client_alone_since is None else memory.client_alone_since
    if seen.now - since >= ALONE_SECONDS:
        return replace(memory, client_alone_since=seen.now), EndJobs((plan.client,))
    why = f"and of its training's Jobs {', '.join(failed)} failed"
    return replace(memory, client_alone_since=since), Wait(
        f"Job {plan.client} has no pod that is ready, {why}"
    )


def _watch_jobs(plan: Plan, memory: Memory, seen: Seen) -> tuple[Memory, Action | None]:
    assert memory.client_end is not None
    good = memory.client_end.phase is Phase.COMPLETE
    awaited = plan.jobs if good else plan.jobs + plan.jobs_after_failure
    late = tuple(name for name in awaited if not seen.jobs[name].ended)
    running = late if seen.client.ended else (plan.client, *late)
    if running and seen.now - memory.client_ended < plan.workers_timeout:
        names = ", ".join(running)
        return memory, Wait(f"{_end_of(plan, memory)}; still running: {names}")
    memory = replace(memory, jobs_ended=seen.now)
    if good:
        return memory, _cut(plan, seen)
    return memory, EndJobs(late) if late else None


def _wind_down(plan: Plan, memory: Memory, seen: Seen) -> tuple[Memory, Action]:
    assert memory.jobs_ended is not None
    in_time = seen.now - memory.jobs_ended < CUT_SECONDS
    cut = _jobs_that_are_cut(plan, seen)
    if cut:
        memory = replace(memory, cut_seen=True, restored=False)
    resize = None if memory.restored else _restore(plan, seen)
    memory = replace(memory, restored=memory.restored or resize is not None)
    if resize is None and memory.cut_seen and in_time:
        resize = _cut(plan, seen)  # somebody gave it its size back too early
    if resize is not None:
        return memory, resize
    if plan.deployments and not memory.scaled:
        poll = CUT_POLL_SECONDS if cut and in_time else POLL_SECONDS
        return _scale_down(plan, memory, seen.now, poll)
    end = _end_of(plan, memory)
    if not cut:
        return memory, Finish(f"{end}; nothing is left to do")
    if in_time:
        return memory, Wait(f"{end}; pods still end: {', '.join(cut)}", CUT_POLL_SECONDS)
    return memory, Finish(f"{end}; left as it is, since its pods do not end: {', '.join(cut)}")


def _scale_down(plan: Plan, memory: Memory, now: float, poll: float) -> tuple[Memory, Action]:
    assert memory.client_end is not None and memory.jobs_ended is not None
    delay: float | None = {
        Phase.COMPLETE: plan.delay_success,
        Phase.FAILED: plan.delay_failure,
        Phase.ABSENT: 0.0,
    }[memory.client_end.phase]
    end = _end_of(plan, memory)
    if delay is None:
        return memory, Finish(f"{end}; the parameter servers are kept, as configured")
    if now - memory.jobs_ended < delay:
        return memory, Wait(f"{end}; parameter servers go to 0 after {delay:g} s", poll)
    return replace(memory, scaled=True), ScaleDown()


def _cut(plan: Plan, seen: Seen) -> ResizeJobs | None:
    whole = [job for job in _indexed_jobs(plan, seen) if not job.is_cut and not job.state.ended]
    sizes = {job.name: job.state.done for job in whole}
    return ResizeJobs(sizes) if sizes else None


def _jobs_that_are_cut(plan: Plan, seen: Seen) -> tuple[str, ...]:
    jobs = _indexed_jobs(plan, seen)
    return tuple(job.name for job in jobs if job.is_cut and not job.state.ended)


def _restore(plan: Plan, seen: Seen) -> ResizeJobs | None:
    ended = [job for job in _indexed_jobs(plan, seen) if job.is_cut and job.state.ended]
    return ResizeJobs({job.name: job.planned for job in ended}) if ended else None


class _IndexedJob(NamedTuple):
    name: str
    state: JobState
    planned: int

    @property
    def is_cut(self) -> bool:
        return self.state.completions not in (None, self.planned)


def _indexed_jobs(plan: Plan, seen: Seen) -> list[_IndexedJob]:
    states = {**seen.jobs, plan.client: seen.client}
    return [_IndexedJob(name, states[name], size) for name, size in plan.completions.items()]


def _end_of(plan: Plan, memory: Memory) -> str:
    assert memory.client_end is not None
    end = memory.client_end
    verb = {Phase.COMPLETE: "is complete", Phase.FAILED: "failed", Phase.ABSENT: "was deleted"}
    if end.first_done:
        return f"worker 0 of Job {plan.client} is done"
    detail = f" ({end.detail})" if end.detail else ""
    return f"Job {plan.client} {verb[end.phase]}{detail}"
