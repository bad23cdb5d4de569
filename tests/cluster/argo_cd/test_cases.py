"""What a training that Argo CD syncs meets more rarely, one Application or more for each case.

A commit has one or two of them, which share an Argo CD; a full run has all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster import turns
from tests.cluster.argo_cd.application import (
    TRAIN,
    Application,
    Change,
    place,
    the_pages,
    unchanged,
)
from tests.cluster.argo_cd.conftest import MakeApplication
from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Namespace
from tests.cluster.test_life_cycle import RESUMED
from tests.slices import in_turn
from tests.support.argo_cd import REPO_SERVER, ArgoCD, Object, Repository
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

ATTEMPT = "tf-cluster.io/attempt"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
LIMIT_OF_ANNOTATIONS = 262_144


@contextmanager
def synced(
    application: Application, values: Change = unchanged, spec: Change = unchanged
) -> Iterator[Application]:
    """It is created, with its first commit, and deleted afterwards."""
    application.commit("A training", values)
    application.create(spec)
    try:
        yield application
    except BaseException:
        print(application.release.story())
        raise
    finally:
        application.delete()


def _nowhere(values: Object) -> None:
    """No node takes its pods."""
    values.setdefault("pod", {})["nodeSelector"] = {"nowhere": "at-all"}


@in_turn(turns.UMBRELLA, of=turns.OF)
def test_the_umbrella_chart_is_the_path_of_an_application(
    make_application: MakeApplication,
) -> None:
    def below_the_part(values: Object) -> None:
        own = {**values}
        values.clear()
        values["tf-cluster"] = own

    def at_the_root(application: Object) -> None:
        application["spec"]["source"] |= {"path": "."}
        application["spec"]["source"]["helm"]["valueFiles"] = ["trainings/umbrella.values.yaml"]

    with synced(make_application("umbrella"), below_the_part, at_the_root) as umbrella:
        umbrella.synced_to(umbrella.repository.head())
        umbrella.trains_beyond(0)
        assert umbrella.seen() == ("Synced", "Progressing")


@in_turn(turns.APPLICATION_SET, of=turns.OF)
def test_an_applicationset_makes_an_application_of_each_values_file(
    argo_cd: ArgoCD, make_values: MakeValues, tmp_path: Path
) -> None:
    namespace = argo_cd.namespace
    repository = Repository(tmp_path / "trainings")
    trainings = [Application(name, argo_cd, repository, make_values) for name in ("one", "two")]
    for training in trainings:
        training.commit("A training", _nowhere)
    of_files = the_pages("ApplicationSet")
    of_files["metadata"]["namespace"] = namespace.name
    (generator,) = of_files["spec"]["generators"]
    generator["git"]["repoURL"] = repository.url
    place(of_files["spec"]["template"]["spec"], argo_cd, repository)
    name = f"applicationsets.argoproj.io/{of_files['metadata']['name']}"
    with argo_cd.application_sets():
        namespace.apply(of_files)
        for training in trainings:
            what = f"{training.name} to be synced"
            eventually(what, lambda it=training: it.seen() == ("Synced", "Progressing"), 60)  # type: ignore[misc]
        claims = trainings[1].claims()

        repository.drop(trainings[1].values, "Enough of it")
        namespace.kubectl("annotate", name, "argocd.argoproj.io/application-set-refresh=true")
        eventually("one Application alone", lambda: _applications(namespace) == {"one"}, 60)
        assert trainings[1].release.objects("job,deployment,pod") == []
        assert trainings[1].claims() == claims != {}
        namespace.kubectl("delete", name, "--cascade=foreground", "--timeout=3m")
        assert _applications(namespace) == set()


def _applications(namespace: Namespace) -> set[str]:
    names = namespace.kubectl("get", "applications.argoproj.io", "--output=name").split()
    return {name.rpartition("/")[2] for name in names}


@in_turn(turns.NO_PRUNING, of=turns.OF)
def test_an_attempt_that_is_not_pruned_does_not_starve_the_next(
    make_application: MakeApplication,
) -> None:
    def without_pruning(application: Object) -> None:
        application["spec"]["syncPolicy"]["automated"]["prune"] = False

    with synced(make_application("crowded"), spec=without_pruning) as crowded:
        namespace = crowded.argo_cd.namespace
        step = crowded.trains_beyond(0)
        (old,) = _chiefs(crowded)
        crowded.commit("A third worker", workers=3)
        crowded.argo_cd.refresh("crowded")

        def resumed() -> bool:
            new = [pod for attempt, pod in _chiefs(crowded).items() if attempt != old]
            return any(re.search(RESUMED, namespace.kubectl("logs", pod)) for pod in new)

        eventually("the new attempt to train", resumed, 120)
        eventually("the end of the old chief", lambda: old not in _chiefs(crowded), 60)
        crowded.trains_beyond(step)
        left = [
            job["metadata"]["labels"][ATTEMPT] for job in crowded.release.objects("job", "chief")
        ]
        assert old in left and len(left) == 2
        # Progressing by the new one: the old one's chief ended well.
        assert crowded.seen() == ("OutOfSync", "Progressing")


def _chiefs(application: Application) -> dict[str, str]:
    """The chiefs that run: their attempts, and the names of their pods."""
    pods = (pod["metadata"] for pod in application.release.running("chief"))
    return {pod["labels"][ATTEMPT]: pod["name"] for pod in pods}


@in_turn(turns.LARGE_CONFIGMAP, of=turns.OF)
def test_a_configmap_too_large_for_an_annotation_is_applied_by_the_server(
    make_application: MakeApplication,
) -> None:
    line = f"# {'-' * 77}\n"
    text = (
        "from tf_cluster_trainer.examples.digits import Digits\n\n\n"
        f"class Mine(Digits):\n    pass\n{line * (LIMIT_OF_ANNOTATIONS // len(line) + 1)}"
    )

    def large(values: Object) -> None:
        values["program"] = {"module": "mine:Mine", "source": {"files": {"mine.py": text}}}
        del values["flags"]  # those of another program

    with synced(make_application("large"), large) as application:
        application.synced_to(application.repository.head())
        application.trains_beyond(0)
        kubectl = application.argo_cd.namespace.kubectl
        (found,) = application.release.objects("configmap", "config")
        metadata = json.loads(
            kubectl(
                *("get", "configmap", found["metadata"]["name"]),
                *("--show-managed-fields", "--output=json"),
            )
        )["metadata"]
        assert len(json.dumps(found["data"])) > LIMIT_OF_ANNOTATIONS
        assert LAST_APPLIED not in metadata["annotations"]
        assert {one["operation"] for one in metadata["managedFields"]} == {"Apply"}


@in_turn(turns.MANY_TASKS, of=turns.OF)
def test_a_thousand_workers_and_250_parameter_servers_are_rendered_and_compared(
    make_application: MakeApplication,
) -> None:
    def many(values: Object) -> None:
        values["worker"]["replicas"] = 1000
        values["ps"]["replicas"] = 250

    def to_look_at(application: Object) -> None:
        del application["spec"]["syncPolicy"]

    with synced(make_application("many"), many, to_look_at) as application:
        eventually("a look", lambda: application.seen() == ("OutOfSync", "Missing"), 60)
        resources = application.status()["resources"]
        assert sum(one["kind"] == "Deployment" for one in resources) == 250
        calls = application.argo_cd.said(REPO_SERVER)
        rendered = (one for one in calls if one.get("grpc.method") == "GenerateManifest")
        longest = max(float(one["grpc.time_ms"]) for one in rendered)
        print(f"rendered in {longest / 1000:.1f} s")  # the others come from the cache


@pytest.fixture
def node_label(namespace: Namespace) -> Iterator[Callable[[], None]]:
    """Label the nodes with the name of the namespace; it is taken off at the end."""
    yield lambda: _label(namespace, f"{_queue(namespace)}=open")
    _label(namespace, f"{_queue(namespace)}-")


def _label(namespace: Namespace, label: str) -> None:
    namespace.kubectl("label", "nodes", "--all", label)


def _queue(namespace: Namespace) -> str:
    return f"tf-cluster.io/{namespace.name}"


@in_turn(turns.QUEUEING_PS, of=turns.OF)
def test_a_parameter_server_that_queues_is_no_failure(
    make_application: MakeApplication, node_label: Callable[[], None], namespace: Namespace
) -> None:
    def queued(values: Object) -> None:
        values["ps"]["nodeSelector"] = {_queue(namespace): "open"}

    def by_hand_too(application: Object) -> None:
        application["spec"]["syncPolicy"]["automated"]["selfHeal"] = False

    with synced(make_application("queue"), queued, by_hand_too) as application:
        application.synced_to(application.repository.head())
        server = application.release.one("deployment", "ps")
        patience = server["spec"]["progressDeadlineSeconds"]
        eventually("its pod to queue", lambda: _is_unschedulable(application), 60)
        assert application.seen() == ("Synced", "Progressing")

        def patience_is(seconds: int) -> None:
            patch = json.dumps({"spec": {"progressDeadlineSeconds": seconds}})
            namespace.kubectl(
                "patch", f"deployment/{server['metadata']['name']}", f"--patch={patch}"
            )

        # The chief's patience: at the end of it, and only then, Argo CD calls it Degraded.
        assert patience == 1800
        patience_is(1)
        eventually("the server's deadline", lambda: application.seen()[1] == "Degraded", 60)
        node_label()
        application.trains_beyond(0)
        patience_is(patience)
        what = "no trace of the deadline"
        eventually(what, lambda: application.seen() == ("Synced", "Progressing"), 60)


def _is_unschedulable(application: Application) -> bool:
    conditions = application.release.one("pod", "ps")["status"].get("conditions", [])
    return any(one.get("reason") == "Unschedulable" for one in conditions)


@in_turn(turns.LOST_WORKER, of=turns.OF)
def test_a_good_training_that_lost_a_worker_for_good_is_synced_and_healthy(
    make_application: MakeApplication,
) -> None:
    def soon(values: Object) -> None:
        values["cleanup"] = {"workersTimeoutSeconds": 5, "delaySeconds": {"success": 1}}

    application = make_application("bereft")
    namespace, release = application.argo_cd.namespace, application.release
    application.commit("A training", soon, train={**TRAIN, "steps": 400})
    application.create()
    with application.told() as story:
        application.trains_beyond(0)
        with _no_more_pods(namespace):
            lost = eventually("worker 1", lambda: release.worker(1), 60)["metadata"]["name"]
            namespace.kubectl("delete", "pod", lost)
            eventually("the training to be Healthy", application.healthy, 300)
            eventually("to be Synced", lambda: application.seen() == ("Synced", "Healthy"), 60)
    (workers,) = release.objects("job", "worker")
    assert (workers["spec"]["completions"], workers["status"]["succeeded"]) == (2, 1)
    assert not [line for line in story.lines() if "Degraded" in line], story
    application.delete()


@contextmanager
def _no_more_pods(namespace: Namespace) -> Iterator[None]:
    """Those that are there stay; one that goes has no successor."""
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "no-more-pods"},
        "spec": {"hard": {"pods": "0"}},
    }
    namespace.apply(quota)
    try:
        yield
    finally:
        namespace.kubectl("delete", "resourcequota", "no-more-pods")
