"""What a task does that an interactive client drives, in place of a chief."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.rules.actions import SayWaiting
from tf_cluster_trainer.supervisor.rules.follower_child import end_child
from tf_cluster_trainer.supervisor.rules.follower_turn import Turn
from tf_cluster_trainer.supervisor.status.document import DONE, Outcome

# A client asks every two seconds. One that was silent for so long gives its place to the next.
GONE_SECONDS = 10.0


def is_another_client(turn: Turn, asked: Mapping[str, Any] | None) -> bool:
    """Whether a second client asks while the first lives: a ps serves the variables of one.

    It is not heard: else two notebooks would end each other's servers in turn.
    """
    if not turn.follower.config.settings.interactive or asked is None or turn.state.child is None:
        return False
    ours = turn.child.epoch
    if ours is None or asked.get("epoch") == ours:
        return False
    return turn.state.silence.seconds(turn.now) < GONE_SECONDS


def no_client(turn: Turn, silent: float) -> None:
    """No client has asked for `silent` seconds: say so, and end when it is too long."""
    idle = turn.follower.deadline
    if silent < idle:
        turn.do(SayWaiting("no client", f"no client, {silent:.0f} s of {idle:.0f} s; then it ends"))
        return
    message = f"no client for {idle:g} s (interactive.idleSeconds)"
    end_child(turn, Outcome(exit_codes.DONE, DONE, message), turn.follower.timing.grace)
