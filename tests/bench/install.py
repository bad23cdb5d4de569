"""helm install to the first training step, against manifests written by hand, in one run.

Both use the same image, the same claims (made before), the same model and data; a sample ends
when the chief has logged its first step, by the container's own timestamp on this machine's clock.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.bench.hand_run import BY_HAND
from tests.bench.measure import Measure, Sample
from tests.bench.origin import ROOT
from tests.bench.pairs import NAMES, in_pairs
from tests.bench.rows import Ratio, at_most
from tests.cluster.kubernetes import CommandError, Namespace, Object, Release
from tests.cluster.machine_tools import tool_path
from tests.programs import ENDLESS
from tests.support.waiting import eventually

CHART = ROOT / "charts" / "tf-cluster"
IMAGE = "localhost/tf-cluster-trainer:0.1.0"
SCRIPT = ("in_graph_async.py", "digits", "1")
COMMAND = ("python3", "-u", f"/script/{SCRIPT[0]}", *SCRIPT[1:])
SCRIPT_FILES = (SCRIPT[0], "telling.py", "digits.py")


def _take(count: int, kubeconfig: str) -> Iterator[Sample]:
    """Paired seconds from the command to the first step."""
    with namespace(kubeconfig) as there:
        claims(there)
        file = values("bench")
        numbers = iter(range(2 * count))
        yield from in_pairs(
            lambda: install(there, file, f"ours{next(numbers)}", "first step"),
            lambda: _by_hand(there, f"hand{next(numbers)}"),
            count,
        )


def settings(name: str) -> tuple[str, str]:
    """A run of its own for each sample; preStop only makes the end of the sample longer."""
    return (f"run.id={name}", "ps.preStopSeconds=0")


def install(there: Namespace, file: Path, name: str, words: str) -> float:
    """Seconds from `helm install` to the chief's line with these words; nothing is left of it."""
    started = time.time()
    release = Release(there, name, CHART)
    release.install(file, *settings(name))
    chief = f"app.kubernetes.io/instance={name},app.kubernetes.io/component=chief"
    first = first_step(there, chief, words)
    release.uninstall()
    gone(there, f"app.kubernetes.io/instance={name}")
    return first - started


def _by_hand(there: Namespace, name: str) -> float:
    mine = f"app={name}"
    removed = ("all,configmap", f"--selector={mine}")
    return applied(there, manifests(name), mine, "task=chief", removed)


def applied(
    there: Namespace, manifests: str, pods: str, chief: str, removed: Sequence[str]
) -> float:
    """Seconds from `kubectl apply` to the chief's first step; nothing is left of it.

    `pods` is a selector of them, which `chief` narrows; `removed` are words of `kubectl delete`.
    """
    started = time.time()
    there.kubectl("apply", "--filename=-", stdin=manifests)
    first = first_step(there, f"{pods},{chief}", "step ")
    there.kubectl("delete", *removed, "--wait=false")
    gone(there, pods)
    return first - started


def manifests(name: str) -> str:
    """All objects by hand, as YAML: two workers, one ps and a chief with the program of the rates.

    As ours does at first, it makes one step a call.
    """
    cluster = {
        "chief": [f"{name}-chief.{name}:2222"],
        "ps": [f"{name}-ps-0.{name}:2222"],
        "worker": [f"{name}-worker-{index}.{name}:2222" for index in range(2)],
    }
    return filled("manifests.yaml", name, COMMAND=json.dumps(COMMAND), CLUSTER=json.dumps(cluster))


def filled(file: str, name: str, **words: str) -> str:
    """A file by hand with these words, its name and the image filled in, and the script's map."""
    text = (BY_HAND / file).read_text()
    for word, meant in {"NAME": name, "IMAGE": IMAGE, **words}.items():
        text = re.sub(rf"\b{word}\b", meant, text)
    return f"{json.dumps(script_map(name))}\n---\n{text}"


def script_map(name: str) -> Object:
    """The ConfigMap with the script by hand and what it imports."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": name}},
        "data": {file: (BY_HAND / file).read_text() for file in SCRIPT_FILES},
    }


def first_step(there: Namespace, selector: str, words: str) -> float:
    """When the chief logged these words of its first step, in seconds since the epoch."""

    def logged() -> float | None:
        try:
            text = there.kubectl("logs", f"--selector={selector}", "--timestamps", "--tail=200")
        except CommandError:
            return None
        for line in text.splitlines():
            if words in line:
                return epoch(line.split()[0])
        return None

    return eventually("the first step", logged, 120, every=0.2)


def epoch(timestamp: str) -> float:
    """Seconds since the epoch of a container's timestamp."""
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
    """Of the data and the log, for every release of a namespace, and their volumes are made."""
    names = ("data", "log")
    for name in names:
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
    # A volume is made for the first pod that mounts it: else the first sample waits for that.
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in names]
    there.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "first"},
            "spec": {
                "restartPolicy": "Never",
                "containers": [
                    {"name": "first", "image": IMAGE, "command": ["true"], "volumeMounts": mounts}
                ],
                "volumes": [
                    {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in names
                ],
            },
        }
    )
    there.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/first", "--timeout=90s")
    there.kubectl("delete", "pod/first")


def values(name: str, train: Mapping[str, Any] | None = None, **more: Any) -> Path:
    """Those of a training of the digits that never ends, with more params."""
    program = {"module": "tf_cluster_trainer.examples.digits:Digits"}
    return _generated(name, program=program, train={"steps": ENDLESS, **(train or {})}, **more)


def script_values(name: str) -> Path:
    """Those of a training by the script by hand."""
    source = {"files": list(SCRIPT_FILES)}
    program = {"source": source, "script": SCRIPT[0], "args": [*SCRIPT[1:]]}
    return _generated(name, SCRIPT_FILES, program=program)


def _generated(name: str, beside: Sequence[str] = (), **params: Any) -> Path:
    folder = ROOT / "build" / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    for file in beside:
        shutil.copy(BY_HAND / file, folder)
    source, made = folder / f"{name}.params.yaml", folder / f"{name}.values.yaml"
    document = {
        "name": name,
        "image": IMAGE,
        "data": {"claim": "data"},
        "log": {"claim": "log"},
        **params,
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


MEASURES = {
    "install": Measure(
        _take,
        15,
        15,
        dict.fromkeys(NAMES, "s"),
        [
            Ratio(
                "`helm install` to the first training step (image present)",
                "manifests written by hand, `kubectl apply`",
                at_most(1.3),
            )
        ],
        on_cluster=True,
    )
}
