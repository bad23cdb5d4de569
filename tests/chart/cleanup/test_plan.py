"""What `--plan` accepts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tf_cluster_cleanup.main import main
from tf_cluster_cleanup.plan import Plan, PlanError, parse_plan

GOOD: dict[str, Any] = {
    "client": "chief",
    "jobs": ["worker"],
    "jobsAfterFailure": ["eval"],
    "completions": {"worker": 3},
    "deployments": ["ps-0"],
    "workersTimeoutSeconds": 60,
    "delaySeconds": {"success": 30, "failure": None},
}


def test_a_plan_is_read_whole() -> None:
    assert parse_plan(json.dumps(GOOD)) == Plan(
        "chief", ("worker",), ("ps-0",), 60, 30, None, ("eval",), {"worker": 3}
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"client": ""}, "client must be a name"),
        ({"client": 1}, "client must be a name"),
        ({"jobs": "worker"}, "jobs must be a list of names"),
        ({"deployments": [None]}, "deployments must be a name"),
        ({"jobsAfterFailure": "eval"}, "jobsAfterFailure must be a list of names"),
        ({"completions": ["worker"]}, "completions must be an object of names"),
        ({"completions": {"worker": 0}}, "each with a count above 0"),
        ({"completions": {"worker": "3"}}, "each with a count above 0"),
        ({"workersTimeoutSeconds": -1}, "workersTimeoutSeconds must be a number of seconds"),
        ({"workersTimeoutSeconds": True}, "workersTimeoutSeconds must be a number of seconds"),
        ({"delaySeconds": {"success": 1}}, "delaySeconds must be an object with exactly the keys"),
        ({"other": 1}, "plan must be an object with exactly the keys"),
    ],
)
def test_what_is_wrong_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(PlanError, match=message):
        parse_plan(json.dumps({**GOOD, **change}))


def test_a_bad_plan_is_exit_2_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--plan", "{"]) == 2
    assert "--plan: not JSON" in capsys.readouterr().out
