"""A release from a registry through its life: upgrades, a rollback, there and back, a deadline."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.chart.helm import command
from tests.chart.released import last_release
from tests.cluster import turns
from tests.cluster.conftest import IMAGE, MakeValues
from tests.cluster.kubernetes import CommandError, Object, Release, condition
from tests.cluster.machine_tools import tool_path
from tests.programs import ENDLESS, SLOWLY
from tests.slices import in_turn
from tests.support.registry import running_registry
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, pytest.mark.story, in_turn(turns.LIFE_CYCLE, of=turns.OF)]

NAME = "lived"
TRAIN = {"steps": ENDLESS, "stepsPerCall": 8, "checkpoint": {"seconds": 5}}
RESUMED = r"going on from the checkpoint of step (\d+)"


@pytest.fixture(scope="module")
def values(make_values: MakeValues) -> Path:
    assert ":" in IMAGE  # the tag is pinned
    return make_values(NAME, **SLOWLY, train=TRAIN)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the last released chart is pushed to."""
    folder = tmp_path_factory.mktemp("pushed")
    with running_registry(folder) as registry:
        place = f"oci://{registry}/charts"
        pushed = command("push", str(last_release(folder)), place, "--plain-http")
        assert pushed.returncode == 0, pushed.stderr
        yield f"{place}/tf-cluster"


@pytest.fixture(scope="module")
def release(make_release: Callable[[str], Release], values: Path, address: str) -> Release:
    """Installed by Helm 3 from the registry."""
    release = make_release(NAME)
    old = replace(release.namespace, helm_path=tool_path("helm3"))
    old.helm("install", NAME, address, "--plain-http", f"--values={values}")
    await_steps(release)
    return release


def await_steps(release: Release, beyond: int = 0) -> int:
    def steps() -> int:
        found = int(release.progress()["step"] or 0)
        return found if found > beyond else 0

    return eventually(f"steps beyond {beyond}", steps, 120)


def _pods(release: Release) -> set[str]:
    return {
        pod["metadata"]["uid"]
        for kind in ("chief", "worker", "ps")
        for pod in release.running(kind)
    }


def _specs(release: Release) -> dict[str, tuple[str, int]]:
    """UID and generation of the Jobs and Deployments: the second counts changes of a spec."""
    return {
        obj["metadata"]["name"]: (obj["metadata"]["uid"], obj["metadata"]["generation"])
        for obj in release.objects("job,deployment")
    }


def _chief(release: Release) -> Object:
    return release.one("job", "chief")


def resumed_at(release: Release) -> int:
    """The step that the running chief went on from. LookupError while it has not."""
    log = release.namespace.kubectl("logs", release.client()["metadata"]["name"])
    said = re.search(RESUMED, log)
    if not said:
        raise LookupError("it does not train yet")
    return int(said[1])


def _helm_test(release: Release) -> str:
    return release.namespace.helm("test", NAME, "--logs", "--timeout=4m")


def _red_helm_test(release: Release) -> str:
    """What it says. LookupError if it is green."""
    try:
        _helm_test(release)
    except CommandError as error:
        return str(error)
    raise LookupError("it is green")


def test_an_upgrade_from_the_released_package_with_a_pinned_image_restarts_nothing(
    release: Release, values: Path
) -> None:
    pods, specs, step = _pods(release), _specs(release), await_steps(release)
    label = _chief(release)["metadata"]["labels"]["helm.sh/chart"]
    release.upgrade(values)
    assert _chief(release)["metadata"]["labels"]["helm.sh/chart"] != label
    assert _specs(release) == specs
    await_steps(release, step)
    assert _pods(release) == pods


def test_helm_test_is_green_while_it_trains(release: Release) -> None:
    said = _helm_test(release)
    assert "every task answers by its name, on its ports" in said
    with pytest.raises(CommandError, match="NotFound"):
        release.namespace.kubectl("get", "pod", f"{NAME}-test")


