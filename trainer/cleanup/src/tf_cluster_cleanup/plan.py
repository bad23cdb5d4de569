"""The plan of cleanup: the JSON of `--plan`, written by the chart (cleanup/_spec.tpl)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class PlanError(Exception):
    """The plan can't be used; the message says what is wrong with it."""


@dataclass(frozen=True)
class Plan:
    """The objects of one attempt, and how long each wait is, in seconds.

    `client` is the Job whose end is the training's end: the chief's, or the workers' where worker 0
    is the chief. `jobs` are the other training Jobs; `deployments` are the parameter servers.
    `delay_failure` None: after a failure they are kept. `jobs_after_failure` (the evaluator's) have
    work to do after a good end, and none after any other. `completions` are those of each Indexed
    Job, as the chart has them.
    """

    client: str
    jobs: tuple[str, ...]
    deployments: tuple[str, ...]
    workers_timeout: float
    delay_success: float
    delay_failure: float | None
    jobs_after_failure: tuple[str, ...] = ()
    completions: Mapping[str, int] = field(default_factory=dict)


def parse_plan(text: str) -> Plan:
    """Read a plan. Raises PlanError; a key that is not known is an error too."""
    try:
        plan = json.loads(text)
    except ValueError as error:
        raise PlanError(f"not JSON: {error}") from error
    _keys(
        plan,
        "plan",
        *("client", "jobs", "jobsAfterFailure", "completions", "deployments"),
        *("workersTimeoutSeconds", "delaySeconds"),
    )
    delay = plan["delaySeconds"]
    _keys(delay, "delaySeconds", "success", "failure")
    return Plan(
        client=_name(plan["client"], "client"),
        jobs=_names(plan["jobs"], "jobs"),
        deployments=_names(plan["deployments"], "deployments"),
        workers_timeout=_seconds(plan["workersTimeoutSeconds"], "workersTimeoutSeconds"),
        delay_success=_seconds(delay["success"], "delaySeconds.success"),
        delay_failure=(
            None if delay["failure"] is None else _seconds(delay["failure"], "delaySeconds.failure")
        ),
        jobs_after_failure=_names(plan["jobsAfterFailure"], "jobsAfterFailure"),
        completions=_counts(plan["completions"], "completions"),
    )


def _keys(value: Any, place: str, *keys: str) -> None:
    if not isinstance(value, dict) or sorted(value) != sorted(keys):
        raise PlanError(f"{place} must be an object with exactly the keys {', '.join(keys)}")


def _name(value: Any, place: str) -> str:
    if not isinstance(value, str) or not value:
        raise PlanError(f"{place} must be a name")
    return value


def _names(value: Any, place: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise PlanError(f"{place} must be a list of names")
    return tuple(_name(name, place) for name in value)


def _counts(value: Any, place: str) -> dict[str, int]:
    counts = value.values() if isinstance(value, dict) else (None,)
    if not all(isinstance(count, int) and count > 0 for count in counts):
        raise PlanError(f"{place} must be an object of names, each with a count above 0")
    return {_name(name, place): count for name, count in value.items()}


def _seconds(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise PlanError(f"{place} must be a number of seconds")
    return float(value)
