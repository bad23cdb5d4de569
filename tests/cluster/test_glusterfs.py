"""A training whose /data and /log are a replicated GlusterFS; one of its two copies is lost.

The servers are Debian's, the mount is FUSE on the node, the volumes are charts/tf-storage's.
"""

from __future__ import annotations

import filecmp
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.conftest import ROOT, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.programs import SLOWLY
from tests.support.gluster import Gluster, lacking
from tests.support.waiting import eventually
from tools.machine import packages
from tools.machine.failure import MachineError
from tools.machine.layout import default_layout

pytestmark = pytest.mark.cluster

NAME = "gluster"
VOLUMES = ("data", "log")
SUB_PATH = "team/vision"
STEPS = 700  # a minute


@pytest.fixture(scope="module")
def gluster(kube_config: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gluster]:
    """A GlusterFS that is mounted on the node, which has to be this machine."""
    layout = default_layout()
    if not Path(kube_config).is_relative_to(layout.state):
        pytest.skip("GlusterFS is mounted on this machine, and the cluster's nodes are others")
    if os.geteuid() == 0:
        try:
            packages.ensure(packages.GLUSTERFS, layout)
        except MachineError as error:
            pytest.skip(str(error))
    if missing := lacking():
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("gluster")
    # Below the machine's state: `make cluster-down` unmounts it, should we not come to that.
    gluster = Gluster(folder, layout.state / "volumes" / f"gluster-{os.getpid()}")
    try:
        gluster.start()
        yield gluster
    finally:
        gluster.stop()


@pytest.fixture
def volumes(gluster: Gluster, namespace: Namespace, tmp_path: Path) -> Iterator[dict[str, str]]:
    """A static volume for each claim of the release, as an administrator makes them."""
    names = {volume: f"{namespace.name}-{volume}" for volume in VOLUMES}
    values: dict[str, object] = {}
    for volume, name in names.items():
        folder = gluster.mount / volume
        folder.mkdir()
        # As docs/storage.md has it: the group is fsGroup's, and what is made below has it, too.
        os.chown(folder, 0, 1000)
        folder.chmod(0o2770)
        claim = {"namespace": namespace.name, "name": f"{NAME}-{volume}"}
        values[name] = {"hostPath": str(folder), "claim": claim, "capacity": "10Gi"}
    file = tmp_path / "volumes.json"
    file.write_text(json.dumps({"volumes": values}))
    chart = ROOT / "charts" / "tf-storage"
    namespace.helm("install", "volumes", str(chart), f"--values={file}")
    yield names
    namespace.kubectl(
        "delete", "pvc", "--ignore-not-found", *(f"{NAME}-{volume}" for volume in VOLUMES)
    )
    namespace.helm("uninstall", "volumes", "--wait")


def test_a_training_outlives_a_copy_of_its_volume(
    gluster: Gluster,
    volumes: dict[str, str],
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    tmp_path: Path,
) -> None:
    of_release = {
        volume: {
            "volume": name,
            "class": "",
            "size": "10Gi",
            "accessModes": ["ReadWriteMany"],
            "subPath": SUB_PATH,
        }
        for volume, name in volumes.items()
    }
    train = {"steps": STEPS, "checkpoint": {"seconds": 3}, "reportSeconds": 1}
    values = make_values(NAME, **SLOWLY, train=train, **of_release)
    release = make_release(NAME)
    notes = release.install(values)
    of_run = Path("log") / SUB_PATH / NAME / "1"

    def progress() -> dict[str, Any]:
        path = gluster.mount / of_run / "progress.json"
        return dict(json.loads(path.read_text())) if path.exists() else {}

    eventually("the first checkpoint", lambda: progress().get("checkpointStep"), 120)
    first, second = gluster.servers
    lost_at = progress()["step"]
    gluster.kill_brick(second)
    eventually("a checkpoint on one copy", lambda: progress()["checkpointStep"] > lost_at, 60)
    assert gluster.to_heal(first) > 0, "the second copy has missed what was written"
    assert not progress()["final"], "the copy was lost while it trained"
    _load_data(notes, release.namespace, tmp_path)

    release.await_job("chief", "Complete", 180)
    end = progress()
    assert (end["status"], end["restarts"]) == ("done", 0), end
    assert end["step"] >= STEPS > lost_at

    gluster.restart_brick(second)
    eventually(
        "both copies to be alike",
        lambda: [gluster.to_heal(server) for server in gluster.servers] == [0, 0],
        60,
    )
    left, right = (server.brick / of_run for server in (first, second))
    files = [path.relative_to(left) for path in left.rglob("*") if path.is_file()]
    assert any("export" in path.parts for path in files)
    _, other, missing = filecmp.cmpfiles(left, right, map(str, files), shallow=False)
    assert not other + missing
    for server in gluster.servers:
        assert (server.brick / "data" / SUB_PATH / "loaded.txt").read_text() == "loaded\n"
    release.uninstall()


def _load_data(notes: str, namespace: Namespace, folder: Path) -> None:
    """Do what the notes say of a new claim for data."""
    lines = notes.replace("\\\n", " ").splitlines()
    told = [line.strip() for line in lines if f"{NAME}-files" in line and line.startswith("    ")]
    run, wait, _, delete, load = told
    assert "cp data/." in load
    (folder / "data").mkdir()
    (folder / "data" / "loaded.txt").write_text("loaded\n")
    for line in (run, wait, load, delete):
        namespace.shell(line, folder)
