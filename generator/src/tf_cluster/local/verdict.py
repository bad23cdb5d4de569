"""What the end of one task means for the run, as the Job controller of a cluster would have it."""

from enum import Enum

from tf_cluster.local.plan import Task

DONE, CONFIG, STOPPED = 0, 2, 42  # exit codes of tf-trainer (docs/formats.md)


class Verdict(Enum):
    """What to do about a task that has ended."""

    FINISHED = "the client is done: the run is over"
    STOPPED = "the client was asked to stop and saved: the run is over for now"
    FAILED = "no restart can help: the run has failed"
    RESTART = "start it again, counted"
    RESTART_FREE = "start it again, not counted: it was asked to end"
    LEAVE = "it has seen the end of the run"


def verdict(task: Task, code: int, restarts: int, limit: int, *, is_client: bool) -> Verdict:
    """Judge an exit code (negative: the signal that ended it) after so many counted restarts."""
    if code == CONFIG:
        return Verdict.FAILED
    if is_client and code in (DONE, STOPPED):
        return Verdict.FINISHED if code == DONE else Verdict.STOPPED
    if task.type in ("worker", "evaluator") and code == DONE:
        return Verdict.LEAVE
    if code == STOPPED:
        return Verdict.RESTART_FREE
    return Verdict.RESTART if restarts < limit else Verdict.FAILED


def restart_delay(restarts: int) -> float:
    """Seconds before a restart: short, since nothing else waits for this machine."""
    return float(min(0.5 * 2**restarts, 10.0))


def how_it_ended(code: int) -> str:
    """`was killed by SIGKILL`, `ended with exit code 1`."""
    if code >= 0:
        return f"ended with exit code {code}"
    import signal

    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"
