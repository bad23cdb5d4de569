"""The whole life of a training that Argo CD syncs from Git, by docs/gitops.md's Application."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.conftest import CHART, ROOT, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.test_life_cycle import await_steps, resumed_at
from tests.support.argo_cd import REDIS, ArgoCD, Repository, lacking, running_argo_cd
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine import packages
from tools.machine.failure import MachineError
from tools.machine.layout import default_layout

pytestmark = [pytest.mark.cluster, pytest.mark.full]  # Argo CD takes 4 min of CPU to build

Object = dict[str, Any]

NAME = "digits"
VALUES = "trainings/digits.values.yaml"
PAGE = (ROOT / "docs" / "gitops.md").read_text()
APPLICATION: Object = yaml.safe_load(
    re.findall(r"^    apiVersion: argoproj(?:.*\n    )+.*\n", PAGE, re.MULTILINE)[0]
)
ENDLESS = 10_000_000
TRAIN = {"stepsPerCall": 8, "checkpoint": {"seconds": 5}}
SEEN = "{.status.sync.status} {.status.health.status} {.status.operationState.phase}"


@pytest.fixture(scope="module")
def argo_cd(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ArgoCD]:
    if os.geteuid() == 0:
        try:
            packages.ensure((REDIS,), default_layout())
        except MachineError as error:
            pytest.skip(str(error))
    if lacking():
        pytest.skip(lacking())
    with running_argo_cd(namespace, tmp_path_factory.mktemp("argo-cd")) as running:
        yield running


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("git") / "trainings", CHART)


class Application:
    """The training as Argo CD has it, and what it has said of it."""

    def __init__(
        self, argo_cd: ArgoCD, repository: Repository, make_values: MakeValues, story: Path
    ) -> None:
        self.argo_cd = argo_cd
        self.release = Release(argo_cd.namespace, NAME, CHART)
        self._repository = repository
        self._make_values = make_values
        self._story = story

    def commit(
        self, why: str, change: Callable[[Object], None] = lambda _: None, **params: Any
    ) -> str:
        """Commit values made of these params, changed by hand after that; returns the commit."""
        asked = {"train": {**TRAIN, "steps": ENDLESS}, **params}
        values = yaml.safe_load(self._make_values(NAME, **asked).read_text())
        change(values)
        return self._repository.commit(VALUES, yaml.safe_dump(values), why)

    def synced_to(self, revision: str) -> None:
        """Wait until Argo CD has applied a commit, and finds no difference."""
        self.argo_cd.refresh(NAME)

        def is_synced() -> bool:
            status = self.argo_cd.status(NAME)
            operation, sync = status.get("operationState") or {}, status["sync"]
            seen = (sync["status"], sync.get("revision"), operation.get("phase"))
            if seen != ("Synced", revision, "Succeeded"):
                raise LookupError(f"{seen} {operation.get('message')} {status.get('conditions')}")
            return True

        eventually(f"Argo CD to sync {revision[:8]}", is_synced, 60)

    def healthy(self) -> bool:
        return bool(self.argo_cd.status(NAME)["health"]["status"] == "Healthy")

    def story(self) -> list[str]:
        """Sync, health and operation, each time that one of them changed."""
        return self._story.read_text().splitlines()

    def pods(self) -> set[str]:
        kinds = ("chief", "worker", "ps")
        return {pod["metadata"]["uid"] for kind in kinds for pod in self.release.running(kind)}

    def claims(self) -> dict[str, str]:
        found = self.release.objects("pvc")
        return {one["metadata"]["name"]: one["metadata"]["uid"] for one in found}

    def trains_beyond(self, step: int) -> int:
        return await_steps(self.release, step)


@pytest.fixture(scope="module")
def application(
    argo_cd: ArgoCD,
    repository: Repository,
    make_values: MakeValues,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Application]:
    """The page's Application, of our repository and cluster; it trains."""
    namespace = argo_cd.namespace
    story = tmp_path_factory.mktemp("story") / "changes"
    own = Application(argo_cd, repository, make_values, story)
    first = own.commit("A training")
    spec = APPLICATION["spec"]
    assert spec["source"]["helm"] == {"valueFiles": [f"../../{VALUES}"]}
    namespace.apply(
        {
            **APPLICATION,
            "metadata": {**APPLICATION["metadata"], "namespace": namespace.name},
            "spec": {
                **spec,
                "source": {**spec["source"], "repoURL": repository.url},
                "destination": {"server": argo_cd.server, "namespace": namespace.name},
            },
        }
    )
    with story.open("w") as file:
        watch = subprocess.Popen(
            tied_to_us(
                *(namespace.kubectl_path, f"--kubeconfig={namespace.kubeconfig}"),
                *("get", "applications.argoproj.io", NAME, f"--namespace={namespace.name}"),
                *("--watch", "--output=jsonpath=" + SEEN + '{"\\n"}'),
            ),
            stdout=file,
        )
    try:
        own.synced_to(first)
        own.trains_beyond(0)
        yield own
        assert watch.poll() is None, "nobody looked"
    finally:
        watch.terminate()
        watch.wait(30)
        print("\n".join(own.story()))


