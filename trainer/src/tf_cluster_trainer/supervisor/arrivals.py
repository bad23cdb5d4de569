"""A chief notes its coming in attempts/ of a real run directory."""

from __future__ import annotations

from pathlib import Path

from tf_cluster_trainer.run_directory import owner as files
from tf_cluster_trainer.supervisor.rules import arrivals as rules


def arrive(run_dir: Path, job_uid: str) -> None:
    """Note that the chief of this Job has come to the run; OSError where that can't be done."""
    steps = rules.arrive(job_uid)
    try:
        operation = next(steps)
        while True:
            operation = steps.send(_do(run_dir, operation))
    except StopIteration:
        return


def _do(run_dir: Path, operation: rules.Operation) -> object:
    if isinstance(operation, rules.PutArrival):
        return files.put_arrival(run_dir, operation.number, operation.job_uid)
    return files.arrivals(run_dir)
