"""The chief's child from the program's import to the run's result."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass

import tensorflow as tf

from tf_cluster_trainer import checkpoint, checkpoint_variables, exit_codes, loop
from tf_cluster_trainer.child import connecting, finish, restore, user_program
from tf_cluster_trainer.child.errors import NotFiniteError, NotOwnerError
from tf_cluster_trainer.child.reports import Reports
from tf_cluster_trainer.child.saves import Saves
from tf_cluster_trainer.child.say import say
from tf_cluster_trainer.child.stop import Stop
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.context import Context, Flags
from tf_cluster_trainer.owner import owns
from tf_cluster_trainer.program import Program
from tf_cluster_trainer.protocol import Channel, Phase, Placement
from tf_cluster_trainer.strategies import parameter_servers
from tf_cluster_trainer.strategies.gradients import NOT_FINITE
from tf_cluster_trainer.strategies.in_graph_async import InGraphAsync
from tf_cluster_trainer.strategies.in_graph_sync import InGraphSync
from tf_cluster_trainer.strategies.parameter_servers import CHIEF, Making
from tf_cluster_trainer.strategies.rehearsal import Rehearsal, rehearse
from tf_cluster_trainer.strategies.tally import Origin


@dataclass(frozen=True)
class Prepared:
    """What can be ready before any other task is there."""

    program: Program
    ctx: Context
    rehearsal: Rehearsal


def prepare(told: Config) -> Prepared:
    """Import and try the program. Raises ProgramError."""
    # TensorFlow's Python log repeats, over many lines, what we say in one.
    logging.getLogger("tensorflow").setLevel(logging.CRITICAL)
    program = user_program.load(told.settings)
    settings = told.settings
    ctx = Context(
        task=told.task,
        settings=settings,
        flags=Flags(told.flags),
        data_dir=settings.data_dir,
        log_dir=settings.log_dir,
        run_dir=settings.run_dir,
    )
    return Prepared(program, ctx, rehearse(program, ctx))


def train(told: Config, prepared: Prepared, channel: Channel, stop: Stop) -> int:
    """Make the run's remaining steps; the exit code. Raises what ends it early."""
    settings, rehearsal = told.settings, prepared.rehearsal
    check_owner = _owner_check(told)
    check_owner()
    restored = restore.newest(settings.run_dir, rehearsal.variables)
    origin = Origin()
    if restored:
        meta = restored.meta
        origin = Origin(meta.step, meta.examples, meta.workers)
    connecting.check_peers(told.cluster)
    say(f"connecting to {told.cluster.size('worker')} workers and {told.cluster.size('ps')} ps")
    with connecting.killable():
        strategy = parameter_servers.connect(told.cluster)
    making = Making(
        strategy=strategy,
        program=prepared.program,
        ctx=prepared.ctx,
        rehearsal=rehearsal,
        workers=told.cluster.size("worker"),
        origin=origin,
    )
    training = InGraphSync(making) if settings.update == "sync" else InGraphAsync(making)
    model = checkpoint_variables.of_model(rehearsal.variables, training.model)
    slots = checkpoint_variables.of_optimizer(training.optimizer, model, training.model)
    if restored:
        restore.fill(restored, settings.optimizer.name, model, slots)
    channel.send(Placement(training.devices()))
    sentence = f"training from step {origin.step} to {settings.steps}"
    say(sentence)
    channel.send(Phase("running", sentence))

    saves = Saves(
        directory=checkpoint.directory(settings.run_dir),
        keep=settings.checkpoint.keep,
        optimizer=settings.optimizer.name,
        copy=checkpoint_variables.Copy((*model, *slots), CHIEF),
        check_owner=check_owner,
        channel=channel,
        saved_step=origin.step if restored else None,
    )
    reports = Reports(
        events=settings.run_dir / "events",
        first=training.tally(),
        channel=channel,
        clock=time.monotonic,
    )
    plan = loop.Plan(
        step=origin.step,
        total=settings.steps,
        steps_per_call=settings.steps_per_call,
        callees=1 if settings.update == "sync" else told.cluster.size("worker"),
        report_seconds=settings.report_seconds,
        save_seconds=settings.checkpoint.seconds,
        save_steps=settings.checkpoint.steps,
    )
    stop.save_first()
    try:
        finished = loop.run(
            plan, training, stop=stop.requested, report=reports.report, save=saves.begin
        )
    except tf.errors.InvalidArgumentError as error:
        if NOT_FINITE in str(error):
            raise NotFiniteError(_not_finite(training)) from None
        raise
    with training.still():
        tally = training.tally()
        reports.report(tally)
        reports.close()
        tensors = saves.last(tally)
    if not finished:
        say(f"stopped at step {tally.step} of {settings.steps}; it is saved")
        return exit_codes.STOPPED
    stop.at_once()
    channel.send(
        finish.result(prepared.program, prepared.ctx, rehearsal, tensors, tally.step, check_owner)
    )
    return exit_codes.DONE


def _owner_check(told: Config) -> Callable[[], None]:
    def check() -> None:
        if not owns(told.settings.run_dir, told.task.job_uid, told.task.pod_uid):
            raise NotOwnerError(
                f"another attempt owns {told.settings.run_dir} now; this one writes nothing more"
            )

    return check


def _not_finite(training: InGraphAsync | InGraphSync) -> str:
    step = training.tally().step
    return (
        f"the loss became NaN or infinite about step {step}; no such update was applied after it. "
        "A smaller train.optimizer.learningRate is the usual cure"
    )
