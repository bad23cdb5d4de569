"""What a task does when it hears of the chief: end, keep to its epoch, begin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.supervisor.rules import epochs
from tf_cluster_trainer.supervisor.rules.actions import (
    AskChiefNoMore,
    End,
    Kill,
    LetGo,
    Say,
    TellLastStep,
)
from tf_cluster_trainer.supervisor.rules.events import (
    ChiefSeen,
)
from tf_cluster_trainer.supervisor.rules.final_state import ends
from tf_cluster_trainer.supervisor.rules.follower_child import (
    end_child,
    start_child,
)
from tf_cluster_trainer.supervisor.rules.follower_turn import (
    EVALUATED,
    Part,
    Turn,
)
from tf_cluster_trainer.supervisor.status.document import (
    DONE,
    RUNNING,
    STARTING,
    Outcome,
)


def on_chief(turn: Turn, chief: Mapping[str, Any], seen: ChiefSeen) -> None:
    """Act on the chief's document."""
    if turn.state.last_step is not None:
        return  # what is left is its own affair
    if not turn.follower.never_ends_by_itself and _is_over_by(turn, chief, seen):
        _end_with(turn, chief, seen)
        return
    epoch = chief.get("epoch")
    ours = chief.get("attempt") == turn.follower.config.cluster.attempt
    # The file may be that of a pod that is gone: it lets nobody go.
    if seen.from_file or not ours or not isinstance(epoch, str) or turn.state.child is None:
        return
    if turn.follower.part is Part.TRAIN:
        _refill_when_saved(turn, chief)
    if turn.child.through_with not in (None, epoch) and turn.state.ending is None:
        work = "work left to do" if turn.follower.part is Part.SCRIPT else "steps left to make"
        turn.do(Say(f"the chief has started again: there may be {work}"))
        start_child(turn)
    _keep_epoch(turn, epoch, chief.get("status"))
    _let_go_when_due(turn, epoch, chief.get("status"))


def _is_over_by(turn: Turn, chief: Mapping[str, Any], seen: ChiefSeen) -> bool:
    """Whether the attempt is over, as far as this document and the run on disk tell."""
    config = turn.follower.config
    task, attempt = config.task, config.cluster.attempt
    from_file = seen.from_file
    if ends(chief, attempt, task.job_uid, from_file=from_file, task_type=task.type):
        return True
    # Whom an ending chief waits for believes the file alone, before the chief could be asked,
    # only where it names this task's Job. Nobody waits for an evaluator's first question.
    awaited = turn.follower.part is not Part.EVALUATE
    if not from_file or (awaited and turn.state.child is None):
        return False
    return seen.at_total or seen.superseded


def _end_with(turn: Turn, chief: Mapping[str, Any], seen: ChiefSeen) -> None:
    """The attempt is over: end with exit code 0, an evaluator when all is evaluated."""
    if turn.follower.part is Part.EVALUATE and chief.get("status", DONE) == DONE:
        _evaluate_the_last(turn, chief, seen.evaluated)
        return
    message = f"the attempt is over: {chief.get('message')}"
    end_child(turn, Outcome(exit_codes.DONE, DONE, message), turn.follower.timing.grace)


def _evaluate_the_last(turn: Turn, chief: Mapping[str, Any], evaluated: int | None) -> None:
    saved = chief.get("checkpointStep")
    step = saved if isinstance(saved, int) else None
    turn.set(last_step=(step,))
    turn.do(AskChiefNoMore())
    if turn.state.child is not None and turn.child.alive:
        turn.do(Say("training is done: evaluating what is left"))
        turn.do(TellLastStep(step))
    elif step is not None and evaluated is not None and evaluated >= step:
        turn.do(End(EVALUATED))


def _refill_when_saved(turn: Turn, chief: Mapping[str, Any]) -> None:
    saved, known = chief.get("checkpointStep"), turn.state.checkpoint_step
    if isinstance(saved, int) and (known is None or saved > known):
        turn.set(budget=turn.state.budget.refilled(), checkpoint_step=saved)
        turn.show(checkpoint_step=saved)


def _keep_epoch(turn: Turn, epoch: str, status: Any) -> None:
    """Serve the chief's present child and no other; epochs.py says when one is adopted."""
    child, part = turn.child, turn.follower.part
    if not turn.follower.bound or turn.state.ending is not None:
        return
    if child.replacing or child.epoch == epoch:
        return
    begun = child.let_go_in is not None or part is Part.SERVE
    if child.alive and begun and child.epoch is not None:
        _replace_child(turn)
    elif child.alive or part is Part.SCRIPT:
        # A child that has not begun is as good for the next epoch.
        if status in epochs.adopts(turn.follower.config.settings, turn.type):
            turn.change_child(epoch=epoch)
        elif part is Part.TRAIN:
            turn.change_child(epoch=None)
        if turn.child.epoch != child.epoch:
            turn.show()


def _replace_child(turn: Turn) -> None:
    turn.do(Say("the chief has started again: starting afresh with it"))
    turn.change_child(replacing=True, serving_since=None)
    turn.show(status=STARTING, message="starting afresh for the chief's new process")
    # Killed, not asked: nothing here is worth saving, and the chief waits.
    turn.do(Kill())


def _let_go_when_due(turn: Turn, epoch: str, status: Any) -> None:
    child, part = turn.child, turn.follower.part
    if part not in (Part.TRAIN, Part.SCRIPT) or turn.state.ending is not None:
        return
    waits = child.serving_since is not None and child.let_go_in is None
    ours = not turn.follower.bound or epoch == child.epoch
    if not (waits and ours and status in epochs.WHILE_TRAINING):
        return
    if part is Part.TRAIN:
        turn.change_child(let_go_in=epoch)
        turn.do(Say(f"{turn.chief_name} trains: beginning"))
        turn.show(status=RUNNING, message="training")
    else:
        # That it waited says nothing for it.
        turn.change_child(let_go_in=epoch, serving_since=turn.now, alive=True)
        turn.do(Say(f"{turn.chief_name} has begun: starting the script"))
        turn.show(status=RUNNING, message="the script runs")
    turn.do(LetGo(child.number))
