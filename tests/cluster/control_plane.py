"""A control plane of a test's own: etcd, the API server, its controllers, the scheduler.

They are the test machine's programs on free ports, without a kubelet. The shared cluster is left
alone, and every request is in the audit log, so that requests can be counted.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.cluster.kubernetes import Namespace
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tools.machine import node_files, pki, tools
from tools.machine.components import Component, components
from tools.machine.failure import log_tail
from tools.machine.health import is_well
from tools.machine.layout import Addresses, Layout, default_layout

ETCD = Path("/usr/bin/etcd")
STORAGE = "etcd", "kube-apiserver"
ALL = (*STORAGE, "kube-controller-manager", "kube-scheduler")
WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})

# By default controllers make 20 requests a second and the scheduler 50: a thousand pods would wait.
FAST = ("--kube-api-qps=500", "--kube-api-burst=1000")
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
  - level: None
    resources: [{group: coordination.k8s.io}]
    namespaces: [kube-system, kube-node-lease]
  - level: None
    nonResourceURLs: ["/healthz*", "/livez*", "/readyz*", "/metrics*", "/openapi*"]
  - level: Metadata
"""


@dataclass(frozen=True)
class Request:
    """One request that the API server has answered; `time` is when it had, as RFC 3339."""

    verb: str
    resource: str
    name: str
    agent: str
    code: int
    time: str

    @property
    def writes(self) -> bool:
        """Whether it changed what the API server keeps."""
        return self.verb in WRITES and self.code < 300


@dataclass(frozen=True)
class ControlPlane:
    """A running one. What is started with it ends with it."""

    layout: Layout
    addresses: Addresses

    @property
    def kubeconfig(self) -> str:
        """An administrator's way in."""
        return str(self.layout.kubeconfig)

    def namespace(self, name: str) -> Namespace:
        """A new one. Without the controllers it has no account for pods."""
        there = Namespace(name, self.kubeconfig, tool_path("kubectl"), tool_path("helm"))
        there.kubectl("create", "namespace", name)
        return there

    def requests(self, namespace: str) -> list[Request]:
        """What was asked for in a namespace so far, in the order of the answers."""
        lines = (self.layout.logs / "audit.log").read_text().splitlines()
        return [_request(event) for event in map(json.loads, lines) if _is_in(event, namespace)]


@contextmanager
def control_plane(
    folder: Path, names: tuple[str, ...] = ALL, older: str = ""
) -> Iterator[ControlPlane]:
    """One with its files in `folder`, of the programs in `names`; the API server may be older."""
    layout = Layout(folder, default_layout().cache)
    addresses = Addresses(
        node="127.0.0.1",
        api_port=free_port(),
        etcd_port=free_port(),
        etcd_peer_port=free_port(),
    )
    pki.create(layout.pki, addresses)
    node_files.write({"audit.yaml": AUDIT_POLICY}, layout, addresses)

    def program(name: str) -> Path:
        of_a_version = older and name == "kube-apiserver"
        return tools.program(tools.older_api_server(older) if of_a_version else name, layout.cache)

    parts = {part.name: part for part in components(layout, addresses, program)}
    with ExitStack() as stack:
        for name in names:
            stack.enter_context(_running(_fitted(parts[name], layout), layout))
        yield ControlPlane(layout, addresses)


def _fitted(part: Component, layout: Layout) -> Component:
    """With ports that are free, and without what only a machine with a kubelet has."""
    port = free_port()
    more: dict[str, tuple[str, ...]] = {
        "kube-apiserver": (
            "--endpoint-reconciler-type=none",  # pods that would call it there are none
            # Debian's etcd can't tell how far a watch is: a client that has its lists streamed
            # would begin anew all the time, kwok after up to half a minute.
            "--feature-gates=WatchList=false",
            f"--audit-policy-file={layout.config}/audit.yaml",
            f"--audit-log-path={layout.logs}/audit.log",
        ),
        "kube-controller-manager": (
            f"--secure-port={port}",
            "--node-monitor-grace-period=24h",  # no node reports again
            *FAST,
        ),
        "kube-scheduler": (f"--secure-port={port}", *FAST),
    }
    # Of a flag that is given twice the last counts.
    fitted = replace(part, command=(*part.command, *more.get(part.name, ())))
    if part.name in ("kube-controller-manager", "kube-scheduler"):
        return replace(fitted, health=f"https://127.0.0.1:{port}/healthz")
    return fitted


@contextmanager
def _running(part: Component, layout: Layout) -> Iterator[None]:
    with process(part.name, part.command, layout, lambda: is_well(part.health)):
        yield


@contextmanager
def process(
    name: str, command: tuple[str, ...], layout: Layout, well: Callable[[], bool]
) -> Iterator[None]:
    """A process of the control plane, from when it is well until the end of the block."""
    log = layout.logs / f"{name}.log"
    with log.open("ab") as stream:
        started = subprocess.Popen(
            tied_to_us(*command),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env={"PATH": os.environ["PATH"], "HOME": str(layout.state)},
        )

    def is_there() -> bool:
        if started.poll() is not None:
            raise RuntimeError(f"{name} ended with {started.returncode}\n{log_tail(log)}")
        return well()

    try:
        try:
            eventually(f"{name} to be well", is_there, 60)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{log_tail(log)}") from None
        yield
    finally:
        started.kill()
        started.wait()


def _is_in(event: dict[str, object], namespace: str) -> bool:
    reference = event.get("objectRef")
    return isinstance(reference, dict) and reference.get("namespace") == namespace


def _request(event: dict[str, dict[str, str]]) -> Request:
    reference = event["objectRef"]
    parts = (reference.get("resource", ""), reference.get("subresource", ""))
    return Request(
        verb=str(event["verb"]),
        resource="/".join(part for part in parts if part),
        name=reference.get("name", ""),
        agent=str(event.get("userAgent", "")),
        code=int(event.get("responseStatus", {}).get("code", 0)),
        time=str(event["stageTimestamp"]),
    )
