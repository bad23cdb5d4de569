"""submit: one at a time, nothing for which there is no room, and what is left when it is ended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cluster.conftest import IMAGE
from tests.cluster.fake_nodes import volume
from tests.cluster.kubernetes import Namespace
from tests.cluster.kwok_nodes import Nodes, kwok_nodes
from tests.cluster.operations.conftest import Tool
from tests.slices import in_turn
from tests.support.waiting import HANG_SECONDS, eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # some run helm five times

CPU = 4
"""Cores of each node. A training asks for one a task, so of two one finds room."""
LEASE = "tf-cluster-submit"


@pytest.fixture(scope="module")
def nodes(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    with kwok_nodes(namespace, tmp_path_factory.mktemp("kwok")) as nodes:
        nodes.add("first", CPU)
        yield nodes


class Trainings:
    """Values files of trainings of three tasks that no node runs, and what became of them."""

    def __init__(self, namespace: Namespace, nodes: Nodes, folder: Path) -> None:
        self._namespace, self._nodes, self._folder = namespace, nodes, folder

    def values(self, name: str, folder: Path | None = None, **more: Any) -> Path:
        """A values file."""
        one_core = {"resources": {"requests": {"cpu": "1", "memory": "64Mi"}}}
        storage_class = f"none-{self._namespace.name}"
        repository, _, tag = IMAGE.rpartition(":")
        values: dict[str, Any] = {
            "fullnameOverride": name,
            "image": {"repository": repository, "tag": tag},
            "program": {"module": "tf_cluster_trainer.examples.digits:Digits"},
            "pod": self._nodes.pods,
            **{role: dict(one_core) for role in ("chief", "worker", "ps")},
            "cleanup": {"enabled": False},
            "storage": {
                "data": {"enabled": False},
                "log": {"accessModes": ["ReadWriteMany"], "storageClassName": storage_class},
            },
        }
        values["worker"]["replicas"] = 1
        values.update(more)
        self._namespace.apply(volume(self._namespace, f"{name}-log", storage_class))
        path = (folder or self._folder) / f"{name}.params.yaml"
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(values))
        return path

    def remove(self, *names: str) -> None:
        """Uninstall them, and wait until no pod is left."""
        for name in names:
            self._namespace.helm("uninstall", name, "--ignore-not-found", "--wait")
        eventually("no pod", lambda: not self.pods(), 60)

    def pods(self) -> list[str]:
        """The names of all pods."""
        return self._namespace.kubectl("get", "pods", "--output=name").split()

    def releases(self) -> set[str]:
        """The names of all releases, those that are half made too."""
        names = "--output=jsonpath={.items[*].metadata.labels.name}"
        return set(self._namespace.kubectl("get", "secrets", "-l", "owner=helm", names).split())


@pytest.fixture(scope="module")
def trainings(
    namespace: Namespace, nodes: Nodes, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Trainings]:
    yield Trainings(namespace, nodes, tmp_path_factory.mktemp("files"))
    mine = namespace.kubectl("get", "persistentvolumes", "--output=name").split()
    for name in mine:
        if f"/{namespace.name}-" in name:
            namespace.kubectl("delete", name, "--wait=false")


def _holder(namespace: Namespace) -> str:
    path = "--output=jsonpath={.spec.holderIdentity}"
    return namespace.kubectl("get", "lease", LEASE, path, "--ignore-not-found").strip()


@pytest.fixture
def slow(tmp_path: Path, namespace: Namespace) -> str:
    """A PATH whose helm stays in the middle of its work until it is interrupted."""
    helm = tmp_path / "bin" / "helm"
    helm.parent.mkdir()
    helm.write_text(
        f"#!/bin/sh\n[ $1 = version ] && exec {namespace.helm_path} version --short\n"
        f"trap 'echo interrupted > {tmp_path}/interrupted; exit 1' INT\n"
        f"echo $$ > {tmp_path}/began\nwhile :; do sleep 0.2; done\n"
    )
    helm.chmod(0o755)
    return f"{helm.parent}:{os.environ['PATH']}"


@pytest.mark.parametrize(
    "races", [pytest.param(2, id="few"), pytest.param(200, id="many", marks=pytest.mark.full)]
)
@pytest.mark.timeout(7200)
def test_of_two_at_once_for_room_that_one_fills_one_is_submitted(
    races: int, trainings: Trainings, tool: Tool
) -> None:
    files = [trainings.values(name) for name in ("left", "right")]
    for _ in range(races):
        both = [tool.started("submit", str(file)) for file in files]
        codes = sorted(one.wait(HANG_SECONDS) for one in both)
        assert codes == [0, 1], [one.communicate() for one in both]
        assert len(trainings.releases()) == 1
        assert len(trainings.pods()) == 3
        trainings.remove("left", "right")


def test_what_does_not_fit_is_told_and_not_made(trainings: Trainings, tool: Tool) -> None:
    never = trainings.values("never", worker={"resources": {"requests": {"cpu": "100"}}})
    ran = tool.ran("submit", str(never), "-o", "json", code=1)
    told = ran.stderr
    assert "never does not fit, and never will" in told
    (row,) = json.loads(ran.stdout)["trainings"]
    assert (row["name"], row["outcome"], row["pods"]) == ("never", "doesNotFit", None)
    assert "too little cpu" in row["why"]
    assert "too little cpu (asks for 100, most left: " in told
    answer = json.loads(tool.ran("preflight", str(never), "-o", "json", code=1).stdout)
    assert (answer["verdict"], answer["when"]) == ("doesNotFit", "never")
    assert trainings.releases() == set()


@in_turn(0, of=3)
def test_it_waits_for_room_and_takes_it(trainings: Trainings, tool: Tool, nodes: Nodes) -> None:
    tool("submit", str(trainings.values("first")))
    second = str(trainings.values("second"))
    assert "second does not fit now: " in tool.ran("submit", second, code=1).stderr
    waits = tool.started("submit", second, "--wait", "200s")
    with pytest.raises(subprocess.TimeoutExpired):
        waits.wait(5)
    trainings.remove("first")
    assert waits.wait(HANG_SECONDS) == 0
    assert trainings.releases() == {"second"}
    trainings.remove("second")


@in_turn(2, of=3)
def test_of_two_under_a_quota_that_one_fills_one_waits(
    trainings: Trainings, tool: Tool, namespace: Namespace
) -> None:
    """Installed by helm at once, each could have a part of it, and neither would train."""
    little = {"resources": {"requests": {"cpu": "10m", "memory": "16Mi"}}}
    roles = {"chief": little, "ps": little, "worker": {**little, "replicas": 1}}
    files = {name: trainings.values(name, **roles) for name in ("one", "two")}
    namespace.kubectl("create", "quota", "narrow", "--hard=pods=4")
    submits = {
        name: tool.started("submit", str(file), "--wait", "200s") for name, file in files.items()
    }
    try:
        (first,) = eventually(
            "one", lambda: [name for name, one in submits.items() if one.poll() == 0], 120
        )
        (second,) = submits.keys() - {first}
        assert trainings.releases() == {first}
        assert len(trainings.pods()) == 3
        namespace.helm("uninstall", first, "--wait")
        assert submits[second].wait(HANG_SECONDS) == 0
        assert trainings.releases() == {second}
        eventually("its pods alone", lambda: len(trainings.pods()) == 3, 60)
    finally:
        for one in submits.values():
            one.kill()
        trainings.remove(*files)
        namespace.kubectl("delete", "quota", "narrow")


def test_of_a_folder_nothing_is_made_where_one_file_is_bad_and_too_many_may_not_wait(
    trainings: Trainings, tool: Tool, tmp_path: Path
) -> None:
    folder = tmp_path / "nightly"
    for name in ("aa", "bb", "cc"):
        trainings.values(name, folder)
    bad = folder / "zz.params.yaml"
    bad.write_text("name: zz\nworkers: many\n")
    tool.ran("submit", str(folder), code=1)
    assert trainings.releases() == set()
    bad.unlink()
    ran = tool.ran("submit", str(folder), "--anyway", "-o", "json", code=1)
    told = ran.stderr
    assert "bb waits for nodes (--max-waiting 1)" in told
    rows = json.loads(ran.stdout)["trainings"]
    assert [(row["name"], row["outcome"]) for row in rows] == [
        ("aa", "submitted"),
        ("bb", "submitted"),
        ("cc", "doesNotFit"),
    ]
    assert rows[0]["pods"] == {"made": 3, "wanted": 3}
    assert "bb waits for nodes" in rows[2]["why"]
    assert "not submitted: cc" not in told, "cc is the one that is refused"
    assert trainings.releases() == {"aa", "bb"}
    trainings.remove("aa", "bb")


def test_a_killed_holder_loses_the_lock_and_no_other_does(
    trainings: Trainings, tool: Tool, namespace: Namespace, slow: str, tmp_path: Path
) -> None:
    first, second = str(trainings.values("killed")), str(trainings.values("after"))
    holds = _started(tool, slow, first)
    eventually("helm", lambda: (tmp_path / "began").exists(), 60)
    holder = _holder(namespace)
    assert f":{holds.pid}:" in holder
    waits = tool.started("submit", second)
    with pytest.raises(subprocess.TimeoutExpired):
        waits.wait(20)  # it is renewed: longer than it lasts, and still nobody else's
    assert _holder(namespace) == holder
    holds.kill()
    os.kill(int((tmp_path / "began").read_text()), signal.SIGKILL)
    assert waits.wait(HANG_SECONDS) == 0
    assert trainings.releases() == {"after"}
    assert _holder(namespace) == ""
    trainings.remove("after")


def test_an_interrupted_submit_names_the_release_and_gives_the_lock_back(
    trainings: Trainings, tool: Tool, namespace: Namespace, slow: str, tmp_path: Path
) -> None:
    process = _started(tool, slow, str(trainings.values("broken")))
    eventually("helm", lambda: (tmp_path / "began").exists(), 60)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert "release broken may be half made: helm status broken" in told
    assert (tmp_path / "interrupted").exists()
    assert _holder(namespace) == ""


def test_helm_is_interrupted_when_the_lock_is_lost(
    trainings: Trainings, tool: Tool, namespace: Namespace, slow: str, tmp_path: Path
) -> None:
    process = _started(tool, slow, str(trainings.values("robbed")))
    eventually("helm", lambda: (tmp_path / "began").exists(), 60)
    stolen = json.dumps({"spec": {"holderIdentity": "somebody"}})
    namespace.kubectl("patch", "lease", LEASE, "--type=merge", f"--patch={stolen}")
    _, told = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 2
    assert "could not be renewed: another may submit by now" in told
    assert (tmp_path / "interrupted").exists()
    assert _holder(namespace) == "somebody"
    namespace.kubectl("delete", "lease", LEASE)


@in_turn(1, of=3)
def test_a_release_that_a_killed_helm_has_left_is_named_and_mended_on_request(
    trainings: Trainings, tool: Tool, namespace: Namespace
) -> None:
    file = trainings.values("stuck")
    tool("submit", str(file))
    words = (namespace.helm_path, "upgrade", "stuck", "charts/tf-cluster", f"--values={file}")
    helm = subprocess.Popen(
        (*words, "--set=run.attempt=2", "--set=worker.replicas=9", "--wait", "-n", namespace.name),
        env=tool.environment,
        stdout=subprocess.DEVNULL,
    )
    selector = "--selector=owner=helm,name=stuck,status=pending-upgrade"
    eventually(
        "the note", lambda: namespace.kubectl("get", "secrets", selector, "--output=name"), 60
    )
    helm.kill()
    helm.wait()
    told = tool.ran("submit", str(file), code=2).stderr
    assert "release stuck is pending-upgrade since" in told and "--mend" in told
    tool("submit", str(file), "--mend")
    status = json.loads(namespace.helm("status", "stuck", "--output=json"))["info"]["status"]
    assert status == "deployed"
    eventually("its three pods", lambda: len(trainings.pods()) == 3, 60)
    trainings.remove("stuck")


def test_a_release_with_other_trainings_is_not_replaced(
    trainings: Trainings, tool: Tool, namespace: Namespace, tmp_path: Path
) -> None:
    one = yaml.safe_load(trainings.values("ours").read_text())
    other = {**one, "nameOverride": "other", "fullnameOverride": "other"}
    chart = tmp_path / "umbrella"
    (chart / "charts").mkdir(parents=True)
    for name in ("tf-cluster", "other"):
        shutil.copytree("charts/tf-cluster", chart / "charts" / name, symlinks=True)
    theirs = chart / "charts" / "other" / "Chart.yaml"
    theirs.write_text(theirs.read_text().replace("name: tf-cluster", "name: other", 1))
    (chart / "Chart.yaml").write_text("apiVersion: v2\nname: umbrella\nversion: 1.0.0\n")
    trainings.values("other")
    values = tmp_path / "umbrella.yaml"
    values.write_text(yaml.safe_dump({"tf-cluster": one, "other": other}))
    namespace.helm("install", "both", str(chart), f"--values={values}")
    file = str(trainings.values("ours"))
    told = tool.ran("submit", file, "--release", "both", code=2).stderr
    assert "release both has job/other-" in told and "Helm would remove it" in told
    trainings.remove("both")


def _started(tool: Tool, path: str, file: str) -> subprocess.Popen[str]:
    return tool.started("submit", file, PATH=path)
