"""Failures caused on the real cluster: the doctor names each, and the right object."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.doctor.finding import Finding

from tests.cluster.conftest import CHART, RESTRICTED, MakeValues
from tests.cluster.kubernetes import WAIT_SECONDS, Namespace, Object, Release
from tests.cluster.operations.diagnosis import diagnosed, findings, seen
from tests.cluster.operations.failures import (
    ALL_REDUCE,
    BOUNDED,
    EMPTY,
    FAILURES,
    FULL,
    HOOKED,
    JUDGED,
    LOGIN,
    MESHED,
    OPEN,
    REGISTRY,
    UNHOOKED,
    UNSAID,
    Failure,
    laid_over,
    mesh_policy,
    removed_class,
    tainted_node,
    webhook,
    worker_policy,
)
from tests.support.registry import running_registry
from tests.support.waiting import eventually
from tests.support.webhook import refusing_webhook
from tools.machine.layout import default_layout

pytestmark = pytest.mark.cluster

OF_THE_COMMAND = "no-claim"
_GOOD: dict[str, Any] = {"workers": 1, "train": {"steps": 100}}
# Seconds: in the first two minutes nothing is said of whom a chief waits for.
WAITS_OF_THE_GATE = 240
GONE = {"service": {"name": "gone", "namespace": "default", "path": "/"}}
RULES: Mapping[str, list[Object]] = {
    OPEN: [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": EMPTY}}],
    FULL: [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "few"},
            "spec": {"hard": {"pods": "1"}},
        }
    ],
    UNSAID: [
        {
            "apiVersion": "v1",
            "kind": "ResourceQuota",
            "metadata": {"name": "cpus"},
            "spec": {"hard": {"limits.cpu": "10"}},
        }
    ],
    BOUNDED: [
        {
            "apiVersion": "v1",
            "kind": "LimitRange",
            "metadata": {"name": "small"},
            "spec": {"limits": [{"type": "Container", "max": {"memory": "300Mi"}}]},
        }
    ],
}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What a failure of this machine needs: a webhook that refuses, and two registries."""
    folders = [tmp_path_factory.mktemp(name) for name in ("hook", "registry", "login")]
    with (
        refusing_webhook(folders[0], "no hats here") as hook,
        running_registry(folders[1]) as registry,
        running_registry(folders[2], asks_for_a_login=True) as login,
    ):
        yield {HOOKED: hook, REGISTRY: registry, LOGIN: login}


@pytest.fixture(scope="module")
def namespaces(
    kube_cluster: Any,
    kube_config: str,
    kubectl_path: str,
    helm_path: str,
    namespace_factory: Any,
    servers: dict[str, Any],
) -> Iterator[dict[str, Namespace]]:
    made = {}
    run = uuid.uuid4().hex[:8]
    policies: list[Object] = []
    for kind in (OPEN, FULL, UNSAID, BOUNDED, JUDGED, MESHED, HOOKED, UNHOOKED):
        name = f"tf-{kind}-{run}"
        namespace_factory(name, extra_metadata=RESTRICTED)
        made[kind] = Namespace(name, kube_config, kubectl_path, helm_path)
        for rule in RULES.get(kind, ()):
            made[kind].apply(rule)
    for policy in (
        *worker_policy(f"tf-judge-{run}", made[JUDGED].name),
        *mesh_policy(f"tf-mesh-{run}", made[MESHED].name),
        webhook(f"tf-hook-{run}", made[HOOKED].name, servers[HOOKED]),
        webhook(f"tf-no-hook-{run}", made[UNHOOKED].name, GONE),
        tainted_node(f"tf-tainted-{run}"),
        removed_class(),
    ):
        made[OPEN].apply(policy)
        policies.append(policy)
    for broken in _broken_claim(f"tf-broken-{run}"):
        made[OPEN].apply(broken)
    policies.append(_broken_claim(f"tf-broken-{run}")[0])
    yield made
    for policy in reversed(policies):
        made[OPEN].kubectl("delete", policy["kind"], policy["metadata"]["name"], "--wait=false")
    names = [one.name for one in made.values()]
    made[OPEN].kubectl("delete", "namespace", *names, "--timeout=6m", seconds=WAIT_SECONDS)


