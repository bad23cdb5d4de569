"""The whole life of a training that Argo CD syncs from Git, by docs/gitops.md's Application.

Two others train beside it: one whose program is wrong, one that is taken out of the health.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
import yaml

from tests.cluster.argo_cd.application import PAGE, TRAIN, Application, Story, the_pages
from tests.cluster.argo_cd.conftest import MakeApplication
from tests.cluster.conftest import REQUESTS
from tests.cluster.operations.conftest import Tool
from tests.cluster.test_life_cycle import resumed_at
from tests.support.argo_cd import Object
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.story]

QUIETLY = yaml.safe_load(re.findall(r"^    extraValues:\n(?:     .*\n)+", PAGE, re.MULTILINE)[0])
ONE_WORKER = {
    "replication": "between-graph",
    "workers": 1,
    "resources": {"worker": REQUESTS, "ps": REQUESTS},
}


@pytest.fixture(scope="module")
def doomed(make_application: MakeApplication) -> Application:
    """The values name a class that the program lacks."""

    def misspell(values: Object) -> None:
        values["program"]["module"] += "z"

    doomed = make_application("doomed")
    doomed.commit("A wrong program", misspell, **ONE_WORKER)
    return doomed


@pytest.fixture(scope="module")
def quiet(make_application: MakeApplication) -> Application:
    quiet = make_application("quiet")
    quiet.commit("A training that nothing waits for", **ONE_WORKER, **QUIETLY)
    return quiet


@pytest.fixture(scope="module")
def allowed(quiet: Application) -> dict[str, str]:
    """The claims of the quiet one, once a commit has allowed to prune one and another dropped it.

    Its old pods take a while to let go of it.
    """
    pods, claims = quiet.pods(), quiet.claims()

    def may_be_pruned(values: Object) -> None:
        annotations = {"argocd.argoproj.io/sync-options": "Prune=true"}
        values.setdefault("storage", {})["data"] = {"annotations": annotations}

    quiet.synced_to(quiet.commit("May be pruned", may_be_pruned, **ONE_WORKER, **QUIETLY))
    assert (quiet.pods(), quiet.claims()) == (pods, claims)
    quiet.commit("No data", _drop, **ONE_WORKER, **QUIETLY)
    quiet.argo_cd.refresh(quiet.name)
    return claims


def _drop(values: Object) -> None:
    values.setdefault("storage", {})["data"] = {"enabled": False}


@pytest.fixture(scope="module")
def application(
    make_application: MakeApplication, doomed: Application, quiet: Application
) -> Application:
    """The page's."""
    own = make_application("digits")
    assert the_pages("Application")["spec"]["source"]["helm"] == {
        "valueFiles": [f"../../{own.values}"]
    }
    own.commit("A training")
    for one in (own, doomed, quiet):
        one.create()
    return own


@pytest.fixture(scope="module", autouse=True)
def story(application: Application) -> Iterator[Story]:
    """Of the page's Application, from its first moment on."""
    with application.told() as story:
        try:
            application.synced_to(application.repository.head())
            application.trains_beyond(0)
            yield story
        finally:
            print(story)


def test_while_it_trains_it_is_synced_and_progressing(application: Application) -> None:
    status = application.status()

    assert (status["sync"]["status"], status["health"]["status"]) == ("Synced", "Progressing")


def test_the_pod_of_helm_test_is_none_of_its_objects(application: Application) -> None:
    status = application.status()
    managed = {one["kind"] for one in status["resources"]}
    # Of the last sync alone, which may have been of one object that another had changed.
    synced = {one["kind"] for one in status["operationState"]["syncResult"]["resources"]}

    assert {"Deployment", "Job"} <= managed
    assert "Pod" not in managed | synced
    assert not application.release.objects("pod", "test")


def test_the_tool_sees_it_as_any_other_and_leaves_its_end_to_git(
    application: Application, kube_config: str
) -> None:
    application.trains_beyond(0)
    tool = Tool(application.argo_cd.namespace, kube_config)

    def document() -> Object:
        found = tool.document("get", application.name)
        assert found["status"] == "running"
        return found

    found = eventually("its progress", document, 30)
    assert (found["managedBy"], found["findings"]) == (f"argocd:{application.name}", [])
    refused = tool.ran("delete", application.name, code=2).stderr
    assert f"managed by Argo CD, Application {application.name}: delete it there" in refused
    file = application.repository.folder / application.values
    refused = tool.ran("submit", str(file), "--release", application.name, code=2).stderr
    assert f"managed by Argo CD, Application {application.name}" in refused


def test_another_sync_restarts_nothing(application: Application) -> None:
    before, step = application.pods(), application.trains_beyond(0)
    sync = {"operation": {"initiatedBy": {"username": "someone"}, "sync": {"prune": True}}}
    started = application.status()["operationState"]["startedAt"]
    application.argo_cd.namespace.kubectl(
        *("patch", "applications.argoproj.io", application.name, "--type=merge"),
        f"--patch={json.dumps(sync)}",
    )

    def is_done() -> bool:
        done = application.status()["operationState"]
        return bool(done["startedAt"] != started and done["phase"] == "Succeeded")

    eventually("another sync", is_done, 60)
    application.trains_beyond(step)
    assert application.pods() == before


def test_a_commit_that_the_chart_refuses_leaves_the_training_alone(
    application: Application,
) -> None:
    before = application.pods()
    application.commit("A mistake", lambda values: values["worker"].update(replcas=3))
    application.argo_cd.refresh(application.name)

    def words() -> str:
        conditions = application.status().get("conditions") or []
        errors = [one["message"] for one in conditions if one["type"] == "ComparisonError"]
        return " ".join(errors)

    said = eventually("the refusal in the Application", words, 60)
    assert "replcas" in said
    assert application.status()["sync"]["status"] == "Unknown"
    application.synced_to(application.commit("The mistake is mended"))
    assert application.pods() == before


