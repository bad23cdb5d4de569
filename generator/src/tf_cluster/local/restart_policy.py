"""What follows from the end of a task, as with the Job controller of a cluster.

Where the combination has no chief, worker 0 is the chief.
"""

from enum import Enum

from tf_cluster.local.task import Task

DONE, CONFIG, STOPPED = 0, 2, 42  # exit codes of tf-trainer (docs/formats.md)


class Action(Enum):
    """What to do about a task that has ended."""

    FINISHED = "the chief is done: the run is over"
    STOPPED = "the chief was asked to stop and saved: the run is over for now"
    FAILED = "no restart can help: the run has failed"
    RESTART = "start it again, counted"
    RESTART_FREE = "start it again, not counted: it was asked to end"
    LEAVE = "it has seen the end of the run"


def action_after(task: Task, code: int, restarts: int, limit: int, *, is_chief: bool) -> Action:
    """What to do after this exit code (negative: the signal) and so many counted restarts."""
    if code == CONFIG:
        return Action.FAILED
    if is_chief and code in (DONE, STOPPED):
        return Action.FINISHED if code == DONE else Action.STOPPED
    if task.type in ("worker", "evaluator") and code == DONE:
        return Action.LEAVE
    if code == STOPPED:
        return Action.RESTART_FREE
    return Action.RESTART if restarts < limit else Action.FAILED


def restart_delay(restarts: int) -> float:
    """Seconds before a restart: short, because no other work waits for this machine."""
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
