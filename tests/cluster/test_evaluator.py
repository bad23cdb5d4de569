"""An evaluator beside a training in pods: it measures to the last checkpoint, and ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.conftest import REQUESTS, SMALL, MakeValues
from tests.cluster.kubernetes import Object, Release
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

STEPS = 800


def test_it_exports_the_best_and_a_changed_one_does_so_again_without_the_training(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    read_log_volume: Callable[[str, str], str],
) -> None:
    def values(mode: str) -> Any:
        return make_values(
            "judged",
            small=False,
            resources={**SMALL, "evaluator": REQUESTS},
            train={"steps": STEPS, "checkpoint": {"seconds": 5, "steps": 300}},
            evaluator={"exportBest": {"metric": "accuracy", "mode": mode}},
        )

    def record() -> Object:
        return dict(json.loads(read_log_volume("judged-log", f"cat {run}/evaluations.json")))

    run = "/log/judged/1"
    release = make_release("judged")
    release.install(values("max"))
    release.await_job("chief", "Complete", 180)
    first = release.await_job("evaluator", "Complete", 120)

    progress = json.loads(read_log_volume("judged-log", f"cat {run}/progress.json"))
    assert (progress["status"], progress["final"]) == ("done", True)
    assert progress["jobUids"]["evaluator"] == first["metadata"]["uid"]
    *_, last = record()["evaluations"]
    assert (last["step"], last["metrics"]) == (progress["step"], progress["metrics"])
    best = record()["best"]
    assert best["mode"] == "max"
    assert "saved_model.pb" in read_log_volume("judged-log", f"ls {best['export']}")
    eventually("the ps to be gone", lambda: not release.running("ps"), 90)

    chief = release.one("job", "chief")
    release.upgrade(values("min"))

    def changed() -> bool:
        return bool(release.one("job", "evaluator")["metadata"]["uid"] != first["metadata"]["uid"])

    eventually("the other evaluator to take its place", changed, 60)
    release.await_job("evaluator", "Complete", 120)
    assert record()["best"]["mode"] == "min"
    assert release.one("job", "chief")["metadata"]["uid"] == chief["metadata"]["uid"]
    assert not release.running("ps")
