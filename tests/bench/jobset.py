"""The same training as a JobSet, by its controller 0.10.1 as a process of this machine.

Its webhooks are not installed: the API server can call no Service whose pod is a process. What
they would fill in stands in the manifest.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.install import COMMAND, applied, filled
from tests.cluster.kubernetes import Namespace
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.certificate import self_signed
from tests.support.controller import configuration, controller, established
from tools.machine import tools

MODULE = "sigs.k8s.io/jobset"
DEFINITION = "crd/jobsets.jobset.x-k8s.io"
VERSION = "config.jobset.x-k8s.io/v1alpha1"
LABELS = "jobset.sigs.k8s.io"


def jobset(there: Namespace, name: str) -> float:
    """Seconds from `kubectl apply` to the first step, with Kubernetes' own `ndots: 5`."""
    hosts = {
        "chief": [f"{name}-chief-0-0.{name}:2222"],
        "ps": [f"{name}-ps-0-0.{name}:2222"],
        "worker": [f"{name}-worker-0-{index}.{name}:2222" for index in range(2)],
    }
    words = {"COMMAND": " ".join(COMMAND), "HOSTS": json.dumps(hosts)}
    pods = f"{LABELS}/jobset-name={name}"
    removed = (f"jobset/{name}", f"configmap/{name}")
    text = filled("jobset.yaml", name, **words)
    return applied(there, text, pods, f"{LABELS}/replicatedjob-name=chief", removed)


@contextmanager
def jobset_controller(there: Namespace) -> Iterator[None]:
    """Ready, and alone: raises CommandError on a cluster that has JobSets already."""
    source = tools.source("jobset", MODULE)
    crd = (source / "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml").read_text()
    there.kubectl("create", "--filename=-", stdin=crd)
    try:
        established(there, DEFINITION)
        probe = f"127.0.0.1:{free_port()}"
        with tempfile.TemporaryDirectory() as folder:
            self_signed(Path(folder), "jobset")  # for its webhooks, which nobody asks
            config = configuration(Path(folder), VERSION, free_port(), probe)
            words = (tool_path("jobset"), f"--config={config}")
            with controller(words, {"KUBECONFIG": there.kubeconfig}, probe):
                yield
    finally:
        there.kubectl("delete", DEFINITION, "--ignore-not-found")
