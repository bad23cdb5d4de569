"""What API servers of each Kubernetes that the chart is for say to what it renders.

The newest is the test cluster's own (tests/chart/test_api_server.py). An older one runs with etcd
alone: it takes objects or refuses them, and nobody acts on them.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, LEAST, RefusedError, Rendered, merged, template
from tests.cluster import turns
from tests.cluster.control_plane import STORAGE, control_plane
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.machine_tools import tool_path
from tests.slices import in_turn
from tools.machine import custom_resources
from tools.machine.tools import OLDER_KUBERNETES

# An older API server may first have to be built: 4 minutes of two cores, and of busy ones far more.
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(2400),
    in_turn(turns.OLDEST_KUBERNETES, of=turns.OF),
]

VERSIONS = [
    pytest.param(version, marks=() if version == OLDER_KUBERNETES[0] else pytest.mark.full)
    for version in OLDER_KUBERNETES
]
# How a guard says that a value needs a newer Kubernetes.
NEWER = re.compile(
    r"^(\S+)(?: needs Kubernetes | is first, which Kubernetes has from )(\d+)\.(\d+)"
)


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def namespace(
    version: str, etcd: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Namespace]:
    with control_plane(tmp_path_factory.mktemp("plane"), STORAGE, older=version) as plane:
        custom_resources.install(plane.layout)
        there = plane.namespace("versions")
        there.kubectl("create", "serviceaccount", "default")  # by a controller, elsewhere
        yield there


def test_it_is_that_version(version: str, namespace: Namespace) -> None:
    said = json.loads(namespace.kubectl("version", "--output=json"))
    assert said["serverVersion"]["gitVersion"] == f"v{version}"


def test_it_takes_every_object_without_a_warning(version: str, namespace: Namespace) -> None:
    absent = absent_kinds(namespace)
    assert not absent
    items = [
        item
        for feature in FEATURES.values()
        for item in json.loads(_rendered(feature, version).for_a_dry_run(absent))["items"]
    ]
    manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    for way in ((), ("--server-side",)):
        namespace.kubectl(
            *("apply", "--dry-run=server", "--warnings-as-errors", "--validate=strict", *way),
            "--filename=-",
            stdin=manifest,
        )


@pytest.mark.parametrize("helm", ["helm", "helm3"])
def test_everything_is_installed_upgraded_and_uninstalled(
    version: str, namespace: Namespace, helm: str, tmp_path: Path
) -> None:
    file = tmp_path / "values.json"
    file.write_text(json.dumps(_possible(FEATURES["everything"], version)))
    release = Release(replace(namespace, helm_path=tool_path(helm)), helm, CHART)
    release.install(file)
    first = _jobs(release)
    release.upgrade(file)
    assert _jobs(release) == first != {}
    release.uninstall()
    assert not _jobs(release)


def _jobs(release: Release) -> dict[str, str]:
    jobs = release.objects("job,deployment")
    return {job["metadata"]["name"]: job["metadata"]["uid"] for job in jobs}


def _rendered(feature: dict[str, Any], version: str) -> Rendered:
    return _render(_possible(feature, version), version)


def _render(values: dict[str, Any], version: str) -> Rendered:
    return template(json.dumps(values), "digits", "versions", str(CHART), kubernetes=version)


def _possible(feature: dict[str, Any], version: str) -> dict[str, Any]:
    """The feature's values without those that the chart says need a newer Kubernetes."""
    values: dict[str, Any] = copy.deepcopy(merged(LEAST, feature))
    while True:
        try:
            _render(values, version)
        except RefusedError as error:
            needed = NEWER.match(str(error))
            assert needed, error
            minor = int(version.split(".")[1])
            assert int(needed[3]) > minor, f"it has that already: {error}"
            _leave_out(values, needed[1].split("."))
        else:
            return values


def _leave_out(values: dict[str, Any], place: list[str]) -> None:
    for key in place[:-1]:
        values = values[key]
    del values[place[-1]]
    if place[-1] == "resourceClaims":  # which containers then can't name
        values.get("resources", {}).pop("claims", None)
