"""What can happen to the test machine's node and control plane, each for the time of a block."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import yaml

from tests.cluster.conftest import ROOT
from tests.cluster.kubernetes import Namespace, condition
from tests.support.waiting import eventually
from tools.machine import processes, tools
from tools.machine.components import components
from tools.machine.layout import NODE, Addresses, Layout

# Any node uses more than the rest of it.
TOO_MUCH = {"memory.available": "99%"}


@dataclass(frozen=True)
class Machine:
    """The test machine, which is up, and an administrator of it."""

    layout: Layout
    admin: Namespace

    @contextmanager
    def without(self, program: str) -> Iterator[None]:
        """One of its programs is killed. At the end of the block all are well again."""
        processes.end(self.layout, only=program)
        try:
            yield
        finally:
            self._mend()

    @contextmanager
    def short_of_memory(self) -> Iterator[None]:
        """Its kubelet begins anew with a threshold that the node is beyond, so it evicts pods."""
        settings = yaml.safe_load((self.layout.config / "kubelet.yaml").read_text())
        settings["evictionHard"] = {**settings.get("evictionHard", {}), **TOO_MUCH}
        settings["evictionPressureTransitionPeriod"] = "1s"
        file = self.layout.config / "kubelet-short-of-memory.yaml"
        file.write_text(yaml.safe_dump(settings))
        program = partial(tools.program, cache=self.layout.cache)
        parts = components(self.layout, Addresses(), program)
        kubelet = next(part for part in parts if part.name == "kubelet")
        command = tuple(
            f"--config={file}" if word.startswith("--config=") else word for word in kubelet.command
        )
        processes.end(self.layout, only="kubelet")
        processes.start(replace(kubelet, command=command), self.layout)
        try:
            yield
        finally:
            processes.end(self.layout, only="kubelet")
            self._mend()

    @contextmanager
    def without_names(self) -> Iterator[None]:
        """No name of the cluster resolves: its name server has no pod."""
        server = ("deployment/coredns", "--namespace=kube-system")
        self.admin.kubectl("scale", *server, "--replicas=0")
        pods = ("get", "pods", "--selector=k8s-app=kube-dns", "--namespace=kube-system")
        gone = (*pods, "--output=name")
        eventually("the name server to be gone", lambda: not self.admin.kubectl(*gone), 60)
        try:
            yield
        finally:
            self.admin.kubectl("scale", *server, "--replicas=1")
            self.admin.kubectl("rollout", "status", *server, "--timeout=120s")

    @contextmanager
    def drained_of(self, release: str) -> Iterator[None]:
        """The pods of one release are evicted, as `kubectl drain` does, and have no node."""
        self.admin.kubectl(
            *("drain", NODE, f"--pod-selector=app.kubernetes.io/instance={release}"),
            *("--ignore-daemonsets", "--delete-emptydir-data", "--timeout=240s"),
        )
        try:
            yield
        finally:
            self.admin.kubectl("uncordon", NODE)

    def node_is_ready(self) -> bool:
        """By its condition, which the control plane takes away from a kubelet that is silent."""
        node = yaml.safe_load(self.admin.kubectl("get", "node", NODE, "--output=yaml"))
        return condition(node, "Ready") is not None

    def _mend(self) -> None:
        command = (sys.executable, "-m", "tools.machine", "up")
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        eventually("the node to be ready", self.node_is_ready, 60)


@contextmanager
def small_disk(directory: Path, owner: int, megabytes: int) -> Iterator[None]:
    """A file system of that size at a directory. CalledProcessError where nobody may mount."""
    options = f"size={megabytes}m,uid={owner},gid={owner},mode=770"
    mount = ("mount", "-t", "tmpfs", "-o", options, "tmpfs", str(directory))
    subprocess.run(mount, check=True, capture_output=True)
    try:
        yield
    finally:
        subprocess.run(("umount", "--lazy", str(directory)), check=True)


@contextmanager
def full(directory: Path) -> Iterator[None]:
    """No byte is left on its file system."""
    file = directory / "full"
    try:
        with file.open("wb", buffering=0) as stream:
            try:
                while stream.write(bytes(1 << 16)):
                    pass
            except OSError:
                yield
            else:
                raise AssertionError(f"{directory} took all that was written")
    finally:
        file.unlink(missing_ok=True)