@in_turn(turns.LIFE_CYCLE, of=2 * turns.OF)  # a red test looks for 90 s
def test_helm_test_is_red_when_a_service_or_the_configmap_is_wrong(release: Release) -> None:
    kubectl = release.namespace.kubectl

    def red(component: str) -> tuple[str, str]:
        """What it says while a Service has no pods, and the name of that Service."""
        (service,) = release.objects("service", component)
        name = service["metadata"]["name"]
        words = ("patch", "service", name, "--type=merge")
        kubectl(*words, f"--patch={json.dumps({'spec': {'selector': {'none': 'such'}}})}")
        said = eventually("a red test", lambda: _red_helm_test(release), 120)  # DNS remembers
        selector = {"none": None, **service["spec"]["selector"]}
        kubectl(*words, f"--patch={json.dumps({'spec': {'selector': selector}})}")
        return said, name

    said, service = red("chief")
    assert f"chief-0: no status from the Service at {service}" in said
    said, service = red("service")
    assert "worker-1: " in said and "DNS" in said, said
    (config,) = release.objects("configmap", "config")
    name, before = config["metadata"]["name"], config["data"]["training.json"]

    def write(text: str) -> None:
        patch = json.dumps({"data": {"training.json": text}})
        kubectl("patch", "configmap", name, "--type=merge", f"--patch={patch}")

    write(before.replace('"strategy"', '"stratgy"'))
    with pytest.raises(CommandError, match=r"the ConfigMap is wrong: .*stratgy"):
        _helm_test(release)
    write(before)
    assert "every task answers" in _helm_test(release)


def test_a_deadline_comes_and_goes_in_place(release: Release, values: Path) -> None:
    pods, uid = _pods(release), _chief(release)["metadata"]["uid"]
    release.upgrade(values, "run.deadlineSeconds=100000")
    job = _chief(release)
    assert (job["metadata"]["uid"], job["spec"]["activeDeadlineSeconds"]) == (uid, 100_000)
    release.upgrade(values)
    assert "activeDeadlineSeconds" not in _chief(release)["spec"]
    assert _pods(release) == pods


def test_a_rollback_after_a_good_upgrade_resumes(release: Release, values: Path) -> None:
    first = _chief(release)["metadata"]
    release.upgrade(values, "train.seed=2")
    eventually("the new attempt's start", lambda: resumed_at(release), 120)
    step = await_steps(release)
    release.namespace.helm("rollback", NAME)
    again = eventually("the first attempt's Job alone", lambda: _chief(release), 60)["metadata"]
    assert again["name"] == first["name"]
    assert again["uid"] != first["uid"]
    assert eventually("its start", lambda: resumed_at(release), 120) >= step
    await_steps(release, step)


@in_turn(turns.LIFE_CYCLE + turns.OF, of=2 * turns.OF)
def test_there_and_back_within_a_minute_loses_nothing(release: Release, values: Path) -> None:
    # Two pods have one host name while the first attempt's end.
    step, first = await_steps(release), _chief(release)["metadata"]
    release.upgrade(values, "train.seed=3")
    release.upgrade(values)
    again = eventually("the first attempt's Job alone", lambda: _chief(release), 60)["metadata"]
    assert again["name"] == first["name"]
    assert again["uid"] != first["uid"]
    assert eventually("its start", lambda: resumed_at(release), 120) >= step
    await_steps(release, step)
    assert not condition(_chief(release), "Failed"), release.story()


def test_at_the_deadline_it_is_saved_and_everything_ends(
    release: Release, values: Path, read_log_volume: Callable[[str, str], str]
) -> None:
    step = await_steps(release)
    release.upgrade(
        values,
        "run.deadlineSeconds=1",
        "cleanup.workersTimeoutSeconds=5",
        "cleanup.delaySeconds.failure=1",
    )
    failed = condition(release.await_job("chief", "Failed", 60), "Failed")
    assert failed is not None
    assert failed["reason"] == "DeadlineExceeded"
    # An exact end: the pods are gone.
    eventually("no task", lambda: not _pods(release), 120)
    progress = json.loads(read_log_volume(f"{NAME}-log", f"cat /log/{NAME}/1/progress.json"))
    assert progress["status"] == "stopped"
    assert progress["step"] == progress["checkpointStep"] >= step
    # One attempt higher goes on, and `helm test` is green when it is done.
    total = progress["step"] + 8
    release.upgrade(values, "run.attempt=2", f"train.steps={total}")
    release.await_job("chief", "Complete", 180)
    log = release.namespace.kubectl("logs", f"job/{_chief(release)['metadata']['name']}")
    resumed = re.search(RESUMED, log)
    assert resumed, log[-3000:]
    assert int(resumed[1]) == progress["step"]
    assert "the training is done" in _helm_test(release)
