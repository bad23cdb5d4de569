"""helm install to the first training step, against manifests written by hand, in one run.

Both use the same image, the same claims (made before) and the same model; a sample ends when the
chief has logged its first step, by the container's own timestamp on this machine's clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.measures import ROOT
from tests.bench.pairs import compare
from tests.bench.rows import Row, at_most, ratio_row
from tests.cluster.kubernetes import CommandError, Namespace, Release
from tests.cluster.machine_tools import tool_path
from tests.cluster.waiting import eventually

CHART = ROOT / "charts" / "tf-cluster"
BY_HAND = Path(__file__).parent / "by_hand"
IMAGE = "localhost/tf-cluster-trainer:0.1.0"
ENDLESS = 10_000_000


def install(kubeconfig: str, pairs: int) -> list[Row]:
    """Paired seconds from the command to the first step."""
    with namespace(kubeconfig) as there:
        claims(there)
        file = values("bench")
        numbers = iter(range(1000))
        compared = compare(
            lambda: _ours(there, file, f"ours{next(numbers)}"),
            lambda: _by_hand(there, f"hand{next(numbers)}"),
            pairs,
        )
    return [
        ratio_row(
            "`helm install` to the first training step (image present)",
            "manifests written by hand, `kubectl apply`",
            at_most(1.3),
            compared,
        )
    ]


def settings(name: str) -> tuple[str, str]:
    """A run of its own for each sample; preStop only makes the end of the sample longer."""
    return (f"run.id={name}", "ps.preStopSeconds=0")


def _ours(there: Namespace, file: Path, name: str) -> float:
    started = time.time()
    release = Release(there, name, CHART)
    release.install(file, *settings(name))
    chief = f"app.kubernetes.io/instance={name},app.kubernetes.io/component=chief"
    first = _first_step(there, chief)
    release.uninstall()
    gone(there, f"app.kubernetes.io/instance={name}")
    return first - started


def _by_hand(there: Namespace, name: str) -> float:
    script = (BY_HAND / "train.py").read_text()
    manifests = (BY_HAND / "manifests.yaml").read_text()
    manifests = manifests.replace("NAME", name).replace("IMAGE", IMAGE)
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": name}},
        "data": {"train.py": script},
    }
    everything = f"{json.dumps(config)}\n---\n{manifests.replace('STEPS', str(ENDLESS))}"
    started = time.time()
    there.kubectl("apply", "--filename=-", stdin=everything)
    first = _first_step(there, f"app={name},task=chief")
    there.kubectl("delete", "all,configmap", f"--selector=app={name}", "--wait=false")
    gone(there, f"app={name}")
    return first - started


def _first_step(there: Namespace, selector: str) -> float:
    """When the chief logged its first step, in seconds since the epoch."""

    def logged() -> float | None:
        try:
            text = there.kubectl("logs", f"--selector={selector}", "--timestamps", "--tail=200")
        except CommandError:
            return None
        for line in text.splitlines():
            if "first step" in line:
                return _epoch(line.split()[0])
        return None

    return eventually("the first step", logged, 120, every=0.2)


def _epoch(timestamp: str) -> float:
    whole, _, fraction = timestamp.rstrip("Z").partition(".")
    return datetime.fromisoformat(whole + "+00:00").timestamp() + float(f"0.{fraction or 0}")


def gone(there: Namespace, selector: str) -> None:
    """No pod is left, so the next sample has the machine to itself."""
    eventually(
        "pods to be gone",
        lambda: not there.kubectl("get", "pods", f"--selector={selector}", "--output=name"),
        120,
    )


def claims(there: Namespace) -> None:
    """Of the data and the log, for every release of a namespace."""
    for name in ("data", "log"):
        there.apply(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        )


def values(name: str, train: Mapping[str, Any] | None = None, **more: Any) -> Path:
    """Those of a training of the digits that never ends, with more params."""
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    source, made = folder / f"{name}.params.yaml", folder / f"{name}.values.yaml"
    document = {
        "name": name,
        "image": IMAGE,
        "program": {"module": "tf_cluster_trainer.examples.digits:Digits"},
        "train": {"steps": ENDLESS, **(train or {})},
        "data": {"claim": "data"},
        "log": {"claim": "log"},
        **more,
    }
    source.write_text(json.dumps(document))
    tool = str(Path(sys.executable).parent / "tf-cluster")
    subprocess.run((tool, "generate", str(source), "-o", str(made)), check=True)
    return made


@contextmanager
def namespace(kubeconfig: str) -> Iterator[Namespace]:
    """One of its own, which is removed in the end."""
    name = f"tf-bench-{uuid.uuid4().hex[:6]}"
    there = Namespace(name, kubeconfig, tool_path("kubectl"), tool_path("helm"))
    there.kubectl("create", "namespace", name)
    try:
        yield there
    finally:
        there.kubectl("delete", "namespace", name, "--wait=false")
