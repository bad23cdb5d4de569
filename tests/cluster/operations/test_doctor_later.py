"""What goes wrong with trainings that ran well: the doctor was silent, and names it then."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.doctor.finding import Finding

from tests.cluster import turns
from tests.cluster.conftest import REQUESTS, MakeValues
from tests.cluster.kubernetes import CommandError, Release
from tests.cluster.operations.diagnosis import diagnosed, findings, seen
from tests.cluster.operations.failures import ALL_REDUCE, laid_over
from tests.programs import ENDLESS, SLOWLY
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(turns.DOCTOR_LATER, of=turns.OF)]

STRATEGIES: dict[str, dict[str, Any]] = {
    "healthy-ps": {
        "replication": "between-graph",
        "update": "sync",
        "small": False,
        "resources": {"worker": REQUESTS, "ps": REQUESTS},
    },
    "healthy-ring": ALL_REDUCE,
}
REFUSED = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "refused"},
    "spec": {},
}
# The children of the container's first process.
SIGNAL = """
import os, signal, sys
for name in filter(str.isdecimal, os.listdir("/proc")):
    if open(f"/proc/{name}/stat").read().rpartition(")")[2].split()[1] == "1":
        os.kill(int(name), getattr(signal, sys.argv[1]))
"""


@pytest.fixture(scope="module")
def living(make_release: Callable[[str], Release], make_values: MakeValues) -> Release:
    release = make_release("living")
    release.install(make_values("living", **SLOWLY, workers=2, train={"steps": ENDLESS}))
    eventually("the first steps", lambda: (release.progress()["step"] or 0) > 0, 120)
    return release


@pytest.fixture(scope="module")
def values(make_values: MakeValues) -> Path:
    return make_values("living", **SLOWLY, workers=2, train={"steps": ENDLESS})


def said(release: Release, code: str, later: float = 0.0) -> Callable[[], Finding]:
    """A look for a finding."""
    return lambda: diagnosed(release, code, later)


def test_nothing_is_said_of_one_that_trains(living: Release) -> None:
    eventually("no finding", lambda: findings(seen(living)) == [], 60)


@pytest.mark.parametrize("name", STRATEGIES)
def test_nothing_is_said_from_its_first_step_to_its_end(
    name: str, make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release(name)
    release.install(make_values(name, **STRATEGIES[name], workers=2, train={"steps": 300}))
    eventually("steps", lambda: (release.progress()["step"] or 0) > 0, 120)
    assert findings(seen(release)) == []
    release.await_job("worker", "Complete", 180)
    assert findings(seen(release)) == []
    release.uninstall()


def test_one_that_stands_still(living: Release) -> None:
    chief = living.client()["metadata"]["name"]

    def tell(name: str) -> None:
        living.namespace.kubectl("exec", chief, "--", "python", "-c", SIGNAL, name)

    tell("SIGSTOP")
    try:
        found = eventually("TFD120", said(living, "TFD120", later=900), 60)
    finally:
        tell("SIGCONT")
    assert found.about == f"pod/{chief}"
    assert "no step for" in found.words


def test_a_worker_that_is_evicted(living: Release) -> None:
    pod = eventually("worker 1", lambda: living.worker(1), 60)["metadata"]["name"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": living.namespace.name},
    }
    path = f"/api/v1/namespaces/{living.namespace.name}/pods/{pod}/eviction"
    living.namespace.kubectl("create", "--raw", path, "--filename=-", stdin=json.dumps(eviction))
    found = eventually("TFD117", said(living, "TFD117"), 60, every=0.2)
    assert found.about == f"pod/{pod}"
    assert "its node was drained" in found.words


def test_an_upgrade_that_failed_half_way(living: Release, values: Path, tmp_path: Path) -> None:
    misplaced = tmp_path / "values.yaml"
    # Helm makes an Ingress after the Jobs, and the API server refuses this one.
    wrong = {"chief": {"nodeSelector": {"disk": "golden"}}, "extraObjects": [REFUSED]}
    misplaced.write_text(yaml.safe_dump(laid_over(yaml.safe_load(values.read_text()), wrong)))
    with pytest.raises(CommandError, match="must be specified"):
        living.upgrade(misplaced)
    found = eventually("TFD123", said(living, "TFD123", later=900), 60)
    assert "beside the newer" in found.words
    codes = [one.code for one in findings(seen(living))]
    assert "TFD107" in codes
    assert "TFD126" in codes

    (job,) = (job for job in seen(living).trainings[0].jobs if _is_new_chief(living, job.name))
    patch = json.dumps({"spec": {"suspend": True}})
    living.namespace.kubectl("patch", "job", job.name, "--type=merge", f"--patch={patch}")
    found = eventually("TFD125", said(living, "TFD125"), 60)
    assert found.about == f"job/{job.name}"
    living.namespace.helm("rollback", living.name)


def _is_new_chief(release: Release, name: str) -> bool:
    return "-chief-" in name and name.endswith(seen(release).trainings[0].attempt)


def test_a_helm_that_was_killed(living: Release, values: Path) -> None:
    namespace = living.namespace
    command = (
        namespace.helm_path,
        f"--namespace={namespace.name}",
        *("upgrade", living.name, str(living.chart), f"--values={values}"),
        *("--set=run.attempt=2", "--set=chief.nodeSelector.disk=golden", "--wait"),
    )
    environment = {"KUBECONFIG": namespace.kubeconfig, "PATH": "/usr/bin:/bin", "HOME": "/tmp"}
    upgrade = subprocess.Popen(command, env=environment)
    try:

        def pending() -> bool:
            return any(one.status == "pending-upgrade" for one in seen(living).releases)

        eventually("a pending upgrade", pending, 60, every=0.2)
    finally:
        upgrade.send_signal(signal.SIGKILL)
        upgrade.wait()
    found = eventually("TFD126", said(living, "TFD126", later=900), 30)
    assert found.about == f"release/{living.name}"
    assert "helm upgrade has not ended" in found.words
