"""May a task end? Only its own attempt's final state says so (docs/formats.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.status.document import DONE


def ends(
    document: Mapping[str, Any],
    attempt: str,
    job_uid: str,
    *,
    from_file: bool,
    task_type: str = "worker",
) -> bool:
    """Whether this document is a final state that the Job `job_uid` of a task type acts on.

    One that the chief serves may not know the Job yet; one in progress.json may be of another
    attempt with the same settings, so there the Job has to be named.
    """
    if document.get("final") is not True or document.get("attempt") != attempt:
        return False
    uids = document.get("jobUids")
    known = uids.get(task_type) if isinstance(uids, Mapping) else None
    return known == job_uid or (known is None and not from_file)


def is_at_total(told: Mapping[str, Any] | None, step: int | None, total: int) -> bool:
    """Whether the run is done by any attempt: one with our total makes no step then.

    So no Job has to be named, and a chief may have ended before we could ask it, without a word
    where there was nothing left to train. `told` is progress.json, `step` the newest checkpoint's.
    """
    return step is not None and step >= total and not was_cut_off(told or {})


def taken_by(owner: Owner | None, job_uid: str) -> str | None:
    """The attempt that took the run from this Job; None: none did."""
    return owner.attempt if owner is not None and job_uid in owner.superseded else None


def was_cut_off(told: Mapping[str, Any]) -> bool:
    """Whether progress.json (empty: there is none) tells of an end before the export.

    Of a run whose newest checkpoint is at its total; otherwise nothing is left to do.
    """
    return bool(told) and told.get("status") != DONE
