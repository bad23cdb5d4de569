"""Which of the other tasks are gone.

Ask after any error that a lost task can cause: the error's text does not say it reliably.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import tensorflow as tf

from tf_cluster_trainer.config import Cluster, Combination
from tf_cluster_trainer.servers.health import accepts_connections, incarnation

# What TensorFlow's runtime says when a task went away, or came back without its state.
_LOST = re.compile(
    r"/job:(ps|worker|chief)/replica:\d+/task:\d+ (is|was) "
    r"|unknown device"
    r"|different incarnation"
    r"|Unable to find (the relevant tensor remote_handle|a context_id)"
    r"|Resource .* does not exist|Container .* does not exist"
    r"|neither a type of a primitive operation nor a name of a function"
    # One of TensorFlow's own calls had no answer, for example a heartbeat.
    r"|RPC: /tensorflow\."
    r"|failed to connect to all addresses|Socket closed|Connection reset|Connection refused",
    re.IGNORECASE,
)
# TensorFlow ends every remote error with these words, a wrong label as well as a lost task. They
# mean a loss only if the error is of a type that a program seldom raises.
CARRIED = "GRPC error information from remote target"
_OF_THE_WIRE = (
    tf.errors.InternalError,
    tf.errors.UnknownError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
)
# The types of tasks that serve, in the order in which messages name them.
KINDS = ("ps", "worker")
# A server that listens and does not answer may be busy. Seconds to wait for all of them together.
BUSY_SECONDS = 3.0
# How many are asked in parallel.
ASKED_AT_ONCE = 32


class Servers:
    """The servers of one attempt other than `task`'s, and which of them are lost."""

    def __init__(self, cluster: Cluster, combination: Combination, task: str) -> None:
        self._cluster = cluster
        self._combination = combination
        self._task = task
        self._kinds: Sequence[str] = KINDS
        self._needed: Sequence[str] = combination.needed
        self._incarnations: dict[str, bytes | None] = {}

    @property
    def outlive_errors(self) -> bool:
        """Whether the servers that a step needs survive an error of the program.

        In all-reduce the same error ends all workers, each with its server.
        """
        return self._combination.has_ps

    def remember_incarnations(self) -> None:
        """Remember which servers run now: a replaced one counts as lost, however soon it serves.

        For a chief, which connects to them only once.
        """
        addresses = [address for _, address in self._tasks(self._needed)]
        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            self._incarnations = dict(
                zip(addresses, threads.map(incarnation, addresses), strict=True)
            )

    def release(self) -> None:
        """No server is needed any more: from now on none counts as lost."""
        self._kinds = self._needed = ()

    def lost_needed(self) -> tuple[str, ...]:
        """The tasks that a step needs and that do not respond or were replaced."""
        return self._lost(self._needed)

    def lost_any(self) -> tuple[str, ...]:
        """All lost tasks, needed or not."""
        return self._lost(self._kinds)

    def _lost(self, kinds: Sequence[str]) -> tuple[str, ...]:
        until = time.monotonic() + BUSY_SECONDS

        def is_lost(address: str) -> bool:
            while (found := incarnation(address)) is None:
                if time.monotonic() > until or not accepts_connections(address):
                    return True
            return found != (self._incarnations.get(address) or found)

        tasks = self._tasks(kinds)
        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            lost = threads.map(is_lost, [address for _, address in tasks])
            return tuple(name for (name, _), one in zip(tasks, lost, strict=True) if one)

    def _tasks(self, kinds: Sequence[str]) -> list[tuple[str, str]]:
        return [
            (f"{kind}-{index}", address)
            for kind in kinds
            for index, address in enumerate(self._cluster.cluster.get(kind, ()))
            if f"{kind}-{index}" != self._task
        ]


def are_lost(tasks: Sequence[str]) -> str:
    """`ps-0 and ps-1 are lost`, for messages."""
    return f"{' and '.join(tasks)} {'are' if len(tasks) > 1 else 'is'} lost"


def is_peer_lost(error: BaseException) -> bool:
    """Whether the error says that a ps or worker went away or was replaced by an empty one."""
    original = unwrapped(error)
    if isinstance(original, tf.errors.UnavailableError | tf.errors.AbortedError):
        return True
    if isinstance(original, _OF_THE_WIRE) and CARRIED in str(original):
        return True
    return isinstance(original, tf.errors.OpError) and bool(_LOST.search(str(original)))


def unwrapped(error: BaseException) -> BaseException:
    """The error that the coordinator wrapped when it could not make a worker's data."""
    original = getattr(error, "original_exception", None)
    return original if isinstance(original, BaseException) else error
