"""Look, decide, act, until the attempt has ended."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tf_cluster_cleanup.attempt import API_ERRORS, Attempt
from tf_cluster_cleanup.decision import (
    CUT_POLL_SECONDS,
    EndJobs,
    Finish,
    Memory,
    ResizeJobs,
    ScaleDown,
    Seen,
    Wait,
    decide,
)
from tf_cluster_cleanup.plan import Plan

# The API server may be away for an upgrade; after this long the restart of the container (and its
# count in the Job's status) says more than one more line in a log.
API_PATIENCE_SECONDS = 600.0
LONGEST_BACKOFF_SECONDS = 30.0


class ApiUnusableError(Exception):
    """API_PATIENCE_SECONDS of nothing but errors; the message is the last of them."""


def end_attempt(
    plan: Plan,
    attempt: Attempt,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    log: Callable[[str], None],
) -> bool:
    """Follow the plan to its end; False: the attempt was never there. Raises ApiUnusableError."""
    memory = Memory(started=clock())
    said = ""
    trouble_since: float | None = None
    backoff = 1.0
    while True:
        try:
            client = attempt.job(plan.client)
            others = plan.jobs + plan.jobs_after_failure
            jobs = {name: attempt.job(name) for name in others}
            after, action = decide(plan, memory, Seen(clock(), client, jobs))
            if isinstance(action, EndJobs):
                _end_jobs(action.names, attempt, log)
            elif isinstance(action, ResizeJobs):
                _resize_jobs(plan, action.sizes, attempt, log)
                sleep(CUT_POLL_SECONDS)
            elif isinstance(action, ScaleDown):
                _scale_down(plan.deployments, attempt, log)
        except API_ERRORS as error:
            now = clock()
            trouble_since = now if trouble_since is None else trouble_since
            if now - trouble_since >= API_PATIENCE_SECONDS:
                raise ApiUnusableError(str(error)) from error
            log(f"API server: {error}; trying again in {backoff:g} s")
            sleep(backoff)
            backoff = min(2 * backoff, LONGEST_BACKOFF_SECONDS)
            continue
        memory, trouble_since, backoff = after, None, 1.0
        if isinstance(action, Finish):
            log(action.message)
            return action.ok
        if isinstance(action, Wait):
            if action.why != said:
                log(action.why)
            said = action.why
            sleep(action.seconds)


def _end_jobs(names: tuple[str, ...], attempt: Attempt, log: Callable[[str], None]) -> None:
    for name in names:
        gone = "" if attempt.end_job(name) else ": it is gone already"
        log(f"ending Job {name}, which did not end by itself{gone}")


def _resize_jobs(
    plan: Plan, sizes: Mapping[str, int], attempt: Attempt, log: Callable[[str], None]
) -> None:
    for name, size in sizes.items():
        done = attempt.resize_job(name, size)
        log(f"Job {name} gets {size} completions{'' if done else ': it is no more, or may not'}")
        if not done and size < plan.completions[name]:
            # Better ended as failed than open for ever, with a pod that may still get a node.
            _end_jobs((name,), attempt, log)


def _scale_down(names: tuple[str, ...], attempt: Attempt, log: Callable[[str], None]) -> None:
    gone = [name for name in names if not attempt.scale_to_zero(name)]
    scaled = [name for name in names if name not in gone]
    if scaled:
        log(f"scaled to 0: {', '.join(scaled)}")
    if gone:
        log(f"gone already: {', '.join(gone)}")
