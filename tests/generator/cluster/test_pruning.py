"""What a prune takes: of releases drawn by chance, held to what was drawn."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, timezone
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.pruning.releases import (
    PAGES,
    Terms,
    Verdict,
    held_to_manifest,
    held_to_now,
    judged_alone,
    planned,
)
from tf_cluster.cluster.reading import clock, trainings
from tf_cluster.cluster.snapshot import Condition, Deployment, Job, Pod, Release, Training

from tests.generator.cluster.conftest import EMPTY, Server, config
from tests.generator.conftest import ROOT

NOW = datetime(2026, 11, 28, 12, tzinfo=timezone.utc)
HOUR = 3600
BOTH_WAYS = ("done", "failed", "stopped")
ALIVE = (
    "running",
    "suspended",
    "a pod that waits",
    "a pod that runs",
    "an evaluator",
    "servers",
    "serving",
    "only pods",
    "another attempt",
)
UNKNOWN = "no time of its end"


@dataclass(frozen=True)
class Drawn:
    """A training as it was drawn: how it is, and how many hours ago it ended."""

    namespace: str
    name: str
    chart: str
    how: str
    hours: float
    manager: str = "helm"


def job(
    name: str, role: str, end: str = "", hours: float | None = 0.0, attempt: str = "a", **more: Any
) -> Job:
    at = None if hours is None else NOW - timedelta(hours=hours)
    created = NOW - timedelta(days=90 if attempt == "a" else 1)
    conditions = (Condition(end, "True", "R", "m"),) if end else ()
    return Job(name, role, attempt, created=created, ended=at, conditions=conditions, **more)


def training(drawn: Drawn) -> Training:
    name, how = drawn.name, drawn.how
    end = {"failed": "Failed", "stopped": "Failed"}.get(how, "Complete")
    hours = None if how == UNKNOWN else drawn.hours
    stopped = {"stopped": "2026-11-01"} if how == "stopped" else {}
    chief = job(f"{name}-chief-a", "chief", end, hours, **stopped)
    worker = job(f"{name}-worker-a", "worker", end, drawn.hours + 1)
    jobs: list[Job] = [chief, worker]
    pods: list[Pod] = []
    servers = Deployment(f"{name}-ps-0-a", "ps", "a", tasks=0, created=chief.created)
    if how in ("running", "suspended"):
        jobs[0] = job(f"{name}-chief-a", "chief", "", None, is_suspended=how == "suspended")
    elif how == "an evaluator":
        jobs.append(job(f"{name}-eval-a", "evaluator", "", None))
    elif how == "another attempt":
        jobs.append(job(f"{name}-chief-b", "chief", "", None, attempt="b"))
    elif how == "servers":
        servers = replace(servers, tasks=1)
    elif how in ("serving", "only pods"):
        jobs = []
    if how.startswith("a pod") or how == "only pods":
        phase = "Pending" if how == "a pod that waits" else "Running"
        pods.append(pod(f"{name}-worker-a-1", "worker", phase))
    made = () if how == "only pods" else (servers,)
    return Training(
        drawn.namespace, name, drawn.chart, drawn.manager, tuple(jobs), made, tuple(pods)
    )


def pod(name: str, role: str, phase: str) -> Pod:
    return Pod(name=name, role=role, attempt="a", phase=phase)


def releases_of(drawn: list[Drawn], draw: random.Random) -> list[Release]:
    states = ["deployed"] * 8 + ["failed", "pending-upgrade", "uninstalling"]
    keys = sorted({(one.namespace, one.name) for one in drawn})
    return [Release(*key, draw.choice(states), draw.randint(1, 9)) for key in keys]


def world(seed: int) -> tuple[list[Drawn], list[Release], Terms]:
    draw = random.Random(seed)
    how = [*BOTH_WAYS * 6, "done", "done", *ALIVE, UNKNOWN]
    drawn = []
    for number in range(draw.randint(0, 14)):
        where, name = draw.choice(["here", "there"]), f"t{number}"
        for chart in draw.choice([["tf-cluster"]] * 5 + [["one", "two"]]):
            manager = draw.choice(["helm"] * 10 + ["argocd:vision", ""])
            hours = draw.choice([0.0, 1.0, 24.0, draw.random() * 500])
            drawn.append(Drawn(where, name, chart, draw.choice(how), hours, manager))
    releases = [one for one in releases_of(drawn, draw) if draw.random() > 0.03]
    terms = Terms(
        older=draw.choice([None, 0, HOUR, 24 * HOUR, 300 * HOUR]),
        keep=draw.choice([None, 0, 1, 3]),
        failed=draw.random() < 0.5,
    )
    return drawn, releases, terms


def expected(drawn: list[Drawn], releases: list[Release], terms: Terms) -> set[tuple[str, str]]:
    """What goes, told once more from what was drawn."""
    state = {(one.namespace, one.name): one.status for one in releases}
    helm_states = {"deployed", "failed"} if terms.failed else {"deployed"}
    ends = {"done", "failed", "stopped"} if terms.failed else {"done"}
    hours: dict[tuple[str, str], float] = {}
    never = set()
    for one in drawn:
        key = (one.namespace, one.name)
        hours[key] = min(one.hours, hours.get(key, one.hours))
        if one.manager != "helm" or one.how not in ends or state.get(key) not in helm_states:
            never.add(key)
    gone = set()
    for where in {"here", "there"}:
        some = sorted((hours[key], key) for key in hours if key[0] == where and key not in never)
        gone |= {
            key
            for past, key in some[terms.keep or 0 :]
            if terms.older is None or past * HOUR >= terms.older
        }
    return gone


@pytest.mark.parametrize("block", range(10))
def test_exactly_what_may_goes(block: int) -> None:
    went = stayed = 0
    for seed in range(block * 100, block * 100 + 100):
        drawn, releases, terms = world(seed)
        verdicts = planned(map(training, drawn), releases, NOW, terms)
        going = {(one.namespace, one.name) for one in verdicts if one.goes}
        assert going == expected(drawn, releases, terms), f"seed {seed}"
        assert [(one.namespace, one.name) for one in verdicts] == sorted(
            {(one.namespace, one.name) for one in drawn}
        )
        went, stayed = went + len(going), stayed + len(verdicts) - len(going)
    assert went > 20
    assert stayed > 200


def verdict_on(*drawn: Drawn, status: str = "deployed", **terms: Any) -> Verdict:
    record = Release(drawn[0].namespace, drawn[0].name, status, 3)
    return judged_alone(list(map(training, drawn)), record, Terms(**terms))


A = Drawn("here", "a", "tf-cluster", "done", 48)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"how": "running"}, "a-chief-a has not ended"),
        ({"how": "suspended"}, "a-chief-a is suspended"),
        ({"how": "a pod that waits"}, "a-worker-a-1 has not ended"),
        ({"how": "an evaluator"}, "a-eval-a has not ended"),
        ({"how": "another attempt"}, "a-chief-b has not ended"),
        ({"how": "servers"}, "a-ps-0-a is not scaled to 0"),
        ({"how": "serving"}, "it serves"),
        ({"how": "only pods"}, "it has no Job that says how it ended"),
        ({"how": UNKNOWN}, "when it ended is not known"),
        ({"how": "failed"}, "it failed: --failed takes such, too"),
        ({"how": "stopped"}, "it was stopped: --failed takes such, too"),
        ({"manager": "argocd:vision"}, "Argo CD manages it: Application vision"),
        ({"manager": ""}, "its objects were not made by Helm"),
    ],
)
def test_why_it_stays_is_said(change: dict[str, Any], words: str) -> None:
    assert verdict_on(replace(A, **change)).why == words


def test_a_release_goes_only_when_all_its_trainings_have_ended() -> None:
    other = replace(A, chart="second", hours=2)
    both = verdict_on(A, other)
    assert (both.goes, both.ended) == (True, NOW - timedelta(hours=2))
    assert verdict_on(A, replace(other, how="running")).why == "a-chief-a has not ended"
    assert verdict_on(A, replace(other, manager="argocd:x")).why.startswith("Argo CD")
    assert verdict_on(A, replace(other, how="failed"), failed=True).statuses == "done, failed"


def test_what_helm_says_of_a_release_counts() -> None:
    assert "Helm is at work" in verdict_on(A, status="pending-upgrade", failed=True).why
    assert "helm uninstall a" in verdict_on(A, status="uninstalling", failed=True).why
    assert "--failed" in verdict_on(A, status="failed").why
    assert verdict_on(A, status="failed", failed=True).goes
    assert "no release" in judged_alone([training(A)], None, Terms()).why


def test_of_those_that_ended_at_once_the_same_stay_each_time() -> None:
    some = [replace(A, name=name) for name in "dbca"]
    records = [Release("here", name, "deployed", 1) for name in "abcd"]
    verdicts = planned(map(training, some), records, NOW, Terms(keep=2))
    assert [one.name for one in verdicts if one.goes] == ["c", "d"]
    assert verdicts[0].why == "one of the newest 2: --keep"


def test_how_old_it_is_and_has_to_be_is_said() -> None:
    records = [Release("here", "a", "deployed", 1)]
    (verdict,) = planned([training(A)], records, NOW, Terms(older=7 * 24 * HOUR))
    assert verdict.why == "it ended 2d ago: --older 7d"
    (verdict,) = planned([training(A)], records, NOW, Terms(older=48 * HOUR))
    assert verdict.goes


def test_an_end_that_is_yet_to_come_is_not_old() -> None:
    """A node's clock may be ahead."""
    records = [Release("here", "a", "deployed", 1)]
    (verdict,) = planned([training(replace(A, hours=-30))], records, NOW, Terms(older=1))
    assert verdict.why == "it ended 0s ago: --older 1s"


