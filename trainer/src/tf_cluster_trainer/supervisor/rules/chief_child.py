"""One child of the chief after another: started, heard, killed, and what its end means."""

from __future__ import annotations

from collections.abc import Sequence

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.supervisor.rules import restart
from tf_cluster_trainer.supervisor.rules.actions import (
    AskNobody,
    AskPeers,
    CountLosses,
    End,
    ForgetPace,
    Hear,
    HurryPeers,
    Kill,
    KnowNoOtherJob,
    LookAtRun,
    LookAtStanding,
    Say,
    StartChild,
    Terminate,
)
from tf_cluster_trainer.supervisor.rules.chief_turn import (
    ChildRun,
    Phase,
    Turn,
    superseded,
)
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED
from tf_cluster_trainer.supervisor.rules.restart import AskStanding
from tf_cluster_trainer.supervisor.rules.standing import (
    Lost,
    Owning,
    Standing,
    Superseded,
)
from tf_cluster_trainer.supervisor.status.document import (
    DONE,
    FAILED,
    STARTING,
    Outcome,
)


def start_child(turn: Turn) -> None:
    """Start the next child; it loads the program while its peers are waited for."""
    script = turn.chief.script
    number = 1 if turn.state.child is None else turn.state.child.number + 1
    seen = {peer.task: NOT_ASKED for peer in turn.chief.peers}
    child = ChildRun(number, turn.now, seen, alive=not script)
    turn.set(child=child)
    # The epoch is shown before the child starts: who serves it needs as long to make room.
    turn.show(epoch=turn.epoch, status=STARTING, restarts=number - 1)
    turn.do(ForgetPace())
    if not script:
        # It loads the program while its peers are waited for.
        turn.do(StartChild(number, turn.epoch))
    turn.do(AskPeers(turn.epoch))
    if script:
        turn.change_child(phase=Phase.READY)
        turn.do(HurryPeers())


def on_message(turn: Turn, child: ChildRun, message: protocol.Message) -> None:
    """The present child says something."""
    if isinstance(message, protocol.Ready):
        turn.change_child(phase=Phase.READY)
        turn.do(HurryPeers())
    elif isinstance(message, protocol.Failure):
        turn.change_child(failure=message.message)
    elif isinstance(message, protocol.StepsMade):
        turn.change_child(needs_workers=False)
    elif isinstance(message, protocol.Finishing):
        turn.change_child(phase=Phase.FINISHING)
        turn.do(AskNobody())
    elif isinstance(message, protocol.Result):
        turn.change_child(result=message)
    elif isinstance(message, protocol.Saved):
        before = turn.state.checkpoint_step
        if before is None or message.step > before:
            turn.set(budget=turn.state.budget.refilled())
    elif isinstance(message, protocol.Progress):
        turn.set(replaced=turn.state.replaced.hear(message.workers, turn.ran))
    if child.begun:
        _say_first_step(turn, child, message)
        if isinstance(message, protocol.Saved):
            turn.set(checkpoint_step=message.step)
        elif isinstance(message, protocol.Phase):
            turn.set(shown=(message.status, message.message))
        turn.do(Hear(message))


def _say_first_step(turn: Turn, child: ChildRun, message: protocol.Message) -> None:
    if not isinstance(message, protocol.Progress):
        return
    if child.first_report is None:
        turn.change_child(first_report=message.step)
    elif not child.stepped and message.step > child.first_report:
        turn.change_child(stepped=True)
        turn.do(Say(f"first step after {turn.now - child.started:.1f} s"))


def on_standing(turn: Turn, standing: Standing) -> None:
    """This chief stands elsewhere in the election than it did."""
    became_owner = isinstance(standing, Owning) and not isinstance(turn.state.standing, Owning)
    turn.set(standing=standing)
    if became_owner and not turn.state.began_once and turn.state.ending is None:
        # The owner before may have reached the total while this one waited; and then nobody may
        # come to the gate any more.
        turn.set(saw_run=False)
        turn.do(LookAtRun())
    if isinstance(standing, Owning) and standing.successor is not None:
        by = f"attempt {standing.successor}"
        turn.do(Say(f"{by} takes over: this one saves and ends"))
        # As long as saving takes: the successor waits for it.
        end_child(turn, superseded(by), turn.timing.save)
    elif isinstance(standing, Superseded):
        end_child(turn, superseded(standing.message), turn.timing.grace)
    elif isinstance(standing, Lost):
        outcome = Outcome(exit_codes.FAILED, FAILED, standing.message)
        end_child(turn, outcome, turn.timing.grace)


def on_replaced(turn: Turn, task: str) -> None:
    """This task runs another server than the child is connected to."""
    needed = turn.chief.config.settings.combination.needed
    if turn.chief.script or task.partition("-")[0] in needed:
        _kill_for(turn, [task], f"{task} was replaced and has no part in this training process")
    else:
        turn.set(replaced=turn.state.replaced.note(task, turn.ran))


def kill_when_stalled(turn: Turn) -> None:
    """Kill a child that makes no step since a worker was replaced."""
    child, replaced = turn.state.child, turn.state.replaced
    tasks = replaced.overdue(turn.ran) if child and child.begun else []
    if tasks:
        why = f"no step for {replaced.patience:.0f} s, and {' and '.join(tasks)} was replaced"
        _kill_for(turn, tasks, why)


