"""parameter-server, between-graph: every worker is a client with a graph and sessions of its own.

Graph mode, as in TensorFlow 1. Worker 0 also fills the ps and keeps the run's records. A lost task
ends a session, never this process: the next session waits for it. Why it is as it is:
docs/decisions/0008-between-graph.md.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent import futures
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from tf_cluster_trainer.checkpoint import restore
from tf_cluster_trainer.checkpoint import variables as checkpoint_variables
from tf_cluster_trainer.checkpoint.record import Checkpoint
from tf_cluster_trainer.checkpoint.resume_point import ResumePoint
from tf_cluster_trainer.config import Cluster, Config
from tf_cluster_trainer.errors import NotNowError, PeerLostError
from tf_cluster_trainer.log import log
from tf_cluster_trainer.loop.counters import TrainingCounters
from tf_cluster_trainer.program import input as worker_input
from tf_cluster_trainer.program.prepare import Prepared
from tf_cluster_trainer.program.trial import build_model
from tf_cluster_trainer.servers import serve
from tf_cluster_trainer.servers.health import accepts_connections, responds
from tf_cluster_trainer.servers.lost import are_lost, is_peer_lost
from tf_cluster_trainer.strategies import on_ps, traced
from tf_cluster_trainer.strategies.between_graph_async import AsyncCalls
from tf_cluster_trainer.strategies.between_graph_sync import SyncCalls
from tf_cluster_trainer.strategies.line import Line, in_thread
from tf_cluster_trainer.strategies.own_graph import Calls, OwnGraph, Seen
from tf_cluster_trainer.strategies.parameter_servers import Making
from tf_cluster_trainer.strategies.traced import Traced
from tf_cluster_trainer.strategies.trainee import Join, Joining

LOOK_SECONDS = 0.2
PAUSE_SECONDS = 0.1
SAY_AFTER_SECONDS = 5.0
SAY_AGAIN_SECONDS = 30.0
# Of a stop: together less than ps.preStopSeconds, in which the ps still serve.
SETTLE_SECONDS = 4.0
ABANDON_SECONDS = 2.0
CLOSE_SECONDS = 1.0
# Then, where they serve longer but do not answer.
LAST_LOOKS_SECONDS = 8.0
STILL_SECONDS = 2.0
GLANCE_SECONDS = 2.0
# A call that takes so long makes one ask whether the ps are still at the other end.
LONG_SECONDS = 10.0
DEAD_SECONDS = 30.0
# So many sessions in a row may be lost without a step: a ps that dies of every fill, or an error
# of the program's that looks like a loss, must not be tried for ever.
LOST_SESSIONS = 20


def announce(told: Config) -> None:
    """Nothing has to be said to TensorFlow before its first operation."""


def prepare(told: Config, prepared: Prepared) -> Join:
    """How to join with the program's step, which is traced now: that needs no other task.

    Raises HookError and ProgramError.
    """
    seed = worker_input.seed(prepared.ctx, told.task.index, 0)
    step = traced.trace(prepared.program, prepared.ctx, prepared.trial, seed)
    return partial(join, step=step)


def join(joining: Joining, step: Traced) -> BetweenGraph:
    """This worker's server and graph; nothing of another task is waited for.

    Raises HookError when the program fails, ConfigError when this worker's port is taken.
    """
    told = joining.told
    restored = joining.restored()
    lockstep = told.settings.combination.lockstep
    workers = told.cluster.size("worker")
    making = Making(
        strategy=None,
        program=joining.program,
        ctx=joining.ctx,
        trial=joining.trial,
        workers=workers,
        origin=restore.resume_point_of(restored, told.settings.optimizer.name),
        lost=joining.lost,
    )
    index = told.task.index
    graph = tf.Graph()
    with graph.as_default(), graph.container(on_ps.container(told.cluster, told.settings)):
        own = OwnGraph(
            making, step, index, told.cluster.size("ps"), rows=1 if lockstep else workers
        )
        calls: Calls = SyncCalls(own) if lockstep else AsyncCalls(own)
        filling = Filling(own)
    graph.finalize()
    return BetweenGraph(joining, restored, graph, own, calls, filling, _serve(told))


class Filling:
    """The operations that tell whether the ps have the state, and put it there."""

    def __init__(self, own: OwnGraph) -> None:
        state = own.state
        with tf.device(on_ps.device(0)):
            self.life = state.life.read_value()
            self.life_is_there = state.life.is_initialized()
            self.members_are_there = state.members.is_initialized()
            self.given_life = tf.compat.v1.placeholder(tf.int64, [3])
            self.begin = state.life.assign(self.given_life, read_value=False)
        self.counters = state.counters.read_value()
        self.all_there = tf.reduce_all(tf.stack([v.is_initialized() for v in state.variables()]))
        self.no_life = state.life.initializer
        self.no_members = state.members.initializer
        first = [v.initializer for v in state.variables() if v is not state.members]
        self.initialize = tf.group(*first)
        reads = checkpoint_variables.read(state.stored)
        self.reads = {one.key: parts[0] for one, parts in zip(state.stored, reads, strict=True)}
        self.ping = []
        for task in range(own.ps):
            with tf.device(on_ps.device(task)):
                self.ping.append(tf.constant(task))
        self.puts = {}
        for one in state.stored:
            value = tf.compat.v1.placeholder(one.parts[0].dtype, one.spec.shape)
            self.puts[one.key] = (value, one.parts[0].assign(value, read_value=False))


class BetweenGraph:
    """One worker's part. Its calls are made in a thread, so that a stop is always heard."""

    def __init__(
        self,
        joining: Joining,
        restored: Checkpoint | None,
        graph: Any,
        own: OwnGraph,
        calls: Calls,
        filling: Filling,
        served: Any,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._joining = joining
        self._graph = graph
        self._own = own
        self._calls = calls
        self._filling = filling
        self._server = served
        self._clock = clock
        self._leads = joining.told.is_client
        self._sync = joining.told.settings.combination.lockstep
        self._restored = restored
        self._optimizer = joining.told.settings.optimizer.name
        self._origin = self._began = restore.resume_point_of(restored, self._optimizer)
        self._session: Any = None
        self._ready = False
        self._life = 0
        self._seen = self._nothing_seen()
        self._step = self._seen.step
        self._before = np.zeros([2 + len(self._metrics)])  # done in this start's earlier lives
        self._going_back = threading.Lock()
        self._thread = futures.ThreadPoolExecutor(1)
        self._work: futures.Future[None] | None = None
        self._since = self._moved_at = clock()
        self._said_at = float("-inf")
        self._outage = False
        self._lost_sessions = 0
        self._line = Line(self._ping)

    def devices(self) -> Mapping[str, str]:
        """Where every trainable variable is."""
        trainable = self._own.state.model.trainable_variables
        return {v.name.partition(":")[0]: v.device for v in trainable}

    def origin(self) -> ResumePoint:
        """Where this start began."""
        return self._began

    def steps(self, most: int, *, stop: bool) -> bool:
        """Make up to `most` steps; returns soon, without any, when they can't be made now."""
        if stop:
            self._settle()
            return False
        if self._work is None:
            if self._ready and self._seen.step >= self._own.total:
                return False
            self._work = self._thread.submit(self._advance, most)
            self._since = self._clock()
        futures.wait([self._work], LOOK_SECONDS)
        if self._work.done():
            self._finish()
        else:
            self._look()
        self._say_who_is_awaited()
        return True

    def made(self) -> int:
        """Steps of this worker that were seen in the state as it is now."""
        return int(self._seen.counters[0 if self._sync else self._own.index, 0])

    def counters(self) -> TrainingCounters:
        """What was seen last."""
        with self._going_back:
            seen, origin, before = self._seen, self._origin, self._before
        settings, rows = self._joining.told.settings, seen.counters
        sums = rows.sum(axis=0)
        made, workers = int(sums[0]), self._own.workers
        if self._sync:
            by_worker = {str(index): made for index in range(workers)}
        else:
            by_worker = {str(index): int(row[0]) for index, row in enumerate(rows)}
        total = before + sums
        return TrainingCounters(
            step=seen.step,
            examples=origin.examples + sum(by_worker.values()) * settings.examples_a_step,
            workers=origin.plus(by_worker),
            steps_since_start=int(total[0]),
            loss_sum=float(total[1]),
            metric_sums=dict(zip(self._metrics, map(float, total[2:]), strict=True)),
            origin_step=seen.origin,
        )

    def copy(self) -> Mapping[str, Any]:
        """The full tensors of a checkpoint. Raises NotNowError while there are none to be had."""
        if self._session is None or not self._ready or (self._sync and self._work is not None):
            raise NotNowError("the state on the ps is not at hand")
        session = self._session
        reading = in_thread(lambda: session.run(self._filling.reads))
        while not futures.wait([reading], LOOK_SECONDS).done:
            if self._line.silent_for() > DEAD_SECONDS:
                raise NotNowError("a ps does not answer any more")
        self._line.forget()
        try:
            copied: dict[str, Any] = reading.result()
        except Exception as error:
            if not _lost(error):
                raise
            raise NotNowError(_are_lost(self._absent("ps"))) from error
        return copied

    def leave(self) -> None:
        """The others find the run's step on the ps; nobody needs this worker at the end."""

    def ended_by(self) -> tuple[str, ...]:
        """Nobody: each worker is asked to end by itself."""
        return ()

    @property
    def _metrics(self) -> tuple[str, ...]:
        return self._joining.trial.metrics

    # In the thread of the calls.

    def _advance(self, most: int) -> None:
        """One call, or one look at what stands in its way."""
        if self._session is None:
            if self._absent("ps"):
                time.sleep(PAUSE_SECONDS)
                return
            self._session = self._new_session()
        if not self._ready and not self._is_ready():
            time.sleep(PAUSE_SECONDS)
            return
        if self._seen.step >= self._own.total:
            return
        self._seen = self._calls.call(self._session, most, self._seen)
        self._ready = self._seen.life == self._life

    def _is_ready(self) -> bool:
        run, filling = self._session.run, self._filling
        there = run(filling.life_is_there)
        life = int(run(filling.life)[0]) if there else 0
        whole = bool(life) and bool(run(filling.all_there))
        if self._leads and not (whole and life == self._life):
            self._fill(above=life)
            whole = True
        if not whole:
            return False
        (seen, origin, _), counters = run([filling.life, filling.counters])
        if not self._leads and int(seen) != life:
            return False  # worker 0 has begun to fill them anew
        self._life = int(seen)
        self._seen = Seen(self._life, int(origin), counters)
        if self._seen.step < self._own.total:
            run(self._own.begin, {self._own.start: self._seen.step})
            self._calls.begin(self._session, self._seen)
        self._ready = True
        return True

    def _fill(self, above: int) -> None:
        """Begin a new life of the state: from the newest checkpoint, or afresh.

        Its number is above this one. What others do meanwhile to the old life is not counted.
        """
        run, filling = self._session.run, self._filling
        run(filling.no_life)
        if self._life:
            log("the ps lost the run's state; worker-0 fills them again")
            self._restored = restore.newest(
                self._joining.told.settings.run_dir, self._joining.trial.variables
            )
            origin = restore.resume_point_of(self._restored, self._optimizer)
            with self._going_back:
                self._before = self._before + self._seen.counters.sum(axis=0)
                self._origin = origin
                self._seen = self._nothing_seen()
        if not run(filling.members_are_there):
            run(filling.no_members)
        run(filling.initialize)
        for key, tensor in self._first_tensors().items():
            value, put = filling.puts[key]
            run(put, {value: tensor})
        origin = self._origin
        began = [self._own.numbers.next(above), origin.step, origin.updates]
        run(filling.begin, {filling.given_life: began})
        self._life = int(run(filling.life)[0])
        self._restored = None  # it is on the ps now; a copy here would only cost memory

    def _first_tensors(self) -> Mapping[str, Any]:
        """The values that differ from what initializing gives."""
        if self._restored:
            return restore.chosen(self._restored, self._optimizer, self._own.state.stored)
        with tf.device("CPU:0"):
            joining = self._joining
            model = build_model(joining.program, joining.ctx, joining.trial.features)
        keys = joining.trial.variables
        return {k: v.numpy() for k, v in zip(keys, model.variables, strict=True)}

    def _new_session(self) -> Any:
        # A session waits for every task that it may use: another worker is none of ours.
        config = tf.compat.v1.ConfigProto(
            device_filters=["/job:ps", f"/job:worker/task:{self._own.index}"],
            allow_soft_placement=True,
        )
        return tf.compat.v1.Session(self._server.target, graph=self._graph, config=config)

    # In the caller's thread.

    def _finish(self) -> None:
        """Take note of how the work ended; raises what a new session can't cure, or did not."""
        self._line.forget()
        work, self._work = self._work, None
        error = work.exception() if work else None
        if error is None:
            if self._seen.step != self._step:
                self._step, self._moved_at = self._seen.step, self._clock()
                self._lost_sessions = 0
                if self._outage:
                    self._outage = False
                    log(f"goes on; the run is at step {self._step}")
            return
        if not _lost(error):
            raise error
        self._lost_sessions += 1
        if self._lost_sessions > LOST_SESSIONS:
            raise PeerLostError(
                f"{LOST_SESSIONS} sessions in a row were lost without a step; the last by {error}"
            ) from error
        if not self._outage:
            self._outage = True
            absent = self._absent("ps")
            for task in absent:
                self._joining.lost(task)
            log(f"{_are_lost(absent)} ({type(error).__name__}); this worker stays and waits")
        self._drop_session()

    def _look(self) -> None:
        """Work takes long: is it held up in a way that only another call, or start, can cure?"""
        took = self._clock() - self._since
        if self._session is not None and took > LONG_SECONDS:
            silent = self._line.silent_for()
            if silent > DEAD_SECONDS and not self._absent("ps"):
                raise PeerLostError(
                    f"every ps serves, but none was heard in this worker's session for "
                    f"{silent:.0f} s: one was replaced and its connection never closed"
                )
        if self._ready and self._session is not None and self._calls.stuck(self._session, took):
            self._abandon()

    def _say_who_is_awaited(self) -> None:
        now = self._clock()
        if (
            min(now - self._moved_at - SAY_AFTER_SECONDS, now - self._said_at - SAY_AGAIN_SECONDS)
            < 0
        ):
            return
        self._said_at = now
        kinds = ("ps", "worker") if self._sync else ("ps",)
        names = [name for kind in kinds for name in self._absent(kind)]
        if names:
            log(f"waiting for {' and '.join(names)}")
        elif self._sync or not self._ready:
            log("waiting for the other workers" if self._leads else "waiting for worker-0")
        else:
            log("a call takes long; every ps answers")

    def _settle(self) -> None:
        """Asked to stop: let a call that makes steps come to its end; then see what was done."""
        if not self._leads:
            return  # the others don't need it to end well
        began = moved = self._clock()
        step = -1
        while self._work is not None:
            futures.wait([self._work], LOOK_SECONDS)
            if self._work.done():
                self._finish()
                break
            seen, now = self._glance(), self._clock()
            if seen is not None and seen.step != step:
                step, moved = seen.step, now
            if now - began > SETTLE_SECONDS or (self._sync and now - moved > STILL_SECONDS):
                self._abandon()  # it waits for a lost task, and every update made is whole
        seen = self._last_look()
        if seen is not None and seen.life == self._life:
            self._seen, self._ready = seen, True

    def _last_look(self) -> Seen | None:
        """The state at the end, which is not saved unless it is seen. A busy ps may miss a look."""
        until = self._clock() + LAST_LOOKS_SECONDS
        ps = self._joining.told.cluster.cluster["ps"]
        while self._life and all(map(accepts_connections, ps)):
            if self._session is None:
                self._reopen()
            left = until - self._clock()
            seen = self._glance(max(left, GLANCE_SECONDS))  # a new session's first run takes long
            if seen is not None or left <= 0:
                return seen
            time.sleep(PAUSE_SECONDS)
        return None

    def _ping(self) -> None:
        session = self._session
        if session is not None:
            session.run(self._filling.ping)

    def _reopen(self) -> None:
        if not self._absent("ps"):
            self._session = self._new_session()

    def _glance(self, seconds: float = GLANCE_SECONDS) -> Seen | None:
        """The state as it is now, when it can be had so soon."""
        if self._session is None:
            return None
        limit = tf.compat.v1.RunOptions(timeout_in_ms=round(seconds * 1000))
        try:
            (life, origin, _), counters = self._session.run(
                [self._filling.life, self._filling.counters], options=limit
            )
        except Exception as error:
            if not _lost(error):
                raise
            return None
        return Seen(int(life), int(origin), counters)

    def _abandon(self) -> None:
        """Cancel the call that is under way."""
        self._drop_session()
        if self._work is not None:
            futures.wait([self._work], ABANDON_SECONDS)
            if not self._work.done():
                self._thread = futures.ThreadPoolExecutor(1)
            self._work = None

    def _drop_session(self) -> None:
        session, self._session, self._ready = self._session, None, False
        self._line.forget()
        if session is not None:
            # Closing cancels its calls, but waits for those that can't be.
            closing = threading.Thread(target=session.close, daemon=True)
            closing.start()
            closing.join(CLOSE_SECONDS)

    def _absent(self, kind: str) -> list[str]:
        addresses = self._joining.told.cluster.cluster.get(kind, ())
        return [f"{kind}-{at}" for at, address in enumerate(addresses) if not responds(address)]

    def _nothing_seen(self) -> Seen:
        rows = 1 if self._sync else self._own.workers
        return Seen(0, self._origin.step, np.zeros([rows, 2 + len(self._metrics)]))


def _are_lost(absent: Sequence[str]) -> str:
    """One that answers again by now can't be named."""
    return are_lost(absent or ["a ps"])


def _lost(error: BaseException) -> bool:
    """Whether another session may do better."""
    cancelled = isinstance(error, tf.errors.CancelledError)
    closed = isinstance(error, RuntimeError) and "closed" in str(error)
    timed_out = isinstance(error, tf.errors.DeadlineExceededError)
    return cancelled or closed or timed_out or is_peer_lost(error)


def _serve(told: Config) -> Any:
    """This worker's server, whose sessions are ours and which the ps fetch from."""
    cluster: Cluster = told.cluster
    try:
        return tf.distribute.Server(
            {kind: list(hosts) for kind, hosts in cluster.cluster.items()},
            job_name=told.task.type,
            task_index=told.task.index,
            protocol="grpc",
            start=True,
        )
    except tf.errors.UnknownError as error:
        if serve.CANT_LISTEN not in error.message:
            raise
        address = cluster.cluster[told.task.type][told.task.index]
        raise serve.port_taken(told.task.name, address) from None
