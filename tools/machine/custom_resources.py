"""The definitions of others' APIs that the chart knows: files of Go modules, pinned by go.sum.

A PodMonitor, an HTTPRoute or a PodGroup is then held to its real schema. Who would act on it is not
here: neither the Prometheus operator, nor a Gateway, nor a scheduler of gangs.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from . import tools
from .commands import run
from .failure import MachineError
from .layout import Layout

MODULE = tools.MODULES / "custom-resources"
FILES: Mapping[str, tuple[str, ...]] = {
    "github.com/prometheus-operator/prometheus-operator": (
        "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml",
        "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
    ),
    "sigs.k8s.io/gateway-api": (
        "config/crd/standard/gateway.networking.k8s.io_gateways.yaml",
        "config/crd/standard/gateway.networking.k8s.io_httproutes.yaml",
    ),
    "sigs.k8s.io/scheduler-plugins": ("config/crd/bases/scheduling.x-k8s.io_podgroups.yaml",),
    "volcano.sh/volcano": ("config/crd/volcano/bases/scheduling.volcano.sh_podgroups.yaml",),
}


def definitions() -> list[Path]:
    """The files, in Go's module cache. Raises MachineError, as `tools.source` does."""
    return [
        tools.source(MODULE.name, module) / name
        for module, names in FILES.items()
        for name in names
    ]


def install(layout: Layout) -> list[str]:
    """Give the test cluster these APIs, where it lacks them; returns the definitions' names."""
    if not layout.kubeconfig.exists():
        raise MachineError("the test cluster is not up; `make cluster-up` starts it")
    kubectl: list[str | Path] = [tools.program("kubectl", layout.cache)]
    kubectl += ["--kubeconfig", layout.kubeconfig]
    # By the server: they are too large for the annotation that kubectl would keep.
    files = [f"--filename={file}" for file in definitions()]
    applied = run(
        [*kubectl, "apply", "--server-side", "--output=name", *files],
        what="installing the definitions of others' APIs",
    )
    names = applied.split()
    run([*kubectl, "wait", "--for=condition=Established", "--timeout=60s", *names])
    return names
