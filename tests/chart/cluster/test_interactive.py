"""interactive: ps and workers without a chief."""

from __future__ import annotations

import json

from tests.chart.helm import notes, render

VALUES = {
    "program": {"module": ""},
    "interactive": {"enabled": True, "idleSeconds": 600},
    "ps": {"replicas": 2},
}


def test_there_is_no_chief_and_the_tasks_are_told_of_a_client() -> None:
    objects = render(VALUES)
    assert not objects.all("Job", "chief")
    training, cluster = (objects.config(f"{name}.json") for name in ("training", "cluster"))
    assert training["program"] == {"interactive": {"idleSeconds": 600}}
    assert set(cluster["cluster"]) == set(cluster["status"]) == {"ps", "worker"}


def test_cleanup_waits_for_the_workers_and_ends_the_ps() -> None:
    objects = render(VALUES)
    cleanup = objects.one("Job", "cleanup")
    plan = json.loads(cleanup["spec"]["template"]["spec"]["containers"][0]["args"][1])
    h = objects.attempt
    assert (plan["client"], plan["jobs"]) == (f"digits-worker-{h}", [])
    assert plan["deployments"] == [f"digits-ps-{index}-{h}" for index in range(2)]


def test_the_notes_say_that_nothing_trains() -> None:
    told = notes({**VALUES, "notebook": {"enabled": True}})
    assert told.startswith("No program runs. Until 600 s pass without a client, it serves one with")
    assert "cp digits-files:/log/digits/_notebooks notebooks" in told
    # Nobody makes notebooks, so nobody is told to copy them.
    assert "_notebooks" not in notes(VALUES)
