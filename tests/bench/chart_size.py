"""The chart at 1,000 workers and 250 ps: the time to render it, and what Kubernetes has to keep."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Iterator

import yaml

from tests.bench.install import CHART, namespace
from tests.bench.measure import Measure, Sample
from tests.bench.pairs import in_pairs
from tests.bench.rows import Bar, Figure, Ratio, at_most
from tests.cluster.machine_tools import tool_path

SIZES = {"1,000 workers, 250 ps": (1_000, 250), "10 workers, 2 ps": (10, 2)}
NAMES = ("1,000 workers, 250 ps", "10 workers, 2 ps")
LARGE = "with 1,000 workers and 250 ps"
# Of one sample: one rendering is so short that its user time is mostly chance.
RENDERED = 5
KIB, MIB = 1 << 10, 1 << 20


def _render_times(count: int) -> Iterator[Sample]:
    """Seconds of user time for RENDERED times `helm template`, large and small in turn."""
    large, small = (_template(*SIZES[name]) for name in NAMES)
    yield from in_pairs(lambda: _user_time(large), lambda: _user_time(small), count, NAMES)


def _template(workers: int, ps: int) -> tuple[str, ...]:
    return (tool_path("helm"), "template", "digits", str(CHART), *_settings(workers, ps))


def _settings(workers: int, ps: int) -> tuple[str, ...]:
    return (
        "--set=image.repository=registry.example/tf-cluster-trainer",
        "--set=program.module=example.digits:Digits",
        f"--set=worker.replicas={workers},ps.replicas={ps}",
    )


def _user_time(command: tuple[str, ...]) -> float:
    before = os.times().children_user
    for _ in range(RENDERED):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return os.times().children_user - before


def _config_map(count: int) -> Iterator[Sample]:
    """KiB of the ConfigMap's texts."""
    command = (*_template(*SIZES[NAMES[0]]), "--show-only=templates/config/config-configmap.yaml")
    for _ in range(count):
        text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        data = yaml.safe_load(text)["data"]
        yield {"ConfigMap": sum(len(part.encode()) for part in data.values()) / KIB}


def _release_secret(count: int, kubeconfig: str) -> Iterator[Sample]:
    """Per cent of the 1 MiB of a Secret that Helm's record of the release takes.

    It is read from a real release. A quota lets no pod be made of it.
    """
    for _ in range(count):
        with namespace(kubeconfig) as there:
            hard = {"pods": "0", "persistentvolumeclaims": "2"}
            quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
            there.apply({**quota, "spec": {"hard": hard}})
            there.helm("install", "digits", str(CHART), *_settings(*SIZES[NAMES[0]]))
            name = "sh.helm.release.v1.digits.v1"
            secret = json.loads(there.kubectl("get", "secret", name, "--output=json"))
            there.helm("uninstall", "digits")
            record = base64.b64decode(secret["data"]["release"])
            yield {"Secret": 100 * len(record) / MIB}


MEASURES = {
    "chart-render": Measure(
        _render_times,
        15,
        1,
        dict.fromkeys(NAMES, "s"),
        [
            Ratio(
                f"user time of {RENDERED} × `helm template`, {NAMES[0]}",
                NAMES[1],
                at_most(3),
                NAMES,
            )
        ],
    ),
    "chart-config": Measure(
        _config_map,
        1,
        0.1,
        {"ConfigMap": "KiB"},
        [Figure(f"ConfigMap {LARGE}", Bar("≤ 8 KiB", 8.0), ("ConfigMap",), counted=True)],
    ),
    "chart-secret": Measure(
        _release_secret,
        1,
        1,
        {"Secret": "% of 1 MiB"},
        [
            Figure(
                f"Helm's record of a release {LARGE}",
                Bar("≤ 8 % of 1 MiB", 8.0),
                ("Secret",),
                counted=True,
            )
        ],
        on_cluster=True,
    ),
}
