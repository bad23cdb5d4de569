"""The chief's report: one document, shown on the status port and kept on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from tf_cluster_trainer import protocol
from tf_cluster_trainer.config import Config
from tf_cluster_trainer.supervisor.status.counts import NOTHING_COUNTED
from tf_cluster_trainer.supervisor.status.document import RUNNING, SAVING, Document, Outcome
from tf_cluster_trainer.supervisor.status.pace import Pace
from tf_cluster_trainer.supervisor.status.progress_file import ProgressFile
from tf_cluster_trainer.supervisor.status.server import Board, Condition


def first_document(config: Config) -> Document:
    """The document of a task that has just started, with the UID of its own Job."""
    now = time.time()
    task, settings = config.task, config.settings
    return Document(
        attempt=config.cluster.attempt,
        start=now,
        now=now,
        total=None if settings.script or settings.interactive else settings.steps,
        examples_per_step=_examples_per_step(config),
        chief_uid=task.job_uid if task.type == "chief" else None,
        worker_uid=(task.job_uid or None) if task.type == "worker" else None,
        evaluator_uid=task.job_uid if task.type == "evaluator" else None,
    )


def _examples_per_step(config: Config) -> int:
    settings = config.settings
    batches = config.cluster.size("worker") if settings.combination.lockstep else 1
    return settings.examples_a_step * batches


class Report:
    """The chief's status document, published after every change."""

    def __init__(
        self,
        config: Config,
        log: Callable[[str], None],
        on_failure: Callable[[str, str], None],
    ) -> None:
        """`on_failure(task, why)` is called when another task has failed for good."""
        task, settings = config.task, config.settings
        self._document = first_document(config)
        self._file = ProgressFile(settings.run_dir, task.job_uid, task.pod_uid, log=log)
        self._on_disk = False
        self._pace = Pace(self._document.total)
        self._counts = NOTHING_COUNTED
        self.board = Board(task, self._document, on_failure=on_failure)

    @property
    def document(self) -> Document:
        """The document as last published."""
        return self._document

    def update(self, **changes: Any) -> None:
        """Change fields of the document and publish it."""
        self._document = replace(self._document, **changes)
        self.publish()

    def publish(self) -> None:
        """Show the document with the present time; write it to disk if that is due."""
        shown = self.board.document()
        self._document = replace(
            self._document,
            now=time.time(),
            worker_uid=shown.worker_uid,
            evaluator_uid=shown.evaluator_uid,
        )
        condition = Condition(False, self._document.epoch, self._document.restarts, self._counts)
        self.board.show(self._document, condition)
        if self._on_disk:
            self._file.offer(self._document, time.monotonic())

    def begin(self) -> None:
        """Write the document to disk from now on; until now progress.json was the previous
        writer's.
        """
        self._on_disk = True

    @property
    def owed(self) -> bool:
        """Whether the disk refused the last published document."""
        return self._on_disk and self._file.owed

    def new_child(self) -> None:
        """Reset the rates and estimates, which are those of one child."""
        self._pace = Pace(self._document.total)
        self.update(steps_per_second=None, eta_seconds=None)

    def on_message(self, message: protocol.Message) -> None:
        """Take a child's message into the document."""
        if isinstance(message, protocol.Phase) and message.status in (RUNNING, SAVING):
            self.update(status=message.status, message=message.message)
        elif isinstance(message, protocol.Progress):
            self._pace.add(message.step, time.monotonic())
            rate = message.steps_per_second
            self.update(
                step=message.step,
                examples=message.examples,
                loss=message.loss,
                workers=message.workers,
                steps_per_second=self._pace.steps_per_second() if rate is None else rate,
                eta_seconds=self._pace.eta_seconds(),
            )
        elif isinstance(message, protocol.Placement):
            self._counts = replace(self._counts, ps_bytes=message.ps_bytes)
            self.update(placement=message.devices)
        elif isinstance(message, protocol.Lost):
            self.count_losses([message.task])
        elif isinstance(message, protocol.Failure):
            self.count_losses(message.lost)
        elif isinstance(message, protocol.Saved):
            self._counts = self._counts.saved(message)
            self.update(checkpoint_step=message.step)
        elif isinstance(message, protocol.Result):
            self.update(
                step=message.step, metrics=message.metrics, export=message.export, eta_seconds=0.0
            )

    def count_losses(self, tasks: Iterable[str]) -> None:
        """Count one loss of each of these tasks."""
        self._counts = self._counts.lost(tasks)
        self.publish()

    def recall(self, step: int, previous: Mapping[str, Any]) -> None:
        """The run is at its total already: repeat what its last writer reported."""
        self.update(step=step, checkpoint_step=step, eta_seconds=0.0)
        if previous.get("step") == step:
            # The names of fields that are the same in the document and in JSON.
            kept = ("examples", "loss", "workers", "placement", "metrics", "export")
            self.update(**{name: previous[name] for name in kept if previous.get(name) is not None})

    def ended(self, outcome: Outcome) -> Document:
        """The document of this end."""
        return replace(
            self._document,
            now=time.time(),
            status=outcome.status,
            final=outcome.final,
            exit_code=outcome.exit_code,
            message=outcome.message,
        )

    def end(self, outcome: Outcome) -> None:
        """Publish how it ended."""
        self._on_disk = True
        self._document = self.ended(outcome)
        self.publish()
