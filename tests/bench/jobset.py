"""The same training as a JobSet, by its controller 0.10.1 as a process of this machine.

Its webhooks are not installed: the API server can call no Service whose pod is a process. What
they would fill in stands in the manifest.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.controller import controller
from tests.bench.hand_run import BY_HAND
from tests.bench.install import IMAGE, SCRIPT, first_step, gone, script_map
from tests.cluster.kubernetes import Namespace
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.waiting import eventually
from tools.machine import tools
from tools.machine.commands import run

MODULE = "sigs.k8s.io/jobset"
DEFINITION = "crd/jobsets.jobset.x-k8s.io"
POD_LABEL = "jobset.sigs.k8s.io"


def jobset(there: Namespace, name: str) -> float:
    """Seconds from `kubectl apply` to the first step, with Kubernetes' own `ndots: 5`."""
    hosts = {
        "chief": [f"{name}-chief-0-0.{name}:2222"],
        "ps": [f"{name}-ps-0-0.{name}:2222"],
        "worker": [f"{name}-worker-0-{index}.{name}:2222" for index in range(2)],
    }
    text = (BY_HAND / "jobset.yaml").read_text()
    for word, meant in (
        ("NAME", name),
        ("IMAGE", IMAGE),
        ("COMMAND", " ".join(("python3", "-u", f"/script/{SCRIPT[0]}", *SCRIPT[1:]))),
        ("HOSTS", json.dumps(hosts)),
    ):
        text = re.sub(rf"\b{word}\b", meant, text)
    started = time.time()
    there.kubectl("apply", "--filename=-", stdin=f"{json.dumps(script_map(name))}\n---\n{text}")
    pods = f"{POD_LABEL}/jobset-name={name}"
    first = first_step(there, f"{pods},{POD_LABEL}/replicatedjob-name=chief", "step ")
    there.kubectl("delete", f"jobset/{name}", f"configmap/{name}", "--wait=false")
    gone(there, pods)
    return first - started


@contextmanager
def jobset_controller(there: Namespace) -> Iterator[None]:
    """Ready, and alone: raises CommandError on a cluster that has JobSets already."""
    source = tools.source("jobset", MODULE)
    crd = (source / "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml").read_text()
    there.kubectl("create", "--filename=-", stdin=crd)
    try:
        # kubectl wait fails where there is no condition yet.
        conditions = ("get", DEFINITION, "--output=jsonpath={.status.conditions}")
        eventually("the definition", lambda: '"Established"' in there.kubectl(*conditions), 60)
        probe = f"127.0.0.1:{free_port()}"
        with tempfile.TemporaryDirectory() as folder:
            config = _config(Path(folder), probe)
            words = (tool_path("jobset"), f"--config={config}")
            with controller(words, {"KUBECONFIG": there.kubeconfig}, probe):
                yield
    finally:
        there.kubectl("delete", DEFINITION, "--ignore-not-found")


def _config(folder: Path, probe: str) -> Path:
    """Its file; it serves webhooks, whether anybody asks them or not, with a certificate."""
    key, certificate = folder / "tls.key", folder / "tls.crt"
    subject = ("-subj", "/CN=jobset", "-days", "2", "-nodes", "-newkey", "rsa:2048")
    run(["openssl", "req", "-x509", *subject, "-keyout", key, "-out", certificate])
    file = folder / "config.json"
    file.write_text(
        json.dumps(
            {
                "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
                "kind": "Configuration",
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "webhook": {"port": free_port(), "host": "127.0.0.1", "certDir": str(folder)},
                "metrics": {"bindAddress": "0"},
                "health": {"healthProbeBindAddress": probe},
            }
        )
    )
    return file
