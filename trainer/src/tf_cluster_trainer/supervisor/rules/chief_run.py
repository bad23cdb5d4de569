"""The run as it is on disk: whether there is anything left to do."""

from __future__ import annotations

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.rules.actions import (
    End,
    Recall,
    Say,
    Show,
)
from tf_cluster_trainer.supervisor.rules.chief_child import (
    end_child,
    start_child,
)
from tf_cluster_trainer.supervisor.rules.chief_turn import (
    Turn,
    superseded,
)
from tf_cluster_trainer.supervisor.rules.events import (
    RunSeen,
)
from tf_cluster_trainer.supervisor.rules.final_state import was_cut_off
from tf_cluster_trainer.supervisor.status.document import (
    DONE,
    Outcome,
)


def on_run(turn: Turn, run: RunSeen) -> None:
    """How far the run is: what a chief begins with, and looks at again before it trains."""
    first = turn.state.child is None
    if first and run.unusable is None and not turn.chief.script:
        turn.set(checkpoint_step=run.step)
        turn.do(Show({"checkpoint_step": run.step}))
    if run.unusable is not None:
        _end(turn, run.unusable)
    elif first and run.taken_by is not None:
        _end(turn, superseded(f"attempt {run.taken_by}"))
    elif (done := _done_before(turn, run)) is not None:
        _end(turn, done)
    elif first:
        start_child(turn)
    else:
        turn.set(saw_run=True)


def _end(turn: Turn, outcome: Outcome) -> None:
    """End with this, and the child before it, if there is one."""
    if turn.state.child is None:
        turn.do(End(outcome))
    else:
        end_child(turn, outcome, turn.timing.grace)


def _done_before(turn: Turn, run: RunSeen) -> Outcome | None:
    """Whether nothing is left to do: the run is at its total."""
    settings, told = turn.chief.config.settings, run.told or {}
    if turn.chief.script:
        # The script of this very Job has ended well: its pod was lost since.
        task = turn.chief.config.task
        job = (told.get("jobUids") or {}).get(task.type)
        here = (told.get("attempt"), job) == (turn.chief.config.cluster.attempt, task.job_uid)
        if not here or told.get("status") != DONE:
            return None
        return Outcome(exit_codes.DONE, DONE, "the script has ended with exit code 0 before")
    if run.step is None or run.step < settings.steps:
        return None
    if was_cut_off(told):
        # Cut off between its last checkpoint and its export: a child makes up for that.
        turn.do(Say(f"the run is at step {run.step}, but was not finished: finishing it"))
        return None
    turn.do(Recall(run.step, told))
    return Outcome(
        exit_codes.DONE,
        DONE,
        f"run {settings.run_name}/{settings.run_id} is at step {run.step} of "
        f"{settings.steps} already: nothing to train. More steps go on from there; "
        "another run id starts afresh",
    )