def _broken_claim(volume: str) -> list[Object]:
    """A claim whose volume is a folder that its node does not have."""
    on_a_node = {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]}
    claim = {"accessModes": ["ReadWriteOnce"], "storageClassName": ""}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": volume},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "capacity": {"storage": "1Gi"},
                "local": {"path": "/nowhere/at/all"},
                "nodeAffinity": {
                    "required": {"nodeSelectorTerms": [{"matchExpressions": [on_a_node]}]}
                },
            },
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": "broken"},
            "spec": {
                **claim,
                "volumeName": volume,
                "resources": {"requests": {"storage": "1Gi"}},
            },
        },
    ]


@pytest.fixture(scope="module")
def releases(
    namespaces: dict[str, Namespace],
    servers: dict[str, Any],
    make_values: MakeValues,
    request: pytest.FixtureRequest,
) -> Iterator[dict[str, Release]]:
    """All failures that are looked at, at once: most of them only wait."""
    wanted = {OF_THE_COMMAND}
    for item in request.session.items:
        if isinstance(item, pytest.Function) and item.module is request.module:
            callspec = getattr(item, "callspec", None)
            failure = callspec.params.get("failure") if callspec else None
            wanted |= {failure.name} if isinstance(failure, Failure) else set()
    good = {
        with_ps: yaml.safe_load(make_values("good", **_GOOD, **strategy).read_text())
        for with_ps, strategy in ((True, {}), (False, ALL_REDUCE))
    }
    for one in good.values():
        one.pop("fullnameOverride")
    made = {}
    for failure in (one for one in FAILURES if one.name in wanted):
        release = Release(namespaces[failure.namespace], failure.name, CHART)
        values = make_values(failure.name)
        text = yaml.safe_dump(laid_over(good[failure.with_ps], failure.values))
        for word in (REGISTRY, LOGIN):
            text = text.replace(f"{word}/", f"{servers[word]}/")
        values.write_text(text)
        release.install(values)
        if failure.then:
            release.namespace.kubectl(*failure.then)
        made[failure.name] = release
    yield made
    for release in made.values():
        release.uninstall()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.name)
def test_a_failure_is_named_with_its_object(
    failure: Failure, releases: dict[str, Release], kube_config: str
) -> None:
    if failure.here and kube_config != str(default_layout().kubeconfig):
        pytest.skip("KUBECONFIG names another cluster, which does not reach this machine's servers")
    release = releases[failure.name]

    def found() -> Finding:
        return diagnosed(release, failure.code, failure.later, failure.words)

    seconds = WAITS_OF_THE_GATE if failure.code == "TFD114" else 90
    one = eventually(f"{failure.code} of {failure.name}", found, seconds, every=2)
    assert one.about.startswith(failure.about)
    assert one.quote
    assert one.mend


def test_the_command_says_it_and_a_file_of_it_says_the_same(
    releases: dict[str, Release], tmp_path: Path
) -> None:
    release = releases[OF_THE_COMMAND]
    eventually("TFD109", lambda: "TFD109" in [one.code for one in findings(seen(release))], 60)

    def doctor(*words: str) -> tuple[int, str]:
        tool = Path(sys.executable).parent / "tf-cluster"
        environment = {**os.environ, "KUBECONFIG": release.namespace.kubeconfig}
        command = (str(tool), "doctor", *words)
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        return done.returncode, done.stdout

    saved = tmp_path / "snapshot.json"
    where = ("--namespace", release.namespace.name)
    code, said = doctor(OF_THE_COMMAND, *where, "--save", str(saved))
    assert code == 1
    assert "no-claim: TFD109: persistentvolumeclaim/nowhere: there is no claim nowhere" in said
    assert doctor("--from", str(saved)) == (1, said)
    code, document = doctor("--from", str(saved), "--output", "json")
    assert code == 1
    (training,) = json.loads(document)["trainings"]
    assert "TFD109" in [one["code"] for one in training["findings"]]
