"""The child of a worker that trains by itself; that of worker 0 keeps the run's records too."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from tf_cluster_trainer import exit_codes, loop_own
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.child.leading import (
    Hears,
    Led,
    Start,
    is_not_finite,
    lead,
    newest_of_ours,
    owner_check,
    plan_of,
    while_finite,
)
from tf_cluster_trainer.child.stop import Stop
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop import Plan
from tf_cluster_trainer.protocol import Lost
from tf_cluster_trainer.strategies.trainee import Join, Joining, Trainee


def train(start: Start, join: Join) -> int:
    """Make steps until the run's total is reached; the exit code. Raises what ends it early."""
    told, prepared, stop = start.told, start.prepared, start.stop
    if told.is_client:
        owner_check(told)()

    def restored() -> Checkpoint | None:
        return newest_of_ours(told, prepared) if told.is_client else None

    def lost(task: str) -> None:
        if told.is_client:
            start.channel.send(Lost(task))

    trainee = join(Joining(told, prepared.program, prepared.ctx, prepared.trial, restored, lost))
    if not told.is_client:
        return _follow(told, trainee, stop)

    def run(plan: Plan, report: Hears, save: Hears) -> bool:
        with _until_all_are_through(trainee):
            return loop_own.lead(plan, trainee, stop=stop.requested, report=report, save=save)

    led = Led(
        devices=trainee.devices(),
        tally=trainee.tally,
        copy=trainee.copy,
        still=contextlib.nullcontext,
        run=run,
        callees=1,
        sharers=_sharers(told),
    )
    code = lead(start, trainee.origin(), led)
    if code == exit_codes.STOPPED and not stop.requested.is_set():
        raise PeerLostError(_ended_by(trainee), trainee.ended_by())
    return code


def _follow(told: Config, trainee: Trainee, stop: Stop) -> int:
    stop.save_first()
    plan = plan_of(told.settings, ResumePoint(), 1, _sharers(told))
    with while_finite(trainee.tally), _until_all_are_through(trainee):
        loop_own.follow(plan, trainee, stop.requested)
    if stop.requested.is_set():
        log("stopped; the run's state is with worker-0")
        return exit_codes.STOPPED
    if trainee.ended_by():
        # As if asked: the supervisor, which was not, waits for worker 0's next start.
        log(_ended_by(trainee))
        return exit_codes.STOPPED
    return exit_codes.DONE


@contextlib.contextmanager
def _until_all_are_through(trainee: Trainee) -> Iterator[None]:
    """Steps are made in it. All end them alike, at a step or at a loss that is not finite.

    Whatever else ends them, the others see this worker lost: to wait for them would be in vain.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if is_not_finite(error):
            trainee.leave()
        raise
    trainee.leave()


def _sharers(told: Config) -> int:
    return 1 if told.settings.combination.lockstep else told.cluster.size("worker")


def _ended_by(trainee: Trainee) -> str:
    names = trainee.ended_by()
    were = "was" if len(names) == 1 else "were"
    return f"{' and '.join(names)} {were} stopped, and all workers with it; worker-0 saved the run"
