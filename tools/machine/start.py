"""`up`: from nothing, or from what a cut-off start or a crash left, to a cluster that is well."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from . import bridge, cgroups, node_files, packages, pki, processes, sysctls, system_images, tools
from .api import ApiServer, condition
from .commands import run
from .components import Component, components
from .exclusive import exclusively
from .failure import MachineError
from .health import is_well
from .layout import NODE, Addresses, Layout
from .stop import tear_down
from .user import require_root

_BOOT = Path("/proc/sys/kernel/random/boot_id")
_NODE_PATH = f"/api/v1/nodes/{NODE}"
_DNS_PATH = "/apis/apps/v1/namespaces/kube-system/deployments/coredns"


@dataclass(frozen=True)
class Plan:
    """What a running cluster consists of; `fingerprint` tells it from any other."""

    layout: Layout
    addresses: Addresses
    components: tuple[Component, ...]
    files: dict[str, str]
    fingerprint: str


def plan(layout: Layout, addresses: Addresses) -> Plan:
    """Work out the cluster to be had; programs that are missing in the cache are built."""
    parts = components(layout, addresses, _program(layout))
    files = node_files.rendered(layout, addresses)
    mark = node_files.fingerprint(files, parts, _BOOT.read_text())
    return Plan(layout, addresses, parts, files, mark)


def up(layout: Layout, addresses: Addresses) -> None:
    """Return when the node is Ready and names resolve; raise MachineError when that can't be."""
    require_root("starting the test cluster")
    begun = time.monotonic()
    packages.ensure(packages.CLUSTER, layout)
    wanted = plan(layout, addresses)
    with exclusively(layout):
        if _is_up(wanted):
            print(f"the test cluster is already up ({_seconds(begun)})", file=sys.stderr)
            return
        if layout.state.exists():
            if _can_be_repaired(wanted) and _repair(wanted):
                print(f"the test cluster is up again ({_seconds(begun)})", file=sys.stderr)
                return
            print("what is left of the last test cluster is removed first", file=sys.stderr)
        tear_down(layout, addresses)
        _start(wanted)
    version = layout.kubernetes or tools.KUBERNETES_VERSION
    print(f"Kubernetes {version} is up ({_seconds(begun)})", file=sys.stderr)


def lacking(wanted: Plan) -> list[str]:
    """What keeps the cluster from being well, in words; nothing when it is well."""
    if _recorded_fingerprint(wanted.layout) != wanted.fingerprint:
        return ["it was not started, or with another configuration"]
    if not bridge.is_up(wanted.addresses):
        return ["the bridge is gone"]
    alive = processes.running(wanted.components, wanted.layout)
    dead = [component.name for component in wanted.components if component.name not in alive]
    if dead:
        return [f"{name} is not running" for name in dead]
    ill = [component.name for component in wanted.components if not is_well(component.health)]
    if ill:
        return [f"{name} is not well" for name in ill]
    return _not_ready(ApiServer(wanted.layout, wanted.addresses))


def _is_up(wanted: Plan) -> bool:
    return wanted.layout.state.exists() and not lacking(wanted)


def _can_be_repaired(wanted: Plan) -> bool:
    """Pods lose their network with the bridge, and a changed configuration is another cluster."""
    same = _recorded_fingerprint(wanted.layout) == wanted.fingerprint
    return same and bridge.is_up(wanted.addresses)


def _repair(wanted: Plan) -> bool:
    for line in lacking(wanted):
        print(f"repairing: {line}", file=sys.stderr)
    try:
        _run_components(wanted)
    except MachineError as failure:
        print(f"that can't be repaired: {failure}", file=sys.stderr)
        return False
    return True


def _start(wanted: Plan) -> None:
    layout = wanted.layout
    layout.state.mkdir(parents=True, exist_ok=True)
    sysctls.note(layout.state / "sysctls.json")
    bridge.create(wanted.addresses)
    sysctls.prepare()
    cgroups.create(layout)
    pki.create(layout.pki, wanted.addresses)
    node_files.write(wanted.files, layout, wanted.addresses)
    _run_components(wanted)
    (layout.state / "fingerprint").write_text(wanted.fingerprint)


def _run_components(wanted: Plan) -> None:
    """Start what is not running, stage by stage, and wait until all of it is well."""
    layout = wanted.layout
    stages = [_stage(wanted, number) for number in (1, 2, 3, 4)]
    _launch(stages[0], layout)
    _wait_until_well(stages[0], layout)
    _launch(stages[1], layout)
    system_images.load(layout, _program(layout))
    _wait_until_well(stages[1], layout)
    _launch(stages[2], layout)
    _apply_manifests(layout)
    api = ApiServer(layout, wanted.addresses)
    _wait(lambda: [] if api.get(_NODE_PATH) else ["the node is not registered"], stages[2], layout)
    _launch(stages[3], layout)
    _wait_until_well([*stages[2], *stages[3]], layout)
    _wait(lambda: _not_ready(api), [*stages[2], *stages[3]], layout)


def _stage(wanted: Plan, number: int) -> list[Component]:
    return [component for component in wanted.components if component.stage == number]


def _launch(parts: Iterable[Component], layout: Layout) -> None:
    listed = list(parts)
    alive = processes.running(listed, layout)
    for component in listed:
        if component.name not in alive:
            processes.start(component, layout)


def _wait_until_well(parts: Sequence[Component], layout: Layout) -> None:
    def ill() -> list[str]:
        return [part.name for part in parts if not is_well(part.health)]

    _wait(ill, parts, layout)


def _wait(
    missing: Callable[[], list[str]],
    parts: Sequence[Component],
    layout: Layout,
    seconds: float = 90,
) -> None:
    """Until nothing is missing. A component that ends, or time that runs out, is a failure."""
    deadline = time.monotonic() + seconds
    while True:
        last = missing()
        if not last:
            return
        alive = processes.running(parts, layout)
        for part in parts:
            if part.name not in alive:
                raise processes.died(part, layout)
        if time.monotonic() > deadline:
            suspects = [part for part in parts if part.name in last] or list(parts)
            why = processes.died(suspects[-1], layout)
            raise MachineError(f"after {seconds:.0f} s still: {', '.join(last)}\n{why}")
        time.sleep(0.1)


def _not_ready(api: ApiServer) -> list[str]:
    missing = []
    if not condition(api.get(_NODE_PATH), "Ready"):
        missing.append("the node is not Ready")
    if not condition(api.get(_DNS_PATH), "Available"):
        missing.append("the name server is not available")
    return missing


def _apply_manifests(layout: Layout) -> None:
    kubectl = _program(layout)("kubectl")
    folder = layout.config / "manifests"
    # The server checks the objects anyway: asking it for its schemas first only takes time.
    unchecked = "--validate=false"
    run(
        [kubectl, "--kubeconfig", layout.kubeconfig, "apply", unchecked, "-f", folder],
        what="making the cluster's own objects",
    )


def _recorded_fingerprint(layout: Layout) -> str:
    file = layout.state / "fingerprint"
    return file.read_text() if file.exists() else ""


def _program(layout: Layout) -> Callable[[str], Path]:
    def program(name: str) -> Path:
        return tools.program(tools.of_kubernetes(name, layout.kubernetes), layout.cache)

    return program


def _seconds(begun: float) -> str:
    return f"{time.monotonic() - begun:.1f} s"
