"""helm install to the first training step, against a TFJob and its operator, in one run.

Both sides run the same script in the same image, with the same claims, on the same cluster; a
sample ends when the chief has printed its first step, by the container's own timestamp. The
operator is at rest before a sample begins: its own start is not counted.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.bench.install import (
    COMMAND,
    applied,
    claims,
    filled,
    install,
    namespace,
    script_values,
)
from tests.bench.measure import Measure, Sample
from tests.bench.pairs import in_pairs
from tests.bench.rows import Ratio, at_most
from tests.cluster.kubernetes import Namespace, Object
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.controller import controller, established
from tests.support.waiting import eventually
from tools.machine import tools

MODULE = "github.com/kubeflow/training-operator"
NAMES = ("ours", "TFJob")
LABELS = "training.kubeflow.org"
SECRET = "training-operator-webhook-cert"
# Where the operator looks for its certificate, whatever it is told.
CERTIFICATES = Path("/tmp/k8s-webhook-server/serving-certs")


def _take(count: int, kubeconfig: str) -> Iterator[Sample]:
    """Paired seconds from the command to the first step."""
    with namespace(kubeconfig) as there, operator(there):
        claims(there)
        file = script_values("tfjob")
        numbers = iter(range(2 * count))
        yield from in_pairs(
            lambda: install(there, file, f"ours{next(numbers)}", "step "),
            lambda: tfjob(there, f"tfjob{next(numbers)}"),
            count,
            NAMES,
        )


def tfjob(there: Namespace, name: str, *, ndots: int = 2) -> float:
    """Seconds from `kubectl apply` to the first step; ours has 2 for `ndots`, too."""
    text = filled("tfjob.yaml", name, COMMAND=json.dumps(COMMAND))
    text = text.replace('value: "2"', f'value: "{ndots}"')
    pods = f"{LABELS}/job-name={name}"
    removed = (f"tfjob/{name}", f"configmap/{name}")
    return applied(there, text, pods, f"{LABELS}/replica-type=chief", removed)


@contextmanager
def operator(there: Namespace) -> Iterator[None]:
    """The operator of this namespace's TFJobs, as a process of this machine, ready.

    Raises CommandError on a cluster that has TFJobs already: they are somebody's.
    """
    source = tools.source("training-operator", MODULE)
    webhook = _webhook(source)
    crd = (source / "manifests/base/crds/kubeflow.org_tfjobs.yaml").read_text()
    there.kubectl("create", "--filename=-", stdin=crd)
    try:
        there.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET}})
        there.apply(webhook)
        established(there, "crd/tfjobs.kubeflow.org")
        with _process(there, webhook["metadata"]["name"]):
            yield
    finally:
        name = f"validatingwebhookconfiguration/{webhook['metadata']['name']}"
        there.kubectl("delete", "crd/tfjobs.kubeflow.org", name, "--ignore-not-found")


@contextmanager
def _process(there: Namespace, webhook: str) -> Iterator[None]:
    probe = f"127.0.0.1:{free_port()}"
    words = (
        tool_path("training-operator"),
        "--enable-scheme=tfjob",
        f"--namespace={there.name}",
        "--metrics-bind-address=0",
        f"--health-probe-bind-address={probe}",
        f"--webhook-server-port={free_port()}",
    )
    settings = {"KUBECONFIG": there.kubeconfig, "MY_POD_NAMESPACE": there.name}

    def give_key() -> None:
        certificates = eventually("the operator's key", lambda: _certificates(there), 60)
        CERTIFICATES.mkdir(parents=True, exist_ok=True)
        for name, content in certificates.items():
            (CERTIFICATES / name).write_bytes(base64.b64decode(content))
        # The API server can call no Service whose pod is a process: nothing checks a TFJob.
        there.kubectl("delete", f"validatingwebhookconfiguration/{webhook}")

    with controller(words, settings, probe, give_key):
        yield


def _webhook(source: Path) -> Object:
    """The operator gives it its certificate at its start, and waits until it can."""
    text = (source / "manifests/base/webhook/manifests.yaml").read_text()
    webhook: Object = yaml.safe_load(text)
    webhook["metadata"]["name"] = "validator.training-operator.kubeflow.org"
    webhook["webhooks"] = [
        hook for hook in webhook["webhooks"] if hook["rules"][0]["resources"] == ["tfjobs"]
    ]
    return webhook


def _certificates(there: Namespace) -> dict[str, str]:
    secret = json.loads(there.kubectl("get", f"secret/{SECRET}", "--output=json"))
    return {name: text for name, text in secret.get("data", {}).items() if name != "ca.key"}


MEASURES = {
    "tfjob": Measure(
        _take,
        15,
        15,
        dict.fromkeys(NAMES, "s"),
        [
            Ratio(
                "`helm install` to the first training step (image present), the same script",
                "a TFJob of training-operator 1.8.1, `kubectl apply`",
                at_most(1.0),
                NAMES,
            )
        ],
        on_cluster=True,
    )
}
