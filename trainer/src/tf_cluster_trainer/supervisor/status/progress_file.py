"""progress.json: the chief's status document on disk, written by the run's owner alone."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory.owner import owns, replace_json
from tf_cluster_trainer.supervisor.status.document import Document

PROGRESS_FILE = "progress.json"


class _TakenError(Exception):
    """Another chief owns the run now."""


class ProgressFile:
    """Writes at most once a second, and at once when the status changes.

    If only the time has changed it writes every five seconds, as a sign of life.
    """

    def __init__(
        self,
        run_dir: Path,
        job_uid: str,
        pod_uid: str,
        *,
        log: Callable[[str], None],
        period: float = 1.0,
        life_sign: float = 5.0,
    ) -> None:
        self._run_dir = run_dir
        self._uids = (job_uid, pod_uid)
        self._log = log
        self._period = period
        self._life_sign = life_sign
        self._written: Document | None = None
        self._offered = -math.inf
        self._trouble = False

    def offer(self, document: Document, seconds: float) -> None:
        """Write the document if it is due at this time of a monotonic clock and the run is ours.

        A full or missing disk does not end training; it is logged once.
        """
        if not self._is_due(document, seconds):
            return
        self._written, self._offered = None, seconds
        try:
            if owns(self._run_dir, *self._uids):
                path = self._run_dir / PROGRESS_FILE
                replace_json(path, document.as_json(), check=self._check_owner)
                self._written = document
            self._trouble = False
        except _TakenError:
            self._trouble = False
        except OSError as error:
            if not self._trouble:
                self._trouble = True
                self._log(f"can't write {self._run_dir / PROGRESS_FILE}: {error}; training goes on")

    @property
    def owed(self) -> bool:
        """Whether the last offered document is not on disk although the run was ours."""
        return self._trouble

    def _check_owner(self) -> None:
        """A bad disk can delay a flush for long; after a release the run may belong to another
        chief.
        """
        if not owns(self._run_dir, *self._uids):
            raise _TakenError

    def _is_due(self, document: Document, seconds: float) -> bool:
        last, waited = self._written, seconds - self._offered
        if document.final or (last and document.status != last.status):
            return True
        same = last and replace(document, now=last.now) == last
        return waited >= (self._life_sign if same else self._period)


def read_progress(run_dir: Path) -> dict[str, Any] | None:
    """The document in progress.json; None if there is no readable one."""
    try:
        document = json.loads((run_dir / PROGRESS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None