def test_another_worker_and_no_data_are_a_new_attempt_that_goes_on_and_the_claims_stay(
    application: Application,
) -> None:
    step, claims = application.trains_beyond(0), application.claims()
    old = {one["metadata"]["name"] for one in application.release.objects("job")}

    application.synced_to(application.commit("A third worker, no data", _drop, workers=3))

    def resumed() -> int:
        jobs = {one["metadata"]["name"] for one in application.release.objects("job")}
        assert not jobs & old  # pruned
        return resumed_at(application.release)

    assert eventually("the new attempt to train", resumed, 120) >= step // 2
    assert len(application.release.running("worker")) == 3
    assert application.claims() == claims


def test_a_program_that_is_wrong_ends_synced_and_degraded_and_says_why(
    doomed: Application,
) -> None:
    eventually("the end", lambda: doomed.seen() == ("Synced", "Degraded"), 120)

    said = [
        one["health"]["message"]
        for one in doomed.status()["resources"]
        if one.get("health", {}).get("status") == "Degraded"
    ]
    (pod,) = doomed.release.objects("pod", "worker")
    (container,) = pod["status"]["containerStatuses"]
    assert len(said) == 1 and "exit code 2" in said[0] and pod["metadata"]["name"] in said[0]
    assert "Pacedz" in container["state"]["terminated"]["message"]
    doomed.delete(wait=False)


def test_without_its_objects_in_the_health_a_training_is_healthy_while_it_runs(
    quiet: Application,
) -> None:
    quiet.trains_beyond(0)

    assert quiet.seen() == ("Synced", "Healthy")
    assert quiet.release.one("job", "worker")["status"]["active"] == 1


@pytest.mark.usefixtures("allowed")
def test_a_good_end_is_synced_and_healthy_with_the_servers_at_0(
    application: Application, story: Story
) -> None:
    step = application.trains_beyond(0)
    ends = {**TRAIN, "steps": step + 200}

    def soon(values: Object) -> None:
        _drop(values)
        values.setdefault("cleanup", {})["delaySeconds"] = {"success": 1}

    application.synced_to(application.commit("An end", soon, workers=3, train=ends))
    begun = len(story.lines())
    eventually("the training to be Healthy", application.healthy, 240)

    def is_over() -> bool:
        servers = application.release.objects("deployment", "ps")
        return bool(servers) and all(not one["spec"]["replicas"] for one in servers)

    eventually("the parameter servers at 0", is_over, 180)
    generations = _generations(application)

    def note(values: Object) -> None:
        soon(values)
        values["worker"]["objectAnnotations"] = {"note": "a good one"}

    application.synced_to(application.commit("A note", note, workers=3, train=ends))
    assert application.healthy()
    assert _generations(application) == generations  # self-heal leaves them alone
    (workers,) = application.release.objects("job", "worker")
    assert workers["metadata"]["annotations"]["note"] == "a good one"
    said = story.lines()[begun:]
    assert not [line for line in said if "Missing" in line or "Degraded" in line], said


def test_a_claim_that_may_be_pruned_goes_by_the_next_commit_that_drops_it(
    quiet: Application, allowed: dict[str, str]
) -> None:
    left = {name: uid for name, uid in allowed.items() if not name.endswith("-data")}

    eventually("the end of the claim", lambda: quiet.claims() == left, 60)
    assert left and quiet.seen()[0] == "Synced"
    quiet.delete(wait=False)


def test_it_was_never_degraded_and_each_commit_took_one_sync_or_two(story: Story) -> None:
    lines = story.lines()

    assert not [line for line in lines if "Degraded" in line]
    assert {"Synced Progressing Succeeded", "Synced Healthy Succeeded"} <= {*lines}
    # On a busy machine Argo CD syncs a commit twice: what it made is still missing for it.
    first = next(
        at
        for at, one in enumerate(lines)
        if one in ("Synced Progressing Succeeded", "Synced Healthy Succeeded")
    )
    # A third worker, an end; a note may be too quick to be seen.
    assert 2 <= _periods(lines[first:], "OutOfSync") <= 3, lines
    # And another sync by hand, and second ones of the three commits that make objects, which may
    # come later than they are called synced. No self-heal, which would go on and on: nothing of an
    # old attempt is left.
    assert 3 <= _periods(lines[first:], "Running") <= 7, lines
    inside, outside = story.seconds_out_of_sync()
    print(f"OutOfSync: {inside:.1f} s in operations, {outside:.1f} s outside of them")


def _periods(lines: list[str], word: str) -> int:
    """How often the Application came to be so."""
    are = [word in line.split(" ") for line in lines]
    return sum(now and not before for before, now in pairwise([False, *are]))


def test_no_task_was_started_a_second_time(story: Story) -> None:
    assert len(story.tasks()) == 4 + 5 + 5  # a chief, a server and two or three workers
    assert story.restarts() == []


def test_without_the_application_its_claims_stay(application: Application) -> None:
    claims = application.claims()

    application.delete()

    eventually("its pods to go", lambda: not application.pods(), 60)
    assert application.release.objects("job,deployment,service,configmap") == []
    assert application.claims() == claims


def _generations(application: Application) -> dict[str, int]:
    found = application.release.objects("deployment,job")
    return {one["metadata"]["name"]: one["metadata"]["generation"] for one in found}
