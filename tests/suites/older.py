"""Real trainings on a whole cluster of an older Kubernetes: `python -m tests.suites.older`.

API server, controllers, scheduler, kubelet and kube-proxy are of tools.OLDER_CLUSTER. Exit 0 when
all cases passed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

from tests.suites import cluster
from tests.suites.commands import leave
from tests.suites.suite import BUILD, TWO_FILES_AT_ONCE, Outcome, pytest_suite, run
from tools.machine.layout import KUBERNETES_VARIABLE, default_layout
from tools.machine.tools import OLDER_CLUSTER

# All five combinations, what kills them, how they end, and who reaches whom.
FILES = tuple(
    f"tests/cluster/test_{name}.py"
    for name in ("training", "strategies", "faults", "life_cycle", "isolation")
)
SECONDS = 3600


def main() -> int:
    """Bring the cluster up, run the cases, end the cluster."""
    if default_layout().state.exists():
        print("a test cluster is up, or was cut off: `make cluster-down` first", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, leave)
    BUILD.mkdir(parents=True, exist_ok=True)
    os.environ[KUBERNETES_VARIABLE] = OLDER_CLUSTER
    try:
        outcome = _run()
    except subprocess.CalledProcessError as error:
        print(f"--- {error}", flush=True)
        return 1
    finally:
        cluster.down()
    counts = outcome.counts
    words = f"{counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped"
    print(f"{outcome.note}: {words}", flush=True)
    if f"v{OLDER_CLUSTER}" not in outcome.note:
        print(f"that is not Kubernetes {OLDER_CLUSTER}", file=sys.stderr)
        return 1
    return 0 if outcome.ok else 1


def _run() -> Outcome:
    kubeconfig = cluster.up()
    cluster.image("cpu")
    suite = pytest_suite(
        "older",
        *FILES,
        *TWO_FILES_AT_ONCE,
        f"--kubeconfig={kubeconfig}",
        seconds=SECONDS,
        full=True,
        cluster=True,
        environment={"KUBECONFIG": kubeconfig},
    )
    outcome = run(suite, os.environ)
    return replace(outcome, note=cluster.version(kubeconfig))


if __name__ == "__main__":
    sys.exit(main())
