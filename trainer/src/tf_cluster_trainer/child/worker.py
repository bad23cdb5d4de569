"""The child of a worker that trains by itself; worker 0's child also keeps the run's records."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import tensorflow as tf

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.child.records import (
    OnCounters,
    Start,
    Training,
    is_not_finite,
    newest_of_ours,
    owner_check,
    plan_of,
    train_as_chief,
    while_finite,
)
from tf_cluster_trainer.child.stop import Stop
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop import worker as worker_loop
from tf_cluster_trainer.loop.plan import Plan
from tf_cluster_trainer.loop.protocols import TrainingWorker
from tf_cluster_trainer.protocol import Lost
from tf_cluster_trainer.strategies.context import Join, StrategyContext


def train(start: Start, join: Join) -> int:
    """Make steps up to the run's total and return the exit code. Raises what ends it early."""
    config, prepared, stop = start.config, start.prepared, start.stop
    if config.is_chief:
        owner_check(config)()

    def restored() -> Checkpoint | None:
        return newest_of_ours(config, prepared) if config.is_chief else None

    def lost(task: str) -> None:
        if config.is_chief:
            start.channel.send(Lost(task))

    worker = join(
        StrategyContext(
            config=config,
            program=prepared.program,
            ctx=prepared.ctx,
            trial=prepared.trial,
            restored=restored,
            check_owner=owner_check(config),
            lost=lost,
        )
    )
    if not config.is_chief:
        return _follow(config, worker, stop)

    def run(plan: Plan, report: OnCounters, save: OnCounters) -> bool:
        with _until_all_are_through(worker):
            return worker_loop.run_chief(
                plan, worker, stop=stop.requested, report=report, save=save
            )

    training = Training(
        devices=worker.devices(),
        counters=worker.counters,
        state=worker,
        holds_state=worker.holds_state,
        quiesced=contextlib.nullcontext,
        run=run,
        ps_bytes=worker.ps_bytes(),
        max_in_flight=1,
        workers_sharing_steps=_workers_sharing_steps(config),
    )
    code = train_as_chief(start, worker.resume_point(), training)
    if code == exit_codes.STOPPED and not stop.requested.is_set():
        raise PeerLostError(_ended_by(worker), worker.ended_by())
    return code


def _follow(config: Config, worker: TrainingWorker, stop: Stop) -> int:
    stop.save_first()
    plan = plan_of(config.settings, ResumePoint(), 1, _workers_sharing_steps(config))
    with while_finite(worker.counters), _until_all_are_through(worker):
        worker_loop.run_follower(plan, worker, stop.requested)
    if stop.requested.is_set():
        log("stopped; the run's state is with worker-0")
        return exit_codes.STOPPED
    if worker.ended_by():
        # Exit as if asked: the supervisor, which was not asked, waits for worker 0's next start.
        log(_ended_by(worker))
        return exit_codes.STOPPED
    return exit_codes.DONE


@contextlib.contextmanager
def _until_all_are_through(worker: TrainingWorker) -> Iterator[None]:
    """Inside this context the worker makes its steps; all workers end them together.

    They end at a step, or at a loss that is not finite. After any other error the others see this
    worker as lost, so it does not wait for them.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if is_not_finite(error):
            worker.leave()
        raise
    worker.leave()


def _workers_sharing_steps(config: Config) -> int:
    return 1 if config.settings.combination.lockstep else config.cluster.size("worker")


def _ended_by(worker: TrainingWorker) -> str:
    names = worker.ended_by()
    were = "was" if len(names) == 1 else "were"
    return f"{' and '.join(names)} {were} stopped, and all workers with it; worker-0 saved the run"
