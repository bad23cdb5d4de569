"""The program against a real API server, with the rights that the chart gives it and no others.

The attempt's Jobs are ours, by the chart's names: one without completions is complete at once, one
that asks for a node that is not there runs for ever. No image is needed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.chart.helm import Object, Rendered, render
from tests.cluster.kubernetes import Namespace, condition
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.cluster

PROGRAM = Path(sys.executable).parent / "tf-cluster-cleanup"
NOWHERE = {"tf-cluster.io/test": "nowhere"}
COMPLETE: dict[str, Any] = {"completions": 0}
RUNNING: dict[str, Any] = {}
FAILED: dict[str, Any] = {"activeDeadlineSeconds": 1}


@dataclass(frozen=True)
class Attempt:
    """A rendered attempt whose account, rights and parameter server are in the cluster."""

    namespace: Namespace
    rendered: Rendered
    kubeconfig: Path

    @property
    def name(self) -> str:
        return self.rendered.attempt

    def job(self, role: str) -> str:
        return str(self.rendered.one("Job", role)["metadata"]["name"])

    def make_job(self, role: str, spec: dict[str, Any]) -> None:
        """A Job with the chart's name for this role that ends as `spec` lets it."""
        pod = dict(self.rendered.one("Job", role)["spec"]["template"])
        pod["spec"] = {**pod["spec"], "nodeSelector": NOWHERE}
        pod["spec"].pop("affinity", None)
        self.namespace.apply(
            {
                "apiVersion": "batch/v1",
                "kind": "Job",
                "metadata": {"name": self.job(role)},
                "spec": {**spec, "template": pod},
            }
        )

    def get(self, kind: str, name: str) -> Object:
        return dict(json.loads(self.namespace.kubectl("get", kind, name, "--output=json")))

    def replicas(self) -> int:
        return int(self.get("deployment", f"end-ps-0-{self.name}")["spec"]["replicas"])

    def start(self) -> subprocess.Popen[str]:
        """The program with the plan of the rendered Job."""
        (container,) = self.rendered.one("Job", "cleanup")["spec"]["template"]["spec"]["containers"]
        return subprocess.Popen(
            (PROGRAM, *container["args"]),
            env={**os.environ, "KUBECONFIG": str(self.kubeconfig)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self) -> str:
        """The program to its end; what it printed."""
        process = self.start()
        output, _ = process.communicate(timeout=PATIENCE * 60)
        assert process.returncode == 0, output
        return output


MakeAttempt = Callable[..., Attempt]


@pytest.fixture
def make_attempt(namespace: Namespace, tmp_path: Path) -> Iterator[MakeAttempt]:
    made: list[str] = []

    def make(**cleanup: Any) -> Attempt:
        delay = {"success": 1, "failure": 1, **cleanup.pop("delaySeconds", {})}
        values = {
            "run": {"id": f"r{len(made)}-{tmp_path.name}"},
            "ps": {"nodeSelector": NOWHERE},
            "cleanup": {"delaySeconds": delay, "workersTimeoutSeconds": 1, **cleanup},
        }
        rendered = render(values, release="end", namespace=namespace.name)
        kinds = ("ServiceAccount", "Role", "RoleBinding", "Deployment")
        objects = [obj for obj in rendered.objects if obj["kind"] in kinds]
        for obj in objects:
            namespace.apply(obj)
        made.append(rendered.attempt)
        account = f"end-cleanup-{rendered.attempt}"
        return Attempt(namespace, rendered, _kubeconfig_of(account, namespace, tmp_path))

    yield make
    for attempt in made:
        selector = f"--selector=tf-cluster.io/attempt={attempt}"
        namespace.kubectl("delete", "deployment,serviceaccount,role,rolebinding", selector)
        jobs = (f"end-chief-{attempt}", f"end-worker-{attempt}")
        namespace.kubectl("delete", "job", *jobs, "--ignore-not-found")


def _kubeconfig_of(account: str, namespace: Namespace, folder: Path) -> Path:
    """A kubeconfig that is this service account in this namespace."""
    mine = json.loads(namespace.kubectl("config", "view", "--raw", "--minify", "--output=json"))
    token = namespace.kubectl("create", "token", account).strip()
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": mine["clusters"],
        "users": [{"name": account, "user": {"token": token}}],
        "contexts": [
            {
                "name": "pod",
                "context": {
                    "cluster": mine["clusters"][0]["name"],
                    "user": account,
                    "namespace": namespace.name,
                },
            }
        ],
        "current-context": "pod",
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return path


def test_after_a_good_end_ps_are_at_0(make_attempt: MakeAttempt) -> None:
    attempt = make_attempt()
    assert attempt.replicas() == 1
    attempt.make_job("chief", COMPLETE)
    attempt.make_job("worker", COMPLETE)
    output = attempt.run()
    assert attempt.replicas() == 0
    assert f"scaled to 0: end-ps-0-{attempt.name}" in output
    attempt.run()
    assert attempt.replicas() == 0, "a second run changes nothing"


def test_a_worker_that_never_came_is_ended_with_a_training_that_failed(
    make_attempt: MakeAttempt,
) -> None:
    attempt = make_attempt()
    attempt.make_job("worker", RUNNING)
    attempt.make_job("chief", FAILED)
    output = attempt.run()
    assert f"ending Job {attempt.job('worker')}" in output
    assert attempt.replicas() == 0

    def failed() -> Object | None:
        return condition(attempt.get("job", attempt.job("worker")), "Failed")

    assert eventually("the worker Job to fail", failed, 30)["reason"] == "DeadlineExceeded"


def test_a_worker_that_never_came_leaves_no_failed_job_after_a_good_training(
    make_attempt: MakeAttempt,
) -> None:
    attempt = make_attempt()
    size = attempt.rendered.one("Job", "worker")["spec"]["completions"]
    indexed = {"completionMode": "Indexed", "completions": size, "parallelism": size}
    attempt.make_job("worker", indexed)
    attempt.make_job("chief", COMPLETE)
    attempt.run()
    assert attempt.replicas() == 0
    job = attempt.get("job", attempt.job("worker"))
    assert condition(job, "Complete")
    assert (job["spec"]["completions"], job["spec"]["parallelism"]) == (size, size)


def test_after_a_failure_ps_are_kept_where_the_plan_says_so(make_attempt: MakeAttempt) -> None:
    attempt = make_attempt(delaySeconds={"failure": None})
    attempt.make_job("chief", FAILED)
    attempt.make_job("worker", COMPLETE)
    assert "are kept, as configured" in attempt.run()
    assert attempt.replicas() == 1


def test_objects_that_go_meanwhile_are_the_end(make_attempt: MakeAttempt) -> None:
    attempt = make_attempt()
    attempt.make_job("chief", RUNNING)
    attempt.make_job("worker", RUNNING)
    process = attempt.start()
    assert process.stdout is not None
    assert "has not ended" in process.stdout.readline()
    for kind, name in (
        ("deployment", f"end-ps-0-{attempt.name}"),  # first: it scales that when the Jobs are gone
        ("job", attempt.job("chief")),
        ("job", attempt.job("worker")),
    ):
        attempt.namespace.kubectl("delete", kind, name)
    output, _ = process.communicate(timeout=PATIENCE * 60)
    assert process.returncode == 0, output
    assert "gone already" in output


def test_sigterm_is_not_a_good_end(make_attempt: MakeAttempt) -> None:
    attempt = make_attempt()
    attempt.make_job("chief", RUNNING)
    process = attempt.start()
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 128 + signal.SIGTERM
    assert attempt.replicas() == 1


def test_its_account_may_do_what_it_needs_and_nothing_else(make_attempt: MakeAttempt) -> None:
    attempt = make_attempt()
    account = f"system:serviceaccount:{attempt.namespace.name}:end-cleanup-{attempt.name}"
    chief, ps = attempt.job("chief"), f"end-ps-0-{attempt.name}"

    def can(verb: str, what: str, *more: str) -> bool:
        return _yes(attempt.namespace, ("auth", "can-i", verb, what, *more, f"--as={account}"))

    assert can("get", f"jobs.batch/{chief}")
    assert can("patch", f"jobs.batch/{chief}")
    assert can("patch", f"deployments.apps/{ps}", "--subresource=scale")
    for verb, what in (
        ("list", "jobs.batch"),
        ("delete", f"jobs.batch/{chief}"),
        ("get", "jobs.batch/another"),
        ("patch", f"deployments.apps/{ps}"),
        ("get", "secrets"),
        ("list", "pods"),
        ("create", "pods"),
    ):
        assert not can(verb, what), (verb, what)


def _yes(namespace: Namespace, arguments: tuple[str, ...]) -> bool:
    done = subprocess.run(
        (namespace.kubectl_path, f"--namespace={namespace.name}", *arguments),
        env={**os.environ, "KUBECONFIG": namespace.kubeconfig},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() == "yes"
