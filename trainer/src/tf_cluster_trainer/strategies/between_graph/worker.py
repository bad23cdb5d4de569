"""parameter-server, between-graph: every worker has a graph and sessions of its own.

Graph mode, as in TensorFlow 1. The chief, worker 0, also fills the ps and keeps the run's records.
A lost task ends a session, never this process: the next session waits for the task. Why:
docs/decisions/0008-between-graph.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import tensorflow as tf

from tf_cluster_trainer.checkpoint.pieces import Piece, Written, is_small, total
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.errors import NotNowError, PeerLostError
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program import precision
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.ps_volume.shares import Running
from tf_cluster_trainer.servers.health import accepts_connections
from tf_cluster_trainer.servers.serve import naming_a_taken_port
from tf_cluster_trainer.strategies.between_graph import traced_step
from tf_cluster_trainer.strategies.between_graph import variables as ps_variables
from tf_cluster_trainer.strategies.between_graph.async_calls import AsyncCalls
from tf_cluster_trainer.strategies.between_graph.graph import Calls, WorkerGraph
from tf_cluster_trainer.strategies.between_graph.outage import Outage
from tf_cluster_trainer.strategies.between_graph.probe import in_thread
from tf_cluster_trainer.strategies.between_graph.ps_volume import PsVolume
from tf_cluster_trainer.strategies.between_graph.session import (
    Session,
    is_session_lost,
    ps_are_lost,
)
from tf_cluster_trainer.strategies.between_graph.state import (
    GLANCE_SECONDS,
    RunState,
    StateInitializer,
    StateReading,
)
from tf_cluster_trainer.strategies.between_graph.sync_calls import SyncCalls
from tf_cluster_trainer.strategies.between_graph.traced_step import TracedStep
from tf_cluster_trainer.strategies.between_graph.variables import PsState
from tf_cluster_trainer.strategies.context import Join, StrategyContext
from tf_cluster_trainer.strategies.step import devices, parts

Answer = TypeVar("Answer")
LOOK_SECONDS = 0.2
PAUSE_SECONDS = 0.1
# Budget of a stop: these and session.CLOSE_SECONDS together must be less than ps.preStopSeconds, in
# which the ps still serve.
DRAIN_SECONDS = 4.0
ABANDON_SECONDS = 2.0
# Extra time if the ps keep serving but respond slowly.
LAST_LOOKS_SECONDS = 8.0
NO_PROGRESS_SECONDS = 2.0
# After a call has taken this long, probe whether the ps are still at the other end.
LONG_SECONDS = 10.0
DEAD_SECONDS = 30.0


def configure(config: Config) -> None:
    """Nothing to do: TensorFlow needs no configuration before its first operation."""


def prepare(config: Config, prepared: Prepared) -> Join:
    """Trace the program's step, which needs no other task, and return how to join with it.

    Raises HookError and ProgramError.
    """
    program, ctx, trial = prepared.program, prepared.ctx, prepared.trial
    seed = worker_input.seed(ctx, config.task.index, 0)
    cut = None
    if config.settings.precision == precision.FULL:  # tf_keras can't read parts in another
        least = parts.LARGE_SHARD_BYTES
        cut = parts.partitioner(config.cluster.size("ps"), trial.variables.values(), least)
    step = traced_step.trace(program, ctx, trial, seed, cut)
    made = {one.name: ps_variables.spec_of(one) for one in step.variables}
    parts.check_whole(made, "in mixed precision, with a constraint, or where parts can't be used")
    return partial(join, step=step)


def join(context: StrategyContext, step: TracedStep) -> BetweenGraph:
    """Make this worker's server and graph, without waiting for another task.

    Raises HookError if the program fails, ConfigError if this worker's port is taken.
    """
    config = context.config
    restored = context.restored()
    tf_graph = tf.Graph()
    container = ps_variables.container(config.cluster, config.settings)
    with tf_graph.as_default(), tf_graph.container(container):
        graph = WorkerGraph(context, step)
        lockstep = config.settings.combination.lockstep
        calls: Calls = SyncCalls(graph) if lockstep else AsyncCalls(graph)
        operations = StateInitializer(graph)
        stored = graph.state.stored
        reading = StateReading(stored)
        large = not is_small(total(reading.specs.values()))
        volume = PsVolume(graph.ps, reading.plan, stored) if config.is_chief and large else None
    tf_graph.finalize()
    state = RunState(context, restored, graph, calls, operations, volume)
    server = _serve(config)
    session = Session(server, tf_graph, config.task.index, config.cluster, operations.ping)
    return BetweenGraph(context, graph, state, session, reading)


class BetweenGraph:
    """One worker's part. It makes calls in a thread, so that it always notices a stop."""

    holds_state = False

    def __init__(
        self,
        context: StrategyContext,
        graph: WorkerGraph,
        state: RunState,
        session: Session,
        reading: StateReading,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._config = context.config
        self._graph = graph
        self._state = state
        self._session = session
        self._reading = reading
        self._clock = clock
        self._lockstep = context.config.settings.combination.lockstep
        self._outage = Outage(state.seen.step, session.absent, context.lost, clock)
        self._thread = futures.ThreadPoolExecutor(1)
        self._work: futures.Future[None] | None = None
        self._since = clock()

    def devices(self) -> Mapping[str, str]:
        """The device of every trainable variable, by the variable's name."""
        return devices.of_variables(self._graph.state.model)

    def ps_bytes(self) -> Mapping[str, int]:
        """Bytes of the state on each ps, by its name."""
        return devices.ps_bytes(self._graph.state.stored)

    def resume_point(self) -> ResumePoint:
        """Where this start began."""
        return self._state.began

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make up to `most` steps; return soon, without steps, if none can be made now."""
        if stop:
            self._drain()
            return False
        if self._work is None:
            if self._state.ready and self._state.seen.step >= self._graph.total:
                return False
            self._work = self._thread.submit(self._advance, most)
            self._since = self._clock()
        futures.wait([self._work], LOOK_SECONDS)
        if self._work.done():
            self._finish()
        else:
            self._look()
        self._outage.say_who_is_awaited(
            is_chief=self._config.is_chief, lockstep=self._lockstep, ready=self._state.ready
        )
        return True

    def made(self) -> int:
        """This worker's steps in the present state, as last read."""
        return self._state.made()

    def counters(self) -> TrainingCounters:
        """The run's counters as last read."""
        return self._state.counters()

    @property
    def specs(self) -> Mapping[str, TensorSpec]:
        """The tensors of a checkpoint, by key."""
        return self._reading.specs

    def pieces(self, into: Path | None = None) -> Iterator[Sequence[Piece | Written]]:
        """Read the present state, in any thread; the caller's knows what is present. See State.

        Raises NotNowError when it can't be read now, also half-way.
        """
        session = self._session.current
        busy = self._lockstep and self._work is not None
        if session is None or not self._state.ready or busy:
            raise NotNowError("the state on the ps is not at hand")
        volume = self._state.in_reach
        written = volume.written(session.run, into) if volume and into else None
        coming = self._reading.pieces(session.run, written)
        return self._while_present(coming, session, self._state.seen.generation, written)

    def _while_present(
        self,
        coming: Iterator[Sequence[Piece | Written]],
        session: Any,
        generation: int,
        written: Running[Sequence[Written]] | None,
    ) -> Iterator[Sequence[Piece | Written]]:
        try:
            yield from self._asked(coming, session, generation)
        finally:
            if written:
                written.end()

    def _asked(
        self, coming: Iterator[Sequence[Piece | Written]], session: Any, generation: int
    ) -> Iterator[Sequence[Piece | Written]]:
        probe = self._session.probe_of(session)
        while True:
            asked = in_thread(partial(next, coming, None))
            while not futures.wait([asked], LOOK_SECONDS).done:
                if probe.silent_for() > DEAD_SECONDS:
                    raise NotNowError("a ps does not answer any more")
                if self._session.current is not session:
                    raise NotNowError("the ps are asked in another session by now")
            probe.forget()
            some = self._answer(asked)
            if some is None:
                return
            if self._state.seen.generation != generation:
                raise NotNowError("the ps got another state meanwhile")
            yield some

    def _answer(self, asked: futures.Future[Answer]) -> Answer:
        """What the ps answered. Raises NotNowError if they are lost."""
        try:
            return asked.result()
        except Exception as error:
            if not is_session_lost(error):
                raise
            raise NotNowError(ps_are_lost(self._session.absent("ps"))) from error

    def leave(self) -> None:
        """Nothing to do: the others find the run's step on the ps and do not need this worker."""

    def ended_by(self) -> tuple[str, ...]:
        """None: each worker is asked to end by itself."""
        return ()

    def _advance(self, most: int) -> None:
        """Make one call, or one check of what prevents it; runs in the thread of the calls."""
        if self._session.current is None:
            if self._session.absent("ps"):
                time.sleep(PAUSE_SECONDS)
                return
            self._session.open()
        session, state = self._session.current, self._state
        if not state.ready and not state.prepare(session):
            time.sleep(PAUSE_SECONDS)
            return
        if state.seen.step < self._graph.total:
            state.call(session, most)

    def _finish(self) -> None:
        """Note how the work ended; raise what a new session can't cure, or did not cure."""
        self._session.probe.forget()
        work, self._work = self._work, None
        error = work.exception() if work else None
        if error is None:
            self._outage.call_ended(self._state.seen.step)
            return
        if not is_session_lost(error):
            raise error
        self._outage.session_lost(error)
        self._drop_session()

    def _look(self) -> None:
        """The work takes long: check whether only another call, or another start, can end the
        delay.
        """
        took = self._clock() - self._since
        session = self._session.current
        if session is None:
            return
        if took > LONG_SECONDS:
            silent = self._session.probe.silent_for()
            if silent > DEAD_SECONDS and not self._session.absent("ps"):
                raise PeerLostError(
                    f"every ps serves, but none was heard in this worker's session for "
                    f"{silent:.0f} s: one was replaced and its connection never closed"
                )
        if self._state.ready and self._state.stuck(session, took):
            self._abandon()

    def _drain(self) -> None:
        """After a stop: let a call that makes steps end, then read what was done."""
        if not self._config.is_chief:
            return  # the others don't need it to end well
        began = moved = self._clock()
        step = -1
        while self._work is not None:
            futures.wait([self._work], LOOK_SECONDS)
            if self._work.done():
                self._finish()
                break
            seen, now = self._state.glance(self._session.current), self._clock()
            if seen is not None and seen.step != step:
                step, moved = seen.step, now
            no_progress = self._lockstep and now - moved > NO_PROGRESS_SECONDS
            if now - began > DRAIN_SECONDS or no_progress:
                self._abandon()  # it waits for a lost task, and every update made is whole
        self._state.take(self._last_look())

    def _last_look(self) -> PsState | None:
        """Read the final state, which can't be saved otherwise. A busy ps may fail one read."""
        until = self._clock() + LAST_LOOKS_SECONDS
        ps = self._config.cluster.cluster["ps"]
        while self._state.was_there() and all(map(accepts_connections, ps)):
            if self._session.current is None and not self._session.absent("ps"):
                self._session.open()
            left = until - self._clock()
            # A new session's first run takes long.
            seen = self._state.glance(self._session.current, max(left, GLANCE_SECONDS))
            if seen is not None or left <= 0:
                return seen
            time.sleep(PAUSE_SECONDS)
        return None

    def _abandon(self) -> None:
        """Cancel the call that is under way."""
        self._drop_session()
        if self._work is not None:
            futures.wait([self._work], ABANDON_SECONDS)
            if not self._work.done():
                self._thread = futures.ThreadPoolExecutor(1)
            self._work = None

    def _drop_session(self) -> None:
        self._state.ready = False
        self._session.drop()


def _serve(config: Config) -> Any:
    """Start this worker's server, for its sessions and for the ps to fetch from."""
    task, cluster = config.task, config.cluster
    address = cluster.cluster[task.type][task.index]
    with naming_a_taken_port(task.name, address, tf.errors.UnknownError):
        return tf.distribute.Server(
            cluster.spec(), job_name=task.type, task_index=task.index, protocol="grpc", start=True
        )
