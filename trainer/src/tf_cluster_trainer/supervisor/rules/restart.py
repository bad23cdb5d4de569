"""How a child's end is taken: start it again, wait, or end with an outcome; and how often."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.status.document import DONE, FAILED, Outcome

# Of a chief's child that is started again: a peer was lost to it, or somebody else asked it to end.
LOST = (exit_codes.PEER_LOST, exit_codes.PEERS_LOST, exit_codes.STOPPED)
DOUBLED_AT_MOST = 3  # times


@dataclass(frozen=True)
class Budget:
    """`limit` restarts in a row; getting on with the work fills it up again."""

    limit: int
    spent: int = 0

    def after_one(self) -> Budget | None:
        """With one restart less; None when there is none left."""
        return replace(self, spent=self.spent + 1) if self.spent < self.limit else None

    def refilled(self) -> Budget:
        """The work got on: all restarts are there again."""
        return replace(self, spent=0)


@dataclass(frozen=True)
class Again:
    """Start the child again, if the budget allows it."""

    why: str


@dataclass(frozen=True)
class AskStanding:
    """The child found another owner of the run: where do we stand?"""


def of_chief(
    returncode: int, *, done: str | None, failure: str | None
) -> Outcome | Again | AskStanding:
    """The chief's child has ended. `done`: the words of its result, None without one."""
    how = f"the training process {how_it_ended(returncode)}"
    if returncode == exit_codes.DONE and done is not None:
        return Outcome(exit_codes.DONE, DONE, done)
    words = failure or f"{how}; its own words are above"
    if returncode == exit_codes.CONFIG:
        return Outcome(exit_codes.CONFIG, FAILED, words)
    if returncode == exit_codes.NOT_OWNER:
        return AskStanding()
    if returncode in LOST or returncode < 0:
        return Again(failure or how)
    if returncode == exit_codes.DONE:
        words = "the training process ended without a result: does the program call exit()?"
    return Outcome(exit_codes.FAILED, FAILED, words)


def of_chiefs_script(returncode: int, *, failure: str | None) -> Outcome | Again:
    """The script of the task that drives the run has ended: that is the attempt's end."""
    how = f"the script {how_it_ended(returncode)}"
    if returncode < 0:
        return Again(failure or how)
    if returncode == exit_codes.DONE:
        return Outcome(exit_codes.DONE, DONE, how)
    return Outcome(exit_codes.of_script(returncode), FAILED, how)


def chief_given_up(budget: Budget, why: str, *, script: bool) -> Outcome:
    """No restart is left."""
    if script:
        words = f"given up after {budget.spent} restarts in a row (failure.restarts)"
        return Outcome(exit_codes.FAILED, FAILED, f"{words}; the last time: {why}")
    words = f"given up after {budget.spent} restarts without a new checkpoint (failure.restarts)"
    return Outcome(exit_codes.PEERS_LOST, FAILED, f"{words}; the last time: {why}")


def given_up(budget: Budget, returncode: int, why: str) -> Outcome:
    """No restart is left to a task that is not the chief."""
    lost = returncode in (exit_codes.PEER_LOST, exit_codes.PEERS_LOST)
    code = exit_codes.PEERS_LOST if lost else exit_codes.FAILED
    words = f"given up after {budget.spent} restarts in a row; the last time: {why}"
    return Outcome(code, FAILED, words)


def delay(restarts: int, backoff: float) -> float:
    """Seconds before this restart in a row: 0, then 1, 2, 4, 8, 8 … times the backoff."""
    return 0.0 if restarts <= 1 else backoff * float(2 ** min(restarts - 2, DOUBLED_AT_MOST))


def how_it_ended(returncode: int) -> str:
    """For people: `was killed by SIGKILL`, `ended with exit code 1`."""
    if returncode >= 0:
        return f"ended with exit code {returncode}"
    try:
        name = signal.Signals(-returncode).name
    except ValueError:
        name = f"signal {-returncode}"
    memory = " (out of memory?)" if -returncode == signal.SIGKILL else ""
    return f"was killed by {name}{memory}"
