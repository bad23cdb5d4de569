"""The run's records: checkpoints, reports and the result. The chief keeps them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field

import numpy as np
import tensorflow as tf

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import write as checkpoint_write
from tf_cluster_trainer.checkpoint.pieces import State
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.child import finish
from tf_cluster_trainer.child.stop import Stop
from tf_cluster_trainer.config import Config, Settings
from tf_cluster_trainer.errors import NotFiniteError, NotNowError, NotOwnerError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.loop.plan import Plan
from tf_cluster_trainer.loop.reports import Reports
from tf_cluster_trainer.loop.saver import Saver
from tf_cluster_trainer.program import flags as program_flags
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.protocol import Channel, Phase, Placement
from tf_cluster_trainer.ps_volume import reach as ps_reach
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory import settings as settings_file
from tf_cluster_trainer.run_directory.owner import owns
from tf_cluster_trainer.servers.lost import Servers
from tf_cluster_trainer.strategies.step import schedule
from tf_cluster_trainer.strategies.step.gradients import NOT_FINITE

OnCounters = Callable[[TrainingCounters], None]


@dataclass(frozen=True)
class Start:
    """One start of a process that trains: its configuration and its connections.

    The process needs `servers` until the last step is saved. It runs `at_end` after it has reported
    why it ends.
    """

    config: Config
    prepared: Prepared
    channel: Channel
    stop: Stop
    servers: Servers
    at_end: ExitStack


@dataclass(frozen=True)
class Training:
    """The training as its chief sees it, and its loop.

    `run(plan, report, save)` makes the steps; it returns True at the total, False when stopped.
    Inside the context `quiesced()`, the counters and `state` are of the same step. `holds_state`:
    that is in this process' memory. `ps_bytes`: bytes of the state on each ps. `max_in_flight` and
    `workers_sharing_steps` are as in Plan.
    """

    devices: Mapping[str, str]
    counters: Callable[[], TrainingCounters]
    state: State
    quiesced: Callable[[], AbstractContextManager[None]]
    run: Callable[[Plan, OnCounters, OnCounters], bool]
    max_in_flight: int
    workers_sharing_steps: int = 1
    holds_state: bool = False
    ps_bytes: Mapping[str, int] = field(default_factory=dict)


def newest_of_ours(config: Config, prepared: Prepared) -> Checkpoint | None:
    """The checkpoint to resume from. Raises NotOwnerError if another attempt owns the run."""
    owner_check(config)()
    return restore.newest(config.settings.run_dir, prepared.trial.variables)


def train_as_chief(start: Start, resume_point: ResumePoint, training: Training) -> int:
    """Make the run's remaining steps, keep its records, and return the exit code."""
    config, prepared, channel, stop = start.config, start.prepared, start.channel, start.stop
    settings = config.settings
    check_owner = owner_check(config)
    flags = program_flags.as_json(prepared.ctx.flags)
    settings_file.write(settings.run_dir, config.training, flags, check_owner)
    check_owner()
    # If a killed child's partial checkpoint fills the volume, no other ever fits.
    checkpoint_write.remove_left(layout.checkpoints(settings.run_dir))
    ps_reach.remove_left(settings.run_dir)
    channel.send(Placement(training.devices, training.ps_bytes))
    sentence = f"training from step {resume_point.step} to {settings.steps}"
    log(sentence)
    channel.send(Phase("running", sentence))
    saver = Saver(
        directory=layout.checkpoints(settings.run_dir),
        keep=settings.checkpoint.keep,
        optimizer=settings.optimizer.name,
        trained=prepared.trial.trained,
        state=training.state,
        lockstep=settings.combination.lockstep,
        holds_state=training.holds_state,
        check_owner=check_owner,
        channel=channel,
        saved_step=resume_point.step or None,
    )
    start.at_end.callback(saver.drain)
    reports = Reports(
        events=settings.run_dir / layout.EVENTS,
        first=training.counters(),
        rate=lambda step: float(schedule.rate(settings.optimizer, step, np)),
        channel=channel,
        clock=time.monotonic,
    )
    plan = plan_of(settings, resume_point, training.max_in_flight, training.workers_sharing_steps)
    stop.save_first()
    with while_finite(training.counters):
        finished = training.run(plan, reports.report, saver.begin)
    saved_meanwhile = saver.settle_before_last()
    with training.quiesced():
        counters = training.counters()
        reports.report(counters)
        reports.close()
        if not finished and saved_meanwhile is not None:
            # Another save would take as long again, and the ps leave soon.
            at = f"stopped at step {counters.step} of {settings.steps}"
            log(f"{at}; step {saved_meanwhile}, which was being saved, is saved")
            return exit_codes.STOPPED
        try:
            saved = saver.last(counters, finished=finished)
        except NotNowError as error:
            if finished:
                raise
            log(f"stopped at step {counters.step} of {settings.steps}; not saved: {error}", WARNING)
            return exit_codes.STOPPED
    if not finished:
        log(f"stopped at step {counters.step} of {settings.steps}; it is saved")
        return exit_codes.STOPPED
    stop.at_once()
    start.servers.release()
    channel.send(finish.result(prepared.program, prepared.ctx, prepared.trial, saved, check_owner))
    return exit_codes.DONE


def plan_of(
    settings: Settings, resume_point: ResumePoint, max_in_flight: int, workers_sharing_steps: int
) -> Plan:
    """How far this start trains, and in calls of what size."""
    return Plan(
        step=resume_point.step,
        total=settings.steps,
        steps_per_call=settings.steps_per_call,
        max_in_flight=max_in_flight,
        report_seconds=settings.report_seconds,
        save_seconds=settings.checkpoint.seconds,
        save_steps=settings.checkpoint.steps,
        workers_sharing_steps=workers_sharing_steps,
    )


def owner_check(config: Config) -> Callable[[], None]:
    """Return a function that raises NotOwnerError if another attempt owns the run."""

    def check() -> None:
        if not owns(config.settings.run_dir, config.task.job_uid, config.task.pod_uid):
            raise NotOwnerError(
                f"another attempt owns {config.settings.run_dir} now; this one writes nothing more"
            )

    return check


def is_not_finite(error: tf.errors.InvalidArgumentError) -> bool:
    """Whether a step's loss was not finite."""
    return NOT_FINITE in str(error)


@contextmanager
def while_finite(counters: Callable[[], TrainingCounters]) -> Iterator[None]:
    """Inside this context a loss that is not finite raises NotFiniteError, which names the known
    step.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if not is_not_finite(error):
            raise
        raise NotFiniteError(
            f"the loss became NaN or infinite about step {counters().step}; no such update was "
            "applied after it. A smaller train.optimizer.learningRate is the usual cure"
        ) from None