def test_while_it_trains_it_is_synced_and_progressing(application: Application) -> None:
    status = application.argo_cd.status(NAME)

    assert (status["sync"]["status"], status["health"]["status"]) == ("Synced", "Progressing")


def test_another_sync_restarts_nothing(application: Application) -> None:
    before, step = application.pods(), application.trains_beyond(0)
    sync = {"operation": {"initiatedBy": {"username": "someone"}, "sync": {"prune": True}}}
    started = application.argo_cd.status(NAME)["operationState"]["startedAt"]
    application.argo_cd.namespace.kubectl(
        *("patch", "applications.argoproj.io", NAME, "--type=merge"),
        f"--patch={json.dumps(sync)}",
    )

    def is_done() -> bool:
        done = application.argo_cd.status(NAME)["operationState"]
        return bool(done["startedAt"] != started and done["phase"] == "Succeeded")

    eventually("another sync", is_done, 60)
    application.trains_beyond(step)
    assert application.pods() == before


def test_a_commit_that_the_chart_refuses_leaves_the_training_alone(
    application: Application,
) -> None:
    before = application.pods()
    application.commit("A mistake", lambda values: values["worker"].update(replcas=3))
    application.argo_cd.refresh(NAME)

    def words() -> str:
        conditions = application.argo_cd.status(NAME).get("conditions") or []
        errors = [one["message"] for one in conditions if one["type"] == "ComparisonError"]
        return " ".join(errors)

    said = eventually("the refusal in the Application", words, 60)
    assert "replcas" in said
    assert application.argo_cd.status(NAME)["sync"]["status"] == "Unknown"
    application.synced_to(application.commit("The mistake is mended"))
    assert application.pods() == before


def test_more_workers_are_a_new_attempt_that_goes_on(application: Application) -> None:
    step, claims = application.trains_beyond(0), application.claims()
    old = {one["metadata"]["name"] for one in application.release.objects("job")}

    application.synced_to(application.commit("A third worker", workers=3))

    def resumed() -> int:
        jobs = {one["metadata"]["name"] for one in application.release.objects("job")}
        assert not jobs & old  # pruned
        return resumed_at(application.release)

    assert eventually("the new attempt to train", resumed, 120) >= step // 2
    assert len(application.release.running("worker")) == 3
    assert application.claims() == claims


def _drop(values: Object) -> None:
    values.setdefault("storage", {})["data"] = {"enabled": False}


def test_a_claim_that_a_commit_drops_stays_and_is_no_difference(application: Application) -> None:
    claims = application.claims()

    application.synced_to(application.commit("No data", _drop, workers=3))
    assert application.claims() == claims
    application.trains_beyond(0)


def test_a_good_end_is_synced_and_healthy_with_the_servers_at_0(application: Application) -> None:
    step = application.trains_beyond(0)
    ends = {**TRAIN, "steps": step + 400}
    application.synced_to(application.commit("An end", _drop, workers=3, train=ends))
    begun = len(application.story())
    eventually("the training to be Healthy", application.healthy, 240)

    def is_over() -> bool:
        servers = application.release.objects("deployment", "ps")
        return bool(servers) and all(not one["spec"]["replicas"] for one in servers)

    eventually("the parameter servers at 0", is_over, 180)
    generations = _generations(application)

    def note(values: Object) -> None:
        _drop(values)
        values["worker"]["objectAnnotations"] = {"note": "a good one"}

    application.synced_to(application.commit("A note", note, workers=3, train=ends))
    assert application.healthy()
    assert _generations(application) == generations  # self-heal leaves them alone
    (workers,) = application.release.objects("job", "worker")
    assert workers["metadata"]["annotations"]["note"] == "a good one"
    said = application.story()[begun:]
    assert not [line for line in said if "Missing" in line or "Degraded" in line], said


def test_it_was_never_degraded_and_differed_from_new_commits_alone(
    application: Application,
) -> None:
    story = application.story()
    sync = [line.partition(" ")[0] for line in story]
    pairs = zip(["", *sync], sync, strict=False)

    assert not [line for line in story if "Degraded" in line]
    assert {"Synced Progressing Succeeded", "Synced Healthy Succeeded"} <= {*story}
    # The first commit, a third worker, no data, an end; a note may be too quick to be seen.
    assert 4 <= sum(1 for before, now in pairs if now == "OutOfSync" != before) <= 5, story


def test_without_the_application_its_claims_stay(application: Application) -> None:
    claims = application.claims()
    kubectl = application.argo_cd.namespace.kubectl

    kubectl("delete", "applications.argoproj.io", NAME, "--timeout=3m")

    eventually("its pods to go", lambda: not application.pods(), 60)
    assert application.release.objects("job,deployment,service,configmap") == []
    assert application.claims() == claims


def _generations(application: Application) -> dict[str, int]:
    found = application.release.objects("deployment,job")
    return {one["metadata"]["name"]: one["metadata"]["generation"] for one in found}
