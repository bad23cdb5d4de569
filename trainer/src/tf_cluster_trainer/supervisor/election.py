"""Runs the leader election for the run's one writer on a real run directory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, TypeVar

from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory import owner as files
from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.rules.arrivals import ReadArrivals
from tf_cluster_trainer.supervisor.rules.election import (
    AskOwner,
    CreateOwner,
    Election,
    Operation,
    PostSuccessor,
    ReadOwner,
    ReadSuccessor,
    ReplaceOwner,
)
from tf_cluster_trainer.supervisor.rules.events import StandingChanged
from tf_cluster_trainer.supervisor.rules.standing import Owning, Standing

Result = TypeVar("Result")


class RunElection:
    """One chief's part in the leader election: it does each step's operations at once."""

    def __init__(
        self,
        run_dir: Path,
        me: Owner,
        *,
        period: float,
        patience: float,
        answers: Callable[[Owner], bool],
        clock: Callable[[], float],
        log: Callable[[str], None],
    ) -> None:
        """`answers` asks whether an owner's own supervisor responds; the rest is as in Election."""
        self._run_dir = run_dir
        self._answers = answers
        self._election = Election(
            me,
            period=period,
            patience=patience,
            place=str(run_dir / layout.OWNER),
            clock=clock,
            say=log,
        )

    def step(self) -> Standing:
        """Read the files, do what is due, return where we stand. A lost run stays lost."""
        return self._held(self._election.step())

    def release(self, *, superseded: bool) -> None:
        """Release the run if it is still ours; otherwise write nothing."""
        self._held(self._election.release(superseded=superseded))

    def _held(self, step: Generator[Operation, Any, Result]) -> Result:
        try:
            operation = next(step)
            while True:
                try:
                    done = self._do(operation)
                except (OSError, files.OwnerUnreadableError) as error:
                    operation = step.throw(error)
                else:
                    operation = step.send(done)
        except StopIteration as end:
            result: Result = end.value
            return result

    def _do(self, operation: Operation) -> Any:
        if isinstance(operation, ReadOwner):
            return files.read_owner(self._run_dir)
        if isinstance(operation, ReadSuccessor):
            return files.read_successor(self._run_dir)
        if isinstance(operation, ReadArrivals):
            return files.arrivals(self._run_dir)
        if isinstance(operation, CreateOwner):
            return files.create_owner(self._run_dir, operation.owner)
        if isinstance(operation, ReplaceOwner):
            return self._replace(operation.owner, operation.over)
        if isinstance(operation, PostSuccessor):
            return files.post_successor(self._run_dir, operation.successor)
        assert isinstance(operation, AskOwner)
        return self._answers(operation.owner)

    def _replace(self, owner: Owner, over: Owner | None) -> bool:
        def still() -> bool:
            try:
                return files.read_owner(self._run_dir) == over
            except files.OwnerUnreadableError:
                return False

        return files.replace_owner(self._run_dir, owner, is_ours=still if over else None)


class ElectionThread:
    """Steps an election, once a period as the owner and three times as often as a candidate.

    It has its own thread, so that renewals never wait for anything else.
    """

    def __init__(self, election: RunElection, period: float, inbox: Inbox) -> None:
        self._election = election
        self._period = period
        self._inbox = inbox
        self._lock = threading.Lock()
        self._stopped = threading.Event()
        self._last: Standing | None = None
        threading.Thread(target=self._run, daemon=True).start()

    def look(self) -> Standing:
        """Step now and return where we stand."""
        with self._lock:
            return self._election.step()

    def release(self, *, superseded: bool) -> None:
        """Stop renewing, and release the run if it is ours."""
        self._stopped.set()
        with self._lock:
            self._election.release(superseded=superseded)

    def _run(self) -> None:
        while not self._stopped.is_set():
            with self._lock:
                if self._stopped.is_set():
                    return
                standing = self._election.step()
            if standing != self._last:
                self._last = standing
                self._inbox.put(StandingChanged(standing))
            owning = isinstance(standing, Owning)
            self._stopped.wait(self._period if owning else self._period / 3)
