"""The evaluator's child: it measures every checkpoint as it comes, and always the last one.

It reads nothing of the training but checkpoints. It alone writes evaluations.json, eval/, best/ and
held/evaluator-* in the run's directory. Of two evaluators, the one that started last writes.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint import read as checkpoint_read
from tf_cluster_trainer.checkpoint.export import remove, versions
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.child.control import Orders
from tf_cluster_trainer.child.exporting import Exporter
from tf_cluster_trainer.child.kept_evaluations import KeptEvaluations
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.errors import NotOwnerError, ProgramError, ReplacedError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.loop.event_file import EventFile
from tf_cluster_trainer.program import memory, precision
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.evaluate import measure
from tf_cluster_trainer.program.fill import fill_model
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.program.trial import build_filled
from tf_cluster_trainer.protocol import Channel, Evaluated, Failure, Phase
from tf_cluster_trainer.run_directory import evaluator_claim, layout
from tf_cluster_trainer.run_directory.evaluations import Best
from tf_cluster_trainer.run_directory.held import holding, release_earlier
from tf_cluster_trainer.run_directory.owner import OwnerUnreadableError, read_owner
from tf_cluster_trainer.strategies.step import state_memory

PERIOD_SECONDS = 1.0
# How often to try an unreadable checkpoint: it may be about to be removed, or the disk may be slow.
LOOKS = 3
# Another machine wrote the last checkpoint: network volumes show it after a while.
APPEAR_SECONDS = 120.0


def evaluate(config: Config, prepared: Prepared, channel: Channel, orders: Orders) -> int:
    """Measure all checkpoints and return the exit code. Raises what ends it early."""
    if type(prepared.program).evaluate is Program.evaluate:
        raise ProgramError(
            f"program {config.settings.module} defines no evaluate, so that an evaluator has "
            "nothing to do: define the hook, or train without an evaluator"
        )
    trial = prepared.trial
    state = state_memory.state_bytes(trial, config.settings.optimizer)
    parts = config.cluster.size("ps") if config.settings.combination.has_chief else 1
    memory.look_at_own("evaluator", trial.variables, state, parts)
    return Evaluator(config, prepared, channel).run(orders)


class Evaluator:
    """One start of an evaluator: a plain model that gets the weights of one checkpoint at a time.

    It continues after the last step of the record. It measures steps in their order, and skips a
    checkpoint that is removed before its turn.
    """

    def __init__(
        self,
        config: Config,
        prepared: Prepared,
        channel: Channel,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = config
        self._prepared = prepared
        self._channel = channel
        self._sleep = sleep
        self._clock = clock
        self._run_dir = config.settings.run_dir
        self._held: Path  # of its links, while it runs
        self._wanted = config.export_best
        self._kept = KeptEvaluations(self._run_dir, self._wanted, self._check_owner)
        self._passed_over: set[int] = set()
        self._events: EventFile | None = None
        self._said = ""
        self._model: Any = None  # made with the first checkpoint's values
        self._exporter = Exporter(prepared.program, prepared.ctx, prepared.trial.features)

    def run(self, orders: Orders) -> int:
        """Measure until Finish has come and its step is done; return the exit code.

        Raises ReplacedError if another pod is the attempt's evaluator now.
        """
        if self._kept.evaluated >= 0:
            log(f"going on after step {self._kept.evaluated}, which was evaluated")
        with holding(self._run_dir, "evaluator") as self._held:
            try:
                return self._measure_all(orders)
            finally:
                self._model = None  # it uses the links

    def _measure_all(self, orders: Orders) -> int:
        since: float | None = None
        while True:
            self._check_claim()
            finish = orders.finish.is_set()  # asked first: what came before it is looked at after
            found = self._next()
            if found is not None:
                self._evaluate(*found)
                since = None
            elif not finish:
                self._tell("waiting", "waiting for the next checkpoint")
                orders.finish.wait(PERIOD_SECONDS)
            else:
                since = self._clock() if since is None else since
                code = self._through(orders.last_step, self._clock() - since)
                if code is not None:
                    return code
                self._sleep(PERIOD_SECONDS)

    def _through(self, last: int | None, waited: float) -> int | None:
        """Return the exit code if all is done, or can't be; None if the last checkpoint is to come.

        `last` is its step, `waited` the seconds without it.
        """
        if not self._may_write():
            if last is not None and self._kept.evaluated < last:
                log("another attempt goes on with the run: the rest is its evaluator's")
            return exit_codes.DONE
        if last is None or self._kept.evaluated >= last:
            self._kept.keep_all()
            return exit_codes.DONE
        if last in self._passed_over or waited >= APPEAR_SECONDS:
            why = "can't be read" if last in self._passed_over else "did not appear"
            message = f"the last checkpoint, of step {last}, {why}: it is not evaluated"
            log(message)
            self._channel.send(Failure(message))
            return exit_codes.FAILED
        self._tell("waiting", f"waiting to see the checkpoint of step {last}")
        return None

    def _next(self) -> tuple[int, Path] | None:
        """The oldest checkpoint to measure, while the run belongs to our attempt."""
        if not self._may_write():
            return None
        for step, path in reversed(layout.whole_checkpoints(layout.checkpoints(self._run_dir))):
            if step > self._kept.evaluated and step not in self._passed_over:
                return step, path
        return None

    def _evaluate(self, step: int, path: Path) -> None:
        self._tell("running", f"evaluating the checkpoint of step {step}")
        if not self._take(step, path):
            self._passed_over.add(step)
            return
        metrics = measure(self._prepared.program, self._prepared.ctx, self._model)
        self._kept.take_in()
        try:
            better = self._export_if_better(step, metrics)
            self._draw(step, metrics)
            self._kept.keep(step, metrics)
        except NotOwnerError as error:
            log(f"step {step} is not recorded: {error}", WARNING)
            return
        best = self._kept.best
        export_path = best.export if best else None
        self._channel.send(Evaluated(step, metrics, export_path))
        words = ", ".join(f"{name} {value:.4g}" for name, value in metrics.items())
        log(f"step {step}: {words}" + (f"; the best so far, in {export_path}" if better else ""))

    def _take(self, step: int, path: Path) -> bool:
        """Give the checkpoint's values to the model; False if it is gone or unreadable.

        Then some values may be of this checkpoint already: the next one replaces all. Raises
        ProgramError if the model has changed, OSError if the disk fails.
        """
        trouble: Exception | None = None
        for _ in range(LOOKS):
            saved = None
            try:
                saved = checkpoint_read.described(path)
            except Exception as error:  # meta.json may hold anything
                trouble = error
            if saved is not None:
                try:
                    self._fill(saved)
                    return True
                except checkpoint_read.DamagedError as error:
                    trouble = error
            # A removal takes a moment, in which parts of the checkpoint remain.
            self._sleep(PERIOD_SECONDS)
            if not path.is_dir():
                log(f"the checkpoint of step {step} was removed before it could be evaluated")
                return False
        assert trouble is not None
        if isinstance(trouble, OSError) and not isinstance(trouble, FileNotFoundError):
            raise trouble
        words = checkpoint_read.first_line(trouble)
        log(f"the checkpoint of step {step} can't be read ({words}): it is passed over", WARNING)
        return False

    def _fill(self, saved: Checkpoint) -> None:
        program, ctx, trial = self._prepared.program, self._prepared.ctx, self._prepared.trial
        checkpoint_read.check_model(saved.meta, trial.variables)
        held = self._held / saved.path.name

        def fill(model: Any) -> None:
            fill_model(model, trial.variables, saved, held)

        if self._model is None:
            self._model = build_filled(program, ctx, trial.features, fill, precision.FULL)
        else:
            fill(self._model)
        release_earlier(self._held)
        for before in self._held.glob("*"):
            if before != held:
                shutil.rmtree(before, ignore_errors=True)

    def _export_if_better(self, step: int, metrics: dict[str, float]) -> bool:
        wanted = self._wanted
        if wanted is None:
            return False
        if wanted.metric not in metrics:
            there = ", ".join(sorted(metrics)) or "none"
            raise ProgramError(
                f"evaluator.exportBest.metric is {wanted.metric}, which evaluate does not give; "
                f"its metrics: {there}"
            )
        value = metrics[wanted.metric]
        if not self._kept.is_better(value, wanted):
            return False
        directory = self._run_dir / layout.BEST
        path = self._exporter.export(self._model, step, metrics, directory, self._check_owner)
        self._kept.best = Best(wanted.metric, wanted.mode, step, value, str(path))
        for old in sorted(versions(directory))[: -self._config.settings.checkpoint.keep]:
            remove(directory / str(old))
        return True

    def _draw(self, step: int, metrics: dict[str, float]) -> None:
        self._check_owner()
        with _as_os_error():
            if self._events is None:
                self._events = EventFile(self._run_dir / layout.EVALUATOR_EVENTS, step=step)
            self._events.scalars(step, {f"evaluation/{name}": v for name, v in metrics.items()})

    def _may_write(self) -> bool:
        """Whether our attempt owns the run, or nobody does any more."""
        try:
            owner = read_owner(self._run_dir)
        except OwnerUnreadableError:
            return False
        if owner is None:
            return False
        return owner.released or owner.attempt == self._config.cluster.attempt

    def _check_owner(self) -> None:
        self._check_claim()
        if not self._may_write():
            raise NotOwnerError(f"another attempt owns {self._run_dir} now")

    def _check_claim(self) -> None:
        pod = evaluator_claim.holder(self._run_dir, self._config.cluster.attempt)
        if pod not in (None, self._config.task.pod_uid):
            raise ReplacedError(f"pod {pod} is this attempt's evaluator now: this one ends")

    def _tell(self, status: str, message: str) -> None:
        if message != self._said:
            self._said = message
            self._channel.send(Phase(status, message))


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Convert TensorFlow's error of a full disk to OSError: it is not the program's fault."""
    try:
        yield
    except tf.errors.OpError as error:
        raise OSError(error.message) from error