def test_one_mark_of_argo_cd_on_any_object_is_enough(server: Server, use: Any) -> None:
    use(config(server.url))
    marks = {
        "app.kubernetes.io/instance": "a",
        "app.kubernetes.io/name": "tf-cluster",
        "tf-cluster.io/attempt": "a",
    }
    helm = {"meta.helm.sh/release-name": "a"}
    both = {**helm, "argocd.argoproj.io/tracking-id": "vision:batch/Job:here/x"}
    jobs = [
        {
            "metadata": {"name": name, "namespace": "here", "labels": marks, "annotations": notes},
            "spec": {"template": {"spec": {"containers": []}}},
        }
        for name, notes in (("cleanup", helm), ("chief", both), ("worker", helm))
    ]
    server.answers = [(200, {**EMPTY, "items": jobs}, {})]
    (found,) = trainings(connect(None, "here"), "here").trainings
    assert found.managed_by == "argocd:vision"


def test_the_clock_is_the_api_servers(
    server: Server, use: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(config(server.url))
    words = {"here": "Mon, 02 Mar 2026 10:00:00 GMT"}
    monkeypatch.setattr(BaseHTTPRequestHandler, "date_time_string", lambda _: words["here"])
    said = datetime(2026, 3, 2, 10, tzinfo=timezone.utc)
    assert clock(connect(None, "here")) == said
    words["here"] = "some day"
    assert clock(connect(None, "here")) > said


def manifest(*more: dict[str, Any]) -> list[dict[str, Any]]:
    marks = {"tf-cluster.io/attempt": "a", "app.kubernetes.io/component": "chief"}
    tasks = [
        made("Job", "a-chief-a", **marks),
        made("Deployment", "a-ps-0-a", **marks),
        made("ConfigMap", "a-config-a"),
        made("PersistentVolumeClaim", "a-log", keep=True),
    ]
    return [*tasks, *more]


def made(kind: str, name: str, *, keep: bool = False, **marks: str) -> dict[str, Any]:
    notes = {"helm.sh/resource-policy": "keep"} if keep else {}
    return {"kind": kind, "metadata": {"name": name, "labels": marks, "annotations": notes}}


def component(name: str) -> dict[str, str]:
    return {"app.kubernetes.io/component": name}


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (made("PersistentVolumeClaim", "extra"), "persistentvolumeclaim/extra would go with it"),
        (made("Deployment", "model"), "deployment/model is no part of a training, and may serve"),
        (made("StatefulSet", "db", **component("extra")), "statefulset/db is no part of"),
        (made("StorageClass", "fast"), "storageclass/fast is no part of a training"),
        (made("Namespace", "vision"), "namespace/vision is no part of a training"),
        (made("Deployment", "a-tensorboard", **component("tensorboard")), "serves a page: --pages"),
        (made("Secret", "s", **{"helm.toolkit.fluxcd.io/name": "x"}), "Flux manages it"),
    ],
)
def test_a_release_that_holds_more_than_trainings_stays(more: dict[str, Any], words: str) -> None:
    assert verdict_on(A).goes
    assert words in held_to_manifest(verdict_on(A), manifest(more), Terms()).why


