"""A training that loses things while it runs: workers, all workers, its attempt."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import CommandError, Object, Release
from tests.generator.local.combinations import RETRIED, last_steps
from tests.programs import ENDLESS, SLOWLY
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(0, of=2)]

PER_CALL = 8


@pytest.fixture(scope="module")
def values(make_values: MakeValues) -> Path:
    return make_values(
        "faulty",
        **SLOWLY,
        train={"steps": ENDLESS, "checkpoint": {"seconds": 5}},
    )


@pytest.fixture(scope="module")
def release(make_release: Callable[[str], Release], values: Path) -> Release:
    release = make_release("faulty")
    release.install(values)
    eventually("the first steps", lambda: _steps(release) > 0, 120)
    return release


def _steps(release: Release) -> int:
    return int(release.progress()["step"] or 0)


def _workers(release: Release) -> dict[str, int]:
    return dict(release.progress()["workers"])


def test_a_deleted_workers_index_gets_a_new_pod_that_makes_steps(release: Release) -> None:
    old = eventually("worker 1 to run", lambda: release.worker(1), 60)
    name = old["metadata"]["name"]
    release.namespace.kubectl("delete", "pod", name, "--wait=false")

    def replaced() -> Object | None:
        pod = release.worker(1)
        return pod if pod and pod["metadata"]["uid"] != old["metadata"]["uid"] else None

    eventually("a new pod of index 1", replaced, 120)
    before = _workers(release)["1"]
    eventually("steps of the new worker 1", lambda: _workers(release)["1"] > before, 90)
    assert release.progress()["restarts"] == 0, release.story()


@in_turn(0, of=4)
def test_a_deleted_chief_goes_on_where_it_was_asked_to_end(release: Release) -> None:
    old = release.client()["metadata"]
    workers = {pod["metadata"]["uid"] for pod in release.running("worker")}
    release.namespace.kubectl("delete", "pod", old["name"], "--wait=false")
    new = eventually("a new chief", lambda: _other_client(release, old["uid"]), 120)
    eventually("its first steps", lambda: _trains_from(release, new), 120)
    assert _trains_from(release, new) > 0, release.story()
    # Nobody else had to begin anew, and none was lost for it.
    assert {pod["metadata"]["uid"] for pod in release.running("worker")} == workers


@in_turn(2, of=4)
def test_a_deleted_ps_is_filled_from_the_newest_checkpoint(release: Release) -> None:
    eventually("a checkpoint", lambda: release.progress()["checkpointStep"], 60)
    chief, restarts = release.client()["metadata"]["uid"], release.progress()["restarts"]
    old = release.running("ps")[0]["metadata"]["name"]
    release.namespace.kubectl("delete", "pod", old, "--wait=false")
    eventually("the chief's new start", lambda: release.progress()["restarts"] > restarts, 120)
    at = _steps(release)
    eventually("more steps", lambda: _steps(release) > at, 120)
    assert at > 0
    assert release.client()["metadata"]["uid"] == chief


def _other_client(release: Release, uid: str) -> Object | None:
    pod = release.client()
    return None if pod["metadata"]["uid"] == uid else pod


def _trains_from(release: Release, client: Object) -> int:
    """The step that the client said it trains from. LookupError while it has not."""
    log = release.namespace.kubectl("logs", client["metadata"]["name"])
    said = re.search(r"training from step (\d+)", log)
    if not said:
        raise LookupError("it does not train yet")
    return int(said[1])


def test_with_all_workers_stopped_the_step_count_stands_still(release: Release) -> None:
    worker = release.one("job", "worker")["metadata"]["name"]
    chief = release.running("chief")[0]["metadata"]["uid"]
    _set_parallelism(release, worker, 0)
    eventually("no worker", lambda: not release.objects("pod", "worker"), 120)
    still = eventually("a report without workers", lambda: _next_report(release), 30)
    later = eventually("two more reports", lambda: _report_after(release, still["now"] + 4), 30)
    assert later["step"] == still["step"]
    _set_parallelism(release, worker, 2)
    eventually("steps again", lambda: _steps(release) > later["step"], 120)
    assert release.running("chief")[0]["metadata"]["uid"] == chief


def _set_parallelism(release: Release, job: str, count: int) -> None:
    patch = json.dumps({"spec": {"parallelism": count}})
    release.namespace.kubectl("patch", "job", job, "--type=merge", f"--patch={patch}")


def _next_report(release: Release) -> Object:
    """A progress document written after this call began."""
    return _report_after(release, release.progress()["now"])


def _report_after(release: Release, now: float) -> Object:
    progress = release.progress()
    assert progress["now"] > now, f"still the report of {progress['now']}"
    return progress


def test_an_upgrade_that_fails_half_way_stops_nothing(
    release: Release, make_values: MakeValues
) -> None:
    jobs = {job["metadata"]["name"] for job in release.objects("job")}
    before, owner = _steps(release), _owner(release)
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "no-more-jobs"},
        "spec": {"hard": {"count/jobs.batch": str(len(jobs) + 1)}},
    }
    release.namespace.apply(quota)
    eventually("the quota to count", lambda: _counts_jobs(release), 30)
    changed = make_values(
        "faulty",
        **SLOWLY,
        train={"steps": ENDLESS + 1, "checkpoint": {"seconds": 5}},
    )
    with pytest.raises(CommandError, match="exceeded quota"):
        release.upgrade(changed)
    assert jobs <= {job["metadata"]["name"] for job in release.objects("job")}
    assert _owner(release)["podUid"] == owner["podUid"]
    eventually("more steps of the old attempt", lambda: _steps(release) > before, 60)
    assert _owner(release)["podUid"] == owner["podUid"]
    release.namespace.kubectl("delete", "resourcequota", "no-more-jobs")


def test_a_rollback_removes_the_half_made_attempt_and_restarts_nothing(release: Release) -> None:
    owner, before = _owner(release), _steps(release)
    release.namespace.helm("rollback", release.name)
    pod = eventually("one chief pod", lambda: release.one("pod", "chief"), 90)
    assert pod["metadata"]["uid"] == owner["podUid"]
    assert len(release.objects("deployment", "ps")) == 1
    eventually("more steps of the old attempt", lambda: _steps(release) > before, 60)


def _counts_jobs(release: Release) -> bool:
    found = json.loads(
        release.namespace.kubectl("get", "resourcequota", "no-more-jobs", "--output=json")
    )
    return "count/jobs.batch" in found.get("status", {}).get("used", {})


def _owner(release: Release) -> Object:
    chief = release.running("chief")[0]["metadata"]["name"]
    text = release.namespace.kubectl("exec", chief, "--", "cat", "/log/faulty/1/owner.json")
    return dict(json.loads(text))


def test_an_upgrade_in_mid_training_goes_on_where_the_old_attempt_stopped(
    release: Release, make_values: MakeValues, read_log_volume: Callable[[str, str], str]
) -> None:
    def paced() -> Object | None:
        progress = release.progress()
        return progress if progress["stepsPerSecond"] else None

    progress = eventually("a pace", paced, 60)
    at = int(progress["step"])
    # Of a minute's steps the old attempt makes some until it has stopped, and the new one the rest.
    total = at + int(60 * progress["stepsPerSecond"])
    train = {"steps": total, "stepsPerCall": PER_CALL, "checkpoint": {"seconds": 5}}
    release.upgrade(make_values("faulty", **SLOWLY, train=train))
    release.await_job("chief", "Complete", 240)
    progress = json.loads(read_log_volume("faulty-log", "cat /log/faulty/1/progress.json"))
    assert progress["status"] == "done"
    chief = release.one("job", "chief")
    assert progress["jobUids"]["chief"] == chief["metadata"]["uid"]
    log = release.namespace.kubectl("logs", f"job/{chief['metadata']['name']}")
    resumed = re.search(r"going on from the checkpoint of step (\d+)", log)
    assert resumed, log[-3000:]
    assert int(resumed[1]) >= at, "steps of the old attempt were lost"
    # On a machine that became faster the old attempt has made all of them, and more.
    needed = max(total, int(resumed[1]))
    retried = log.count(RETRIED)
    assert progress["step"] in last_steps(
        "in-graph-async", needed, per_call=PER_CALL, retried=retried
    )
    owner = json.loads(read_log_volume("faulty-log", "cat /log/faulty/1/owner.json"))
    assert owner["jobUid"] == chief["metadata"]["uid"]
