"""Every task but the chief: keep a child while the attempt lasts, and end with it.

What the tasks have in common, and the few things in which they differ: a server, a worker that
trains beside worker 0, a script beside the chief's, an evaluator.
"""

from __future__ import annotations

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    Kill,
    SayWaiting,
)
from tf_cluster_trainer.supervisor.rules.events import (
    ChiefSeen,
    ChildEnded,
    ChildSaid,
    Event,
    StopAsked,
)
from tf_cluster_trainer.supervisor.rules.follower_chief import on_chief
from tf_cluster_trainer.supervisor.rules.follower_child import (
    end_child,
    on_end,
    on_message,
    start_child,
)
from tf_cluster_trainer.supervisor.rules.follower_client import is_another_client, no_client
from tf_cluster_trainer.supervisor.rules.follower_turn import (
    Follower,
    State,
    Turn,
)
from tf_cluster_trainer.supervisor.status.document import (
    FAILED,
    STOPPED,
    WAITING,
    Outcome,
)

# Without a word from the chief for so long a task says so.
QUIET_SECONDS = 10.0


def decide(
    follower: Follower, state: State, event: Event, now: float
) -> tuple[State, list[Action]]:
    """What follows from an event at `now`, monotonic seconds.

    The first event is a ChiefSeen of progress.json: an attempt that is over needs no child.
    """
    turn = Turn(follower, state, now)
    _take(turn, event)
    return turn.state, turn.actions


def asked_by_the_chief(attempt: str, epoch: str) -> ChiefSeen:
    """A chief asks only while it waits; it may find us before we find it."""
    return ChiefSeen({"attempt": attempt, "epoch": epoch, "status": WAITING})


def _take(turn: Turn, event: Event) -> None:
    """Handle the event, then whatever is due by now."""
    _on(turn, event)
    if turn.is_over():
        return
    if turn.state.child is None:
        start_child(turn)
        return
    _without_word(turn)
    if turn.is_over():
        return
    kill_at = turn.state.kill_at
    if turn.child.alive and kill_at is not None and turn.now >= kill_at:
        turn.set(kill_at=None)
        turn.do(Kill())
    if turn.state.start_at is not None and turn.now >= turn.state.start_at:
        start_child(turn)


def _on(turn: Turn, event: Event) -> None:
    if isinstance(event, StopAsked):
        outcome = Outcome(exit_codes.STOPPED, STOPPED, "stopped by SIGTERM")
        end_child(turn, outcome, turn.follower.stop_grace)
    elif isinstance(event, ChiefSeen):
        if is_another_client(turn, event.document):
            return
        if event.document is not None or event.from_file:
            chief = event.document or {}
            heard = turn.state.silence.heard(chief, turn.now, from_file=event.from_file)
            turn.set(silence=heard)
            on_chief(turn, chief, event)
    elif turn.state.child is None or getattr(event, "child", None) != turn.child.number:
        return  # of a child before
    elif isinstance(event, ChildSaid):
        if isinstance(event.message, protocol.Failure):
            turn.change_child(failure=event.message.message)
        on_message(turn, event.message)
    elif isinstance(event, ChildEnded):
        turn.change_child(alive=False)
        on_end(turn, event.returncode)


def _without_word(turn: Turn) -> None:
    """End a task whose chief is gone without a word, as a gate's end is: exit code 43."""
    follower = turn.follower
    turn.set(silence=turn.state.silence.looked_at(turn.now))
    silent, deadline = turn.state.silence.seconds(turn.now), follower.deadline
    if silent < QUIET_SECONDS and silent < deadline:
        return
    needed = not follower.never_ends_by_itself and turn.state.last_step is None
    if turn.state.ending is not None or not needed:
        return
    hint = follower.config.cluster.hint
    word, look = f"no word from {turn.chief_name}", f". Look at: {hint}" if hint else ""
    if follower.config.settings.interactive:
        no_client(turn, silent)
        return
    if silent < deadline:
        turn.do(SayWaiting(word, f"{word}, {silent:.0f} s of {deadline:.0f} s{look}"))
        return
    times = "" if follower.turn == 1 else f"{follower.turn} times "
    setting = f"{times}peers.deadlineSeconds"
    message = f"{word} for {deadline:g} s ({setting}): {follower.words.in_vain}{look}"
    outcome = Outcome(exit_codes.PEERS_LOST, FAILED, message)
    end_child(turn, outcome, follower.stop_grace)