def end_when_alone(turn: Turn) -> None:
    """Give up a training whose workers are all gone and make no step; as a gate's end is.

    Where one that is lost ends the step, the child ends by that; elsewhere it waits for them.
    """
    child, settings = turn.state.child, turn.chief.config.settings
    if child is None or not child.alive or child.phase is not Phase.TRAINING:
        return
    if not child.needs_workers or turn.chief.script:
        return
    workers = turn.chief.guarded_workers
    if not workers:
        return
    if any(child.seen[task].reason is None for task in workers):
        turn.change_child(alone_since=None)
        return
    since = turn.ran if child.alone_since is None else child.alone_since
    turn.change_child(alone_since=since)
    deadline = settings.peer_deadline_seconds
    if turn.ran - max(since, turn.state.replaced.moved_at) >= deadline:
        hint = turn.chief.config.cluster.hint
        look = f". Look at: {hint}" if hint else ""
        words = f"no worker answers for {deadline:g} s (peers.deadlineSeconds){look}"
        outcome = Outcome(exit_codes.PEERS_LOST, FAILED, words)
        end_child(turn, outcome, turn.timing.save)


def _kill_for(turn: Turn, lost: Sequence[str], reason: str) -> None:
    """The child waits for these in vain: kill it, to be started again."""
    child = turn.state.child
    if child is None or not child.alive or child.phase is Phase.FINISHING:
        return
    if not child.needs_workers and not any(task.startswith("ps-") for task in lost):
        return
    if turn.state.ending is None and child.failure is None:
        turn.do(CountLosses(tuple(lost)))
        turn.change_child(failure=reason)
        turn.do(Kill())


def end_child(turn: Turn, outcome: Outcome, grace: float) -> None:
    """End the child, then this supervisor; the first reason stands."""
    if turn.state.ending is not None:
        return
    turn.set(ending=outcome, kill_at=turn.now + grace)
    turn.do(KnowNoOtherJob())
    if turn.child_is_alive:
        turn.do(Terminate())


def kill_when_due(turn: Turn) -> None:
    """Kill a child that was asked to end and did not."""
    kill_at = turn.state.kill_at
    if turn.child_is_alive and kill_at is not None and turn.now >= kill_at:
        turn.set(kill_at=None)
        turn.do(Say("the child was asked to end and did not: killing it", warns=True))
        turn.do(Kill())


def on_end(turn: Turn, returncode: int) -> None:
    """The present child has ended."""
    turn.do(AskNobody())
    child, ending = turn.state.child, turn.state.ending
    assert child is not None
    if turn.chief.script:
        _on_end_of_script(turn, child, returncode)
        return
    done = None if child.result is None else _done_words(child.result, turn.total)
    end = restart.of_chief(returncode, done=done, failure=child.failure)
    if ending is not None and not (isinstance(end, Outcome) and end.status == DONE):
        if ending.status != FAILED and child.failure is not None:
            turn.do(Say(f"the child could not save: {child.failure}", warns=True))
        turn.do(End(ending))
    elif isinstance(end, Outcome):
        turn.do(End(end))
    elif isinstance(end, AskStanding):
        turn.do(LookAtStanding())
    else:
        _start_again(turn, end.why)


def _on_end_of_script(turn: Turn, child: ChildRun, returncode: int) -> None:
    if turn.state.ending is not None:
        turn.do(Say(f"the script {restart.how_it_ended(returncode)}"))
        turn.do(End(turn.state.ending))
        return
    end = restart.of_chiefs_script(returncode, failure=child.failure)
    if isinstance(end, Outcome):
        turn.do(End(end))
        return
    if turn.now - child.started >= turn.timing.steady:
        turn.set(budget=turn.state.budget.refilled())
    _start_again(turn, end.why)


def after_not_owner(turn: Turn, standing: Standing | None) -> None:
    """The child found another owner of the run: what the election says to that."""
    if isinstance(standing, Superseded):
        turn.do(End(superseded(standing.message)))
    elif isinstance(standing, Lost):
        turn.do(End(Outcome(exit_codes.FAILED, FAILED, standing.message)))
    elif isinstance(standing, Owning):
        # A late write of the owner before, taken back since.
        _start_again(turn, "the training process found another owner for a moment")
    else:
        words = "the training process found another owner of the run, but there is none now"
        turn.do(End(Outcome(exit_codes.FAILED, FAILED, words)))


def _start_again(turn: Turn, why: str) -> None:
    budget = turn.state.budget.after_one()
    if budget is None:
        outcome = restart.chief_given_up(turn.state.budget, why, script=turn.chief.script)
        turn.do(End(outcome))
        return
    turn.set(budget=budget)
    of = f"{budget.spent} of {budget.limit}"
    how = f" ({of})" if turn.chief.script else f" from the checkpoint ({of} without a new one)"
    turn.do(Say(f"{why}; starting it again{how}", warns=True))
    turn.show(message=f"starting again: {why}")
    start_child(turn)


def _done_words(result: protocol.Result, total: int) -> str:
    metrics = ", ".join(f"{name} {value:.4g}" for name, value in result.metrics.items())
    words = [f"done at step {result.step} of {total}", metrics]
    if result.export:
        words.append(f"exported to {result.export}")
    return "; ".join(word for word in words if word)
