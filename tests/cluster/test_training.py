"""From a params file to a trained model on a real Kubernetes, in the order a user lives it.

Nothing is configured but the five lines of params: the volumes are the cluster's default class.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_cleanup.decision import POLL_SECONDS

from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Object, Release, condition
from tests.generator.local.combinations import RETRIED, last_steps
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

STEPS = 1500
MORE_STEPS = 2500
PER_CALL = 8  # no divisor of the total: the last call has to be a shorter one
TRAIN = {"stepsPerCall": PER_CALL, "checkpoint": {"seconds": 3}}


@dataclass
class Story:
    """One release and what earlier cases of this module saw of it."""

    release: Release
    values: Path
    more: Path
    read: Callable[[str, str], str]
    notes: str = ""
    uids: dict[str, str] = field(default_factory=dict)

    def last_steps(self, total: int) -> range:
        """The steps at which the chief may have ended."""
        chief = self.release.one("job", "chief")["metadata"]["name"]
        log = self.release.namespace.kubectl("logs", f"job/{chief}")
        retried = log.count(RETRIED)
        return last_steps("in-graph-async", total, per_call=PER_CALL, retried=retried)

    def progress(self) -> Object:
        """progress.json as it lies on the claim."""
        return dict(json.loads(self.read("digits-log", "cat /log/digits/1/progress.json")))

    def snapshot(self) -> dict[str, str]:
        """UID of every object and pod by kind/name; cleanup's own pods come and go."""
        kinds = "job,deployment,replicaset,service,configmap,pvc,pod,networkpolicy"
        return {
            f"{obj['kind']}/{obj['metadata']['name']}": obj["metadata"]["uid"]
            for obj in self.release.objects(kinds)
        }


@pytest.fixture(scope="module")
def story(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    read_log_volume: Callable[[str, str], str],
) -> Story:
    values = make_values("digits", small=False, train={**TRAIN, "steps": STEPS})
    more = make_values("digits", small=False, train={**TRAIN, "steps": MORE_STEPS})
    release = make_release("digits")
    story = Story(release, values, more, read_log_volume)
    story.notes = release.install(values)
    return story


def _told(story: Story) -> list[str]:
    """The commands that the notes of the install tell, in order."""
    lines = story.notes.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.startswith("    kubectl ")]


def test_the_told_commands_follow_the_training_to_its_end(story: Story, tmp_path: Path) -> None:
    wait, follow, see, *_ = _told(story)
    eventually("a chief's pod", lambda: story.release.objects("pod", "chief"), 60)
    story.release.namespace.shell(wait, tmp_path)
    log = story.release.namespace.shell(follow, tmp_path)
    assert "training from step 0" in log
    assert f"of {STEPS}" in log
    assert "digits-worker" in story.release.namespace.shell(see, tmp_path)


def test_training_completes(story: Story) -> None:
    story.release.await_job("chief", "Complete", 180)
    story.release.await_job("worker", "Complete", 60)


def test_the_model_and_the_progress_are_on_the_claim(story: Story) -> None:
    progress = story.progress()
    assert progress["status"] == "done"
    assert progress["final"] is True
    assert progress["step"] in story.last_steps(STEPS)
    assert progress["metrics"]["accuracy"] >= 0.95
    listing = story.read("digits-log", "ls /log/digits/1/export/1 /log/digits/1/checkpoints")
    assert "saved_model.pb" in listing
    assert f"ckpt-{progress['step']}" in listing


def test_the_told_commands_copy_the_model_out(story: Story, tmp_path: Path) -> None:
    for command in _told(story)[3:7]:  # after them: how data is loaded
        story.release.namespace.shell(command, tmp_path)
    assert (tmp_path / "export" / "1" / "saved_model.pb").is_file()


def test_the_variables_were_on_the_parameter_server(story: Story) -> None:
    placement = story.progress()["placement"]
    assert placement
    assert all(device.startswith("/job:ps") for device in placement.values()), placement


def test_every_worker_made_steps(story: Story) -> None:
    workers = story.progress()["workers"]
    assert sorted(workers) == ["0", "1"]
    assert all(steps > 0 for steps in workers.values()), workers
    assert sum(workers.values()) == story.progress()["step"]


def test_the_parameter_servers_are_gone_thirty_seconds_later(story: Story) -> None:
    """By cleanup's own clock; how long this machine takes for an answer is measured beside."""
    eventually("ps at 0", lambda: not story.release.objects("pod", "ps"), 75)
    job = story.release.await_job("cleanup", "Complete", 30)["metadata"]["name"]
    began = time.monotonic()
    log = story.release.namespace.kubectl("logs", f"job/{job}")
    an_answer = time.monotonic() - began
    ended = max(
        _seconds(story.release.one("job", role)["status"]["completionTime"])
        for role in ("chief", "worker")
    )
    noticed, scaled = (
        _seconds(line.split()[0])
        for words in ("parameter servers go to 0 after 30 s", "scaled to 0")
        for line in log.splitlines()
        if words in line
    )
    a_look = POLL_SECONDS + 10 * an_answer + 1  # the log has whole seconds
    assert -1 <= noticed - ended <= 2 * a_look, log
    assert 29 <= scaled - noticed <= 30 + a_look, log
    assert story.release.one("deployment", "ps")["spec"]["replicas"] == 0


def test_an_upgrade_with_the_same_values_restarts_nothing(story: Story) -> None:
    before = story.snapshot()
    story.release.upgrade(story.values)
    assert story.snapshot() == before
    assert not story.release.objects("pod", "ps")


def test_changed_values_make_a_new_attempt_that_resumes(story: Story) -> None:
    old = {job["metadata"]["name"] for job in story.release.objects("job")}
    done_before = story.progress()["step"]
    story.release.upgrade(story.more)
    story.release.await_job("chief", "Complete", 180)
    new = {job["metadata"]["name"] for job in story.release.objects("job")}
    assert not old & new
    progress = story.progress()
    assert progress["step"] in story.last_steps(MORE_STEPS)
    assert f"step {done_before}" in story.release.namespace.kubectl(
        "logs", f"job/{story.release.one('job', 'chief')['metadata']['name']}"
    )
    story.release.await_job("worker", "Complete", 60)


def test_uninstall_leaves_only_the_kept_claims(story: Story) -> None:
    story.release.uninstall()
    kinds = (
        "job,deployment,replicaset,pod,service,configmap,secret,serviceaccount,role,rolebinding,"
        "networkpolicy,pvc"
    )

    def left() -> list[str] | None:
        found = [f"{obj['kind']}/{obj['metadata']['name']}" for obj in story.release.objects(kinds)]
        return found if all(name.startswith("PersistentVolumeClaim/") for name in found) else None

    assert sorted(eventually("only claims to be left", left, 90)) == [
        "PersistentVolumeClaim/digits-data",
        "PersistentVolumeClaim/digits-log",
    ]


def test_installing_again_on_the_kept_claims_trains_no_step(story: Story) -> None:
    story.release.install(story.more)
    job = story.release.await_job("chief", "Complete", 90)
    assert condition(job, "Complete")
    log = story.release.namespace.kubectl("logs", f"job/{job['metadata']['name']}")
    assert "already" in log
    assert story.read("digits-log", "ls /log/digits/1/export").split() == ["1", "2"]


def _seconds(timestamp: Any) -> float:
    return datetime.fromisoformat(str(timestamp).replace("Z", "+00:00")).timestamp()
