"""`tf-cluster serve --install` to the first answer, against `helm install` of the same values.

Helm's side has no look at the export and no proof of the answer: that is what the ratio is about.
The server is the stand-in of tests/serving, in a pod, asked through its NodePort.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from tf_cluster.cluster.serving.releasing import CHART

from tests.bench.install import CHART as TRAINING_CHART
from tests.bench.install import claims, gone, namespace, values
from tests.bench.measure import Measure, Sample
from tests.bench.measures import TOOL
from tests.bench.pairs import in_pairs
from tests.bench.rows import Bar, Ratio
from tests.cluster.kubernetes import Namespace, Release, address_of
from tests.cluster.model_server import of_image
from tests.support.waiting import eventually

COLUMNS = ("tf-cluster serve", "helm install")
NAME, SERVER = "digits", "digits-serving"
PORT = 30851
REQUEST = json.dumps({"inputs": {"image": [[[[0.5]] * 8] * 8]}}).encode()


def _take(count: int, kubeconfig: str) -> Iterator[Sample]:
    """Paired seconds from the command to the first answer of a new server."""
    with namespace(kubeconfig) as there, tempfile.TemporaryDirectory() as folder:
        claims(there)
        Release(there, NAME, TRAINING_CHART).install(values(NAME, train={"steps": 100}))
        _ran(there, "wait", NAME, "--timeout", "600")
        file = Path(folder, "values.yaml")
        _ran(there, "serve", NAME, "--type", "NodePort", "--output", str(file))
        nodes = json.loads(there.kubectl("get", "nodes", "--output=json"))["items"]
        node = next(one for one in nodes if "addresses" in one["status"])
        url = f"http://{address_of(node)}:{PORT}/v1/models/{NAME}:predict"
        served = ("serve", NAME, "--type", "NodePort", "--install", *_settings())
        installed = ("install", SERVER, str(CHART), f"--values={file}", *_settings())
        yield from in_pairs(
            partial(_seconds, there, url, (TOOL, *served)),
            partial(_seconds, there, url, (there.helm_path, *installed)),
            count,
            COLUMNS,
        )


def _settings() -> list[str]:
    settings = [f"service.nodePorts.http={PORT}"]
    # Between two samples its pod has to be gone; nobody holds a connection to it.
    settings += ["server.preStopSeconds=11", "server.terminationGracePeriodSeconds=12"]
    return [*of_image(), *(word for one in settings for word in ("--set", one))]


def _environment(there: Namespace) -> dict[str, str]:
    path = f"{Path(there.helm_path).parent}:{os.environ['PATH']}"
    return {**os.environ, "KUBECONFIG": there.kubeconfig, "PATH": path}


def _ran(there: Namespace, *words: str) -> None:
    subprocess.run(
        (TOOL, *words, "--namespace", there.name),
        env=_environment(there),
        check=True,
        stdout=subprocess.DEVNULL,
    )


def _seconds(there: Namespace, url: str, command: tuple[str, ...]) -> float:
    """Until the model answers; then the command ends, and nothing is left of the server."""
    began = time.monotonic()
    with _begun(there, command):
        eventually("an answer", lambda: _answers(url), 120, every=0.1)
        answered = time.monotonic()
    there.helm("uninstall", SERVER, "--wait")
    gone(there, f"app.kubernetes.io/instance={SERVER}")
    return answered - began


@contextmanager
def _begun(there: Namespace, command: tuple[str, ...]) -> Iterator[None]:
    """A command beside what is done meanwhile. Raises CalledProcessError where it fails."""
    with subprocess.Popen(
        (*command, "--namespace", there.name), env=_environment(there), stdout=subprocess.DEVNULL
    ) as process:
        yield
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, REQUEST), timeout=5) as answer:
            return "outputs" in json.load(answer)
    except (urllib.error.URLError, OSError, ValueError):
        return False


MEASURES = {
    "serving-install": Measure(
        _take,
        11,
        10,
        dict.fromkeys(COLUMNS, "s"),
        [
            Ratio(
                "`tf-cluster serve --install` to the model's first answer (images present)",
                "`helm install` of the same values; served by the tests' stand-in",
                Bar("≤ 1.2 ×", 1.2),
                COLUMNS,
            )
        ],
        on_cluster=True,
    )
}
