"""The chief: gate, election, one child after another, the attempt's final state.

The chief is whichever task drives the run: worker 0 where none is of that type. docs/formats.md has
the order and the exit codes.
"""

from __future__ import annotations

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.rules.actions import (
    Action,
    End,
    Publish,
    Say,
)
from tf_cluster_trainer.supervisor.rules.chief_child import (
    after_not_owner,
    end_child,
    end_when_alone,
    kill_when_due,
    kill_when_stalled,
    on_end,
    on_message,
    on_replaced,
    on_standing,
)
from tf_cluster_trainer.supervisor.rules.chief_gate import advance
from tf_cluster_trainer.supervisor.rules.chief_run import on_run
from tf_cluster_trainer.supervisor.rules.chief_turn import (
    Chief,
    State,
    Turn,
)
from tf_cluster_trainer.supervisor.rules.events import (
    ChildEnded,
    ChildSaid,
    Event,
    PeerFailed,
    PeerReplaced,
    PeerSeen,
    RunSeen,
    StandingChanged,
    StandingLooked,
    StopAsked,
    Tick,
)
from tf_cluster_trainer.supervisor.status.document import (
    FAILED,
    STOPPED,
    Outcome,
)


def decide(chief: Chief, state: State, event: Event, now: float) -> tuple[State, list[Action]]:
    """What follows from an event at `now`, monotonic seconds. The first event is a RunSeen."""
    turn = Turn(chief, state.looked_at(now), now)
    _take(turn, event)
    return turn.state, turn.actions


def _take(turn: Turn, event: Event) -> None:
    """Handle the event, then whatever is due by now."""
    _on(turn, event)
    if turn.is_over():
        return
    advance(turn)
    if turn.state.ending is not None and not turn.child_is_alive:
        turn.do(End(turn.state.ending))
        return
    kill_when_due(turn)
    kill_when_stalled(turn)
    end_when_alone(turn)
    if isinstance(event, Tick):
        turn.do(Publish())


def _on(turn: Turn, event: Event) -> None:
    child = turn.state.child
    if isinstance(event, RunSeen):
        on_run(turn, event)
    elif isinstance(event, StopAsked):
        turn.do(Say("asked to stop: the child saves and ends"))
        message = "stopped by SIGTERM; a new start resumes from the checkpoint"
        end_child(turn, Outcome(exit_codes.STOPPED, STOPPED, message), turn.timing.save)
    elif isinstance(event, StandingChanged):
        on_standing(turn, event.standing)
    elif isinstance(event, StandingLooked):
        after_not_owner(turn, event.standing)
    elif isinstance(event, PeerFailed):
        outcome = Outcome(exit_codes.CONFIG, FAILED, f"{event.task} failed: {event.message}")
        end_child(turn, outcome, turn.timing.save)
    elif child is None or getattr(event, "child", None) != child.number:
        return  # of a child before
    elif isinstance(event, PeerSeen):
        turn.change_child(seen={**child.seen, event.task: event.health})
    elif isinstance(event, ChildSaid):
        on_message(turn, child, event.message)
    elif isinstance(event, PeerReplaced):
        on_replaced(turn, event.task)
    elif isinstance(event, ChildEnded):
        turn.change_child(alive=False)
        on_end(turn, event.returncode)
