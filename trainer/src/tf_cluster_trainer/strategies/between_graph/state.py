"""The run's state on the ps as one worker knows it; the chief also fills it.

Each fill of the ps begins a new generation of the state. The steps of a worker that still works on
an older generation do not count.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint.pieces import Piece, Written, can_be_cut, total
from tf_cluster_trainer.checkpoint.reading import (
    plan_of,
    read_ops,
    read_rows_ops,
    row_pieces,
    whole_pieces,
)
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.checkpoint.variables import StoredTensor, end_rows, put_rows, rows_of
from tf_cluster_trainer.errors import PeerLostError
from tf_cluster_trainer.log import WARNING, log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.program import memory
from tf_cluster_trainer.program.first_values import first_values
from tf_cluster_trainer.strategies.between_graph.graph import Calls, WorkerGraph
from tf_cluster_trainer.strategies.between_graph.ps_volume import PsVolume, Run
from tf_cluster_trainer.strategies.between_graph.session import is_session_lost
from tf_cluster_trainer.strategies.between_graph.variables import PsState, initializer
from tf_cluster_trainer.strategies.context import StrategyContext
from tf_cluster_trainer.strategies.step import devices, same_model, state_memory

GLANCE_SECONDS = 2.0
TOGETHER_BYTES = 8 << 20
"""When worker 0 has so much of small values, it sends them to the ps."""


class StateInitializer:
    """The operations that check whether the ps have the state, and that fill it."""

    def __init__(self, graph: WorkerGraph) -> None:
        state = graph.state
        with tf.device(devices.ps(0)):
            self.generation = state.generation.read_value()
            self.generation_is_there = state.generation.is_initialized()
            self.members_are_there = state.members.is_initialized()
            self.given_generation = tf.compat.v1.placeholder(tf.int64, [3])
            self.fingerprints = state.fingerprints.read_value()
            self.begin = state.generation.assign(self.given_generation, read_value=False)
        self.counters = state.counters.read_value()
        self.all_there = tf.reduce_all(tf.stack([v.is_initialized() for v in state.variables()]))
        self.no_generation = state.generation.initializer
        self.no_members = state.members.initializer
        first = [initializer(v) for v in state.variables() if v is not state.members]
        self.initialize = tf.group(*first)
        self.ping = []
        for task in range(graph.ps):
            with tf.device(devices.ps(task)):
                self.ping.append(tf.constant(task))
        self._stored = {one.key: one for one in state.stored}
        self._parts = {
            # What can't be cut comes in no piece of some rows.
            one.key: [_PartToPut(part, by_rows=can_be_cut(one.spec)) for part in one.parts]
            for one in state.stored
        }

    def put(self, run: Run, pieces: Iterable[Piece]) -> None:
        """Give the rows of these pieces their values; `run` is a session's.

        Many small ones together: for each set of operations that it has not run before, a session
        copies the whole graph, so that its cost would grow with the square of their number.
        """
        assigns: list[Any] = []
        values: dict[Any, Any] = {}
        held = 0
        for piece in pieces:
            for at, start, value in rows_of(self._stored[piece.key], piece):
                part = self._parts[piece.key][at]
                if part.is_all(value):
                    assigns.append(part.assign)
                    values[part.whole] = value
                    held += int(value.nbytes)
                else:
                    part.put_rows(run, start, value)
            if held >= TOGETHER_BYTES:
                run(assigns, values)
                assigns, values, held = [], {}, 0
        if assigns:
            run(assigns, values)


class _PartToPut:
    """The operations that give a part of a tensor its values, at once or some rows at a time."""

    def __init__(self, variable: Any, *, by_rows: bool) -> None:
        shape = variable.shape.as_list()
        self._size = shape[0] if shape else None
        self.whole = tf.compat.v1.placeholder(variable.dtype, shape)
        self.assign = variable.assign(self.whole, read_value=False)
        if not by_rows:
            return
        self._rows = tf.compat.v1.placeholder(variable.dtype, [None, *shape[1:]])
        self._first = tf.compat.v1.placeholder(tf.int64, [])
        with tf.device(variable.device):
            indices = tf.range(self._first, self._first + tf.shape(self._rows, tf.int64)[0])
            with tf.control_dependencies([put_rows(variable, indices, self._rows)]):
                self._put = end_rows(variable)

    def is_all(self, value: Any) -> bool:
        """Whether these are all of its rows."""
        return self._size is None or len(value) == self._size

    def put_rows(self, run: Run, start: int, value: Any) -> None:
        """Give the rows from `start` on these values."""
        run(self._put, {self._rows: value, self._first: start})


class StateReading:
    """The operations that read the state, some of it at a time."""

    def __init__(self, stored: Sequence[StoredTensor]) -> None:
        self.specs = {one.key: one.spec for one in stored}
        self.plan = plan_of(stored)
        self._groups = [read_ops(group) for group in self.plan.groups]
        self._start, self._count = (tf.compat.v1.placeholder(tf.int64, []) for _ in range(2))
        self._rows = {
            (key, at): read_rows_ops(family, at, self._start, self._count)
            for (key, at), family in self.plan.families.items()
        }

    def pieces(
        self, run: Run, written: Iterable[Sequence[Written]] | None = None
    ) -> Iterator[Sequence[Piece | Written]]:
        """Read all of it; `run` is a session's. Raises the session's errors.

        With `written`, the rows of large tensors are what the ps write.
        """
        for group, values in zip(self.plan.groups, self._groups, strict=True):
            yield whole_pieces(group, run(values))
        if written:
            yield from written
            return
        for rows in self.plan.rows:
            place = {self._start: rows.row_in_part, self._count: rows.count}
            yield row_pieces(rows, run(self._rows[rows.family[0].key, rows.at], place))


class RunState:
    """What this worker knows of the state.

    `ready`: the ps have the state, and the present session may make steps on it. `seen` is the
    state as last read. `in_reach`: the ps write and read large tensors themselves. Every method
    that takes TensorFlow's session raises its errors.
    """

    def __init__(
        self,
        context: StrategyContext,
        restored: Checkpoint | None,
        graph: WorkerGraph,
        calls: Calls,
        operations: StateInitializer,
        volume: PsVolume | None,
    ) -> None:
        """`volume`: of a chief with a state that is not small."""
        self._context = context
        self._volume = volume
        self.in_reach: PsVolume | None = None
        self._graph = graph
        self._calls = calls
        self._operations = operations
        self._restored = restored
        self.began = self._resume_point = self._resume_point_of(restored)
        self._generation = 0
        self.ready = False
        self.seen = self._nothing_seen()
        # Sums over this start's earlier generations.
        self._before = np.zeros([2 + len(context.trial.metrics)])
        self._going_back = threading.Lock()

    # These run in the thread of the calls.

    def prepare(self, session: Any) -> bool:
        """Make the state ready for calls in this session; False if that is not yet possible.

        Raises ProgramError if worker-0 has another model, PeerLostError if it has this one by
        other names or in other parts.
        """
        run, operations = session.run, self._operations
        there = run(operations.generation_is_there)
        generation = int(run(operations.generation)[0]) if there else 0
        whole = bool(generation) and bool(run(operations.all_there))
        is_chief = self._context.config.is_chief
        if is_chief and not (whole and generation == self._generation):
            self._fill(run, above=generation)
            whole = True
        elif generation:
            self._check_model(run)
        if not whole:
            return False
        (seen, origin_step, _), counters = run([operations.generation, operations.counters])
        if not is_chief and int(seen) != generation:
            return False  # the chief has begun to fill them again
        self._generation = int(seen)
        self.seen = PsState(self._generation, int(origin_step), counters)
        if self.seen.step < self._graph.total:
            for filling in self._graph.fillings:
                run(filling)
            run(self._graph.begin, {self._graph.start: self.seen.step})
            self._calls.begin(session, self.seen)
        self.ready = True
        return True

    def _check_model(self, run: Run) -> None:
        """Without it, a worker would wait for variables that worker-0 never makes."""
        own, found = self._graph.state.own_fingerprints, run(self._operations.fingerprints)
        if own[0] != found[0]:
            raise same_model.differs(self._context.config.task.name)
        if own[1] != found[1]:
            raise PeerLostError(
                "worker-0 has the variables by other names or in other parts than this worker, "
                "which starts again: the log of one of both says what failed while it began",
                (),
            )

    def call(self, session: Any, most: int) -> None:
        """Make up to `most` steps."""
        self.seen = self._calls.call(session, most, self.seen)
        self.ready = self.seen.generation == self._generation

    def _fill(self, run: Any, above: int) -> None:
        """Begin a generation of the state, from the newest checkpoint or afresh.

        Its number is above this one. Steps that others make meanwhile on the old generation do not
        count.
        """
        operations = self._operations
        run(operations.no_generation)
        if self._generation:
            log("the ps lost the run's state; worker-0 fills them again", WARNING)
            self._restored = restore.newest(
                self._context.config.settings.run_dir, self._context.trial.variables
            )
            resume_point = self._resume_point_of(self._restored)
            with self._going_back:
                self._before = self._before + self.seen.counters.sum(axis=0)
                self._resume_point = resume_point
                self.seen = self._nothing_seen()
        if self._volume and not self._generation:
            stored = self._graph.state.stored
            state, spread = total(one.spec for one in stored), state_memory.spread_of(stored)
            ask = partial(self._volume.memory, run)
            state_memory.look_at_ps(state, self._graph.ps, ask, spread)
            memory.look_at_own("worker-0", self._context.trial.variables, state)
        self._look_for_the_volume(run)
        if not run(operations.members_are_there):
            run(operations.no_members)
        run(operations.initialize)
        operations.put(run, self._first_values(run))
        point = self._resume_point
        began = [self._graph.generations.next(above), point.step, point.updates]
        run(operations.begin, {operations.given_generation: began})
        self._generation = int(run(operations.generation)[0])

    def _look_for_the_volume(self, run: Run) -> None:
        settings = self._context.config.settings
        wanted = settings.ps_log_volume
        if wanted and self._generation:
            wanted = None  # it was mounted when the training began: what is wrong now may pass
        self.in_reach = None
        if self._volume and self._volume.reach(
            run, settings.run_dir, wanted, check_owner=self._context.check_owner
        ):
            self.in_reach = self._volume

    def _first_values(self, run: Run) -> Iterator[Piece]:
        """The values that differ from the initial ones."""
        stored = self._graph.state.stored
        if self._restored:
            optimizer = self._context.config.settings.optimizer.name
            by_ps = partial(self.in_reach.read, run) if self.in_reach else None
            for some in restore.chosen(
                self._restored, optimizer, stored, self._context.check_owner, by_ps
            ):
                yield from some
            return
        context = self._context
        yield from first_values(
            context.program, context.ctx, context.trial.features, context.trial.variables
        )

    # These run in the caller's thread.

    def glance(self, session: Any, seconds: float = GLANCE_SECONDS) -> PsState | None:
        """Read the state now; None if there is no session or no answer in time."""
        if session is None:
            return None
        limit = tf.compat.v1.RunOptions(timeout_in_ms=round(seconds * 1000))
        try:
            (generation, origin_step, _), counters = session.run(
                [self._operations.generation, self._operations.counters], options=limit
            )
        except Exception as error:
            if not is_session_lost(error):
                raise
            return None
        return PsState(int(generation), int(origin_step), counters)

    def take(self, seen: PsState | None) -> None:
        """Use this state from now on, if it is of the generation that this worker knows."""
        if seen is not None and seen.generation == self._generation:
            self.seen, self.ready = seen, True

    def was_there(self) -> bool:
        """Whether this worker has ever known a generation."""
        return bool(self._generation)

    def stuck(self, session: Any, seconds: float) -> bool:
        """Whether a call that takes this long must be given up."""
        return self._calls.stuck(session, seconds)

    def made(self) -> int:
        """This worker's steps in the present state, as last read."""
        lockstep = self._context.config.settings.combination.lockstep
        return int(self.seen.counters[0 if lockstep else self._graph.index, 0])

    def counters(self) -> TrainingCounters:
        """The run's counters as last read."""
        with self._going_back:
            seen, resume_point, before = self.seen, self._resume_point, self._before
        settings, rows = self._context.config.settings, seen.counters
        sums = rows.sum(axis=0)
        if settings.combination.lockstep:
            by_worker = {str(index): int(sums[0]) for index in range(self._graph.workers)}
        else:
            by_worker = {str(index): int(row[0]) for index, row in enumerate(rows)}
        total = before + sums
        metrics = self._context.trial.metrics
        return TrainingCounters(
            step=seen.step,
            examples=resume_point.examples + sum(by_worker.values()) * settings.examples_a_step,
            worker_steps=resume_point.plus(by_worker),
            steps_since_start=int(total[0]),
            loss_sum=float(total[1]),
            metric_sums=dict(zip(metrics, map(float, total[2:]), strict=True)),
            origin_step=seen.origin_step,
        )

    def _resume_point_of(self, restored: Checkpoint | None) -> ResumePoint:
        return restore.resume_point_of(restored, self._context.config.settings.optimizer.name)

    def _nothing_seen(self) -> PsState:
        rows = 1 if self._context.config.settings.combination.lockstep else self._graph.workers
        columns = 2 + len(self._context.trial.metrics)
        return PsState(0, self._resume_point.step, np.zeros([rows, columns]))