def test_what_helm_keeps_and_what_a_training_needs_keeps_no_release() -> None:
    kept = [made("PersistentVolumeClaim", "x", keep=True), made("StorageClass", "y", keep=True)]
    page = made("Deployment", "a-tensorboard", **component("tensorboard"))
    extra = made("Secret", "login", **component("extra"))
    assert held_to_manifest(verdict_on(A), manifest(*kept, extra), Terms()).goes
    assert held_to_manifest(verdict_on(A), manifest(page), Terms(pages=True)).goes


def test_jobs_that_helms_release_does_not_have_keep_it() -> None:
    why = held_to_manifest(verdict_on(A), manifest()[1:], Terms()).why
    assert why == "a-chief-a is not in Helm's release: who made it?"
    assert held_to_manifest(verdict_on(A), [{"kind": "List"}, {}], Terms()).why
    stays = verdict_on(replace(A, how="running"))
    assert held_to_manifest(stays, [], Terms()) == stays


def test_what_changed_since_the_plan_stays() -> None:
    before, record = verdict_on(A), Release("here", "a", "deployed", 3)
    assert held_to_now(before, [training(A)], record, Terms()) == before
    upgraded = replace(record, revision=4)
    assert "was changed" in held_to_now(before, [training(A)], upgraded, Terms()).why
    again = [training(replace(A, how="another attempt"))]
    assert held_to_now(before, again, record, Terms()).why == "a-chief-b has not ended"
    later = [training(replace(A, hours=1))]
    assert "was changed" in held_to_now(before, later, record, Terms()).why
    assert "gone" in held_to_now(before, [], None, Terms()).why
    assert "no release" in held_to_now(before, [training(A)], None, Terms()).why


def notes_of(one: dict[str, Any]) -> dict[str, str]:
    return one["metadata"].get("annotations") or {}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "chart" / "golden").glob("*.yaml")), ids=lambda path: path.stem
)
def test_all_that_the_chart_makes_goes_with_a_training(path: Path) -> None:
    rendered = [one for one in yaml.safe_load_all(path.read_text()) if one]
    # Helm's own record has no hooks.
    objects = [one for one in rendered if "helm.sh/hook" not in notes_of(one)]
    jobs = [one["metadata"]["name"] for one in objects if one["kind"] == "Job"]
    before = verdict_on(A)
    ending = replace(before.endings[0], client=next(iter(jobs), "none"))
    found = held_to_manifest(replace(before, endings=(ending,)), objects, Terms(pages=True))
    assert found.why in ("", "none is not in Helm's release: who made it?")
    has_page = any(
        one["metadata"]["labels"]["app.kubernetes.io/component"] in PAGES
        for one in objects
        if one["kind"] == "Deployment"
    )
    alone = held_to_manifest(replace(before, endings=(ending,)), objects, Terms())
    assert ("serves a page" in alone.why) == has_page
