"""Before a child trains: whom it waits for, the election, and that it begins."""

from __future__ import annotations

from collections.abc import Sequence

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.rules import gate
from tf_cluster_trainer.supervisor.rules.actions import (
    GuardPeers,
    KeepOnDisk,
    LetGo,
    Say,
    SayWaiting,
    StandForElection,
    TellNews,
)
from tf_cluster_trainer.supervisor.rules.chief_child import (
    end_child,
)
from tf_cluster_trainer.supervisor.rules.chief_turn import (
    Phase,
    Turn,
    nobody_replaced,
)
from tf_cluster_trainer.supervisor.rules.standing import (
    Candidate,
    Owning,
)
from tf_cluster_trainer.supervisor.status.document import (
    FAILED,
    RUNNING,
    WAITING,
    Outcome,
)

_LOADING = "every task is there; the training process is loading the program"


def advance(turn: Turn) -> None:
    """Let a waiting child go when everything is there; say what is not."""
    child, config = turn.state.child, turn.chief.config
    if child is None or child.begun or turn.state.ending is not None:
        return
    bound = config.settings.epoch_bound
    peers, attempt = turn.chief.peers, config.cluster.attempt
    absent = gate.missing(peers, child.seen, attempt, turn.epoch, bound)
    if absent:
        since = turn.ran if child.absent_since is None else child.absent_since
        turn.change_child(absent_since=since)
        _wait_for(turn, absent, turn.ran - since)
        return
    turn.change_child(absent_since=None)
    standing = turn.state.standing
    if child.phase is not Phase.READY:
        _wait(turn, _LOADING, _LOADING)
    elif not turn.state.stands:
        turn.set(stands=True)
        turn.do(StandForElection())
    elif isinstance(standing, Candidate):
        _wait(turn, standing.message, standing.message)
    elif isinstance(standing, Owning) and (turn.state.began_once or turn.state.saw_run):
        _begin(turn)


def _wait_for(turn: Turn, absent: Sequence[gate.Missing], waited: float) -> None:
    config = turn.chief.config
    deadline = config.settings.peer_deadline_seconds
    of = len(turn.chief.peers)
    message = gate.waiting_for(absent, of, waited, deadline, config.cluster.hint)
    if waited >= deadline:
        words = f"given up {message} (peers.deadlineSeconds)"
        outcome = Outcome(exit_codes.PEERS_LOST, FAILED, words)
        end_child(turn, outcome, turn.timing.grace)
        return
    _wait(turn, tuple((one.peer.task, one.reason) for one in absent), message)


def _wait(turn: Turn, what: object, message: str) -> None:
    if turn.state.shown != (WAITING, message):
        turn.show(status=WAITING, message=message)
    turn.do(SayWaiting(what, message))


def _begin(turn: Turn) -> None:
    """Let the child go: everything is there, and the run is ours."""
    child = turn.state.child
    assert child is not None
    turn.change_child(phase=Phase.TRAINING)
    seconds = turn.now - child.started
    turn.do(Say(f"every task is there after {seconds:.1f} s: training"))
    # Shown before it is so: an epoch is adopted only while the chief has not begun.
    turn.set(began_once=True)
    turn.do(KeepOnDisk())
    turn.show(status=RUNNING, message=turn.chief.working)
    turn.do(TellNews())
    if turn.chief.script:
        turn.change_child(alive=True, started=turn.now)
    turn.do(LetGo(child.number))
    turn.set(replaced=nobody_replaced(turn.chief, turn.ran))
    turn.do(GuardPeers(turn.chief.guarded))
