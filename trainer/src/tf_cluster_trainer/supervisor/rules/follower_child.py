"""One child of a task after another: started, heard, and what its end means."""

from __future__ import annotations

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.supervisor.rules import restart
from tf_cluster_trainer.supervisor.rules.actions import (
    AskChief,
    End,
    Say,
    StartChild,
    TellLastStep,
    Terminate,
)
from tf_cluster_trainer.supervisor.rules.follower_turn import (
    EVALUATED,
    ChildRun,
    Part,
    Turn,
)
from tf_cluster_trainer.supervisor.status.document import (
    FAILED,
    RUNNING,
    STARTING,
    SUPERSEDED,
    WAITING,
    Outcome,
)


def start_child(turn: Turn) -> None:
    """Start the next child; a script only waits to be started."""
    number = 1 if turn.state.child is None else turn.child.number + 1
    script = turn.follower.part is Part.SCRIPT
    turn.set(child=ChildRun(number, alive=not script), start_at=None)
    turn.show(status=STARTING, message=turn.follower.words.starting)
    if script:
        # It can start at any time; that is what `serving` means here.
        _serve(turn, WAITING, f"ready; waiting for {turn.chief_name} to begin")
        return
    turn.do(StartChild(number))
    if turn.follower.part is Part.EVALUATE:
        # The chief's name is a Service's, there from the beginning.
        _begin_to_ask(turn)
        if turn.state.last_step is not None:
            turn.do(TellLastStep(turn.state.last_step[0]))


def on_message(turn: Turn, message: protocol.Message) -> None:
    """The present child says something."""
    part = turn.follower.part
    if part is Part.SERVE and isinstance(message, protocol.Serving):
        _serve(turn, RUNNING, "serving")
    elif part is Part.TRAIN and isinstance(message, protocol.Ready):
        words = f"ready; waiting for {turn.chief_name} to begin"
        turn.do(Say(words))  # it may wait for long
        _serve(turn, WAITING, words)
    elif part is Part.EVALUATE:
        _on_evaluator(turn, message)


def _on_evaluator(turn: Turn, message: protocol.Message) -> None:
    if isinstance(message, protocol.Ready):
        _serve(turn, WAITING, "waiting for a checkpoint")
    elif isinstance(message, protocol.Phase) and message.status in (RUNNING, WAITING):
        turn.show(status=message.status, message=message.message)
    elif isinstance(message, protocol.Evaluated):
        turn.set(budget=turn.state.budget.refilled())
        turn.show(step=message.step, metrics=message.metrics, export=message.export)


def _serve(turn: Turn, status: str, message: str) -> None:
    """The child can be counted on: show that, and look at the chief from now on."""
    turn.change_child(serving_since=turn.now)
    _begin_to_ask(turn)
    turn.show(status=status, message=message)


def _begin_to_ask(turn: Turn) -> None:
    turn.set(silence=turn.state.silence.begun(turn.now))
    turn.do(AskChief())


def on_end(turn: Turn, returncode: int) -> None:
    """The present child has ended."""
    child, ending = turn.child, turn.state.ending
    how = restart.how_it_ended(returncode)
    turn.change_child(serving_since=None, epoch=None)
    if ending is not None:
        if turn.follower.part is Part.SCRIPT:
            turn.do(Say(f"the script {how}"))
        turn.do(End(ending))
        return
    if turn.state.last_step is not None and returncode == exit_codes.DONE:
        turn.do(End(EVALUATED))
        return
    if child.replacing:
        start_child(turn)
        return
    if _is_through(turn, returncode):
        return
    why = child.failure or f"{turn.follower.words.process} {how}"
    outcome = _given_up(turn, returncode, why)
    if outcome is not None:
        turn.do(End(outcome))
        return
    served = child.serving_since
    if served is not None and turn.now - served >= turn.follower.timing.steady:
        turn.set(budget=turn.state.budget.refilled())
    budget = turn.state.budget.after_one()
    if budget is None:
        turn.do(End(restart.given_up(turn.state.budget, returncode, why)))
        return
    delay = restart.delay(budget.spent, turn.follower.timing.backoff)
    turn.set(budget=budget, start_at=turn.now + delay)
    turn.do(Say(f"{why}; starting it again in {delay:g} s", warns=True))
    turn.show(status=STARTING, message=f"starting again: {why}")


def _is_through(turn: Turn, returncode: int) -> bool:
    """Whether the child that ended so has done its part, and no other is needed for now."""
    part, child = turn.follower.part, turn.child
    if part is Part.SCRIPT and returncode == exit_codes.DONE:
        message = "the script is done here; waiting for the end of the attempt"
    elif part is not Part.TRAIN or child.let_go_in is None:
        return False
    elif returncode == exit_codes.DONE:
        message = f"done here; waiting for {turn.chief_name} to finish"
    elif returncode == exit_codes.STOPPED and turn.follower.bound:
        # Not asked by us: some worker was asked to end, so all of them ended at one step.
        message = f"stopped with another worker; waiting for {turn.chief_name} to start again"
    else:
        return False
    turn.change_child(through_with=child.let_go_in)
    turn.do(Say(message))
    turn.show(status=WAITING, message=message)
    return True


def _given_up(turn: Turn, returncode: int, why: str) -> Outcome | None:
    """How this supervisor ends after a child that is not to be started again."""
    part = turn.follower.part
    if part is Part.SCRIPT:
        if returncode < 0:
            return None  # it was lost, as any process can be
        return Outcome(exit_codes.of_script(returncode), FAILED, why)
    if part is Part.EVALUATE and returncode == exit_codes.NOT_OWNER:
        return Outcome(exit_codes.DONE, SUPERSEDED, why)
    if returncode == exit_codes.CONFIG:
        return Outcome(exit_codes.CONFIG, FAILED, why)
    return None


def end_child(turn: Turn, outcome: Outcome, grace: float) -> None:
    """End the child, then this supervisor; the first reason stands."""
    if turn.state.ending is None:
        turn.set(ending=outcome, kill_at=turn.now + grace)
        if turn.state.child is not None and turn.child.alive:
            turn.do(Terminate())
    ending = turn.state.ending
    assert ending is not None
    if turn.state.child is None or not turn.child.alive:
        turn.do(End(ending))
