"""The Debian packages below the test machine, installed only where they are missing."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from .commands import run
from .exclusive import exclusively
from .failure import MachineError
from .layout import Layout

ETCD = ("etcd-server",)
CLUSTER = (
    *ETCD,
    "containerd",
    "runc",
    "containernetworking-plugins",
    "iptables",
    "ipset",
    "conntrack",
    "iproute2",
    "openssl",
    "busybox-static",
    "mount",
)
GLUSTERFS = ("glusterfs-server", "glusterfs-client")
IMAGE = ("buildah", "debootstrap", "mount")
BROWSER = ("chromium", "chromium-driver")  # of one source package, so of one version


def missing(names: Iterable[str]) -> list[str]:
    """Those of the packages that dpkg does not call installed."""
    wanted = list(names)
    listed = subprocess.run(
        ["dpkg-query", "-W", "-f=${Package} ${db:Status-Status}\n", *wanted],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    return absent(wanted, listed)


def absent(wanted: Iterable[str], listed: str) -> list[str]:
    """What `wanted` names and `dpkg-query -f='${Package} ${db:Status-Status}'` does not."""
    installed = {line.split()[0] for line in listed.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in installed]


def ensure(names: Iterable[str], layout: Layout) -> None:
    """Install what is missing; none of the services that Debian would start is started.

    Two commands that lack packages install them one after the other: apt has one lock.
    """
    if not Path("/usr/bin/dpkg-query").exists():
        raise MachineError(
            "The test machine needs Debian or Ubuntu (it installs Debian packages). "
            "On another system set KUBECONFIG to a cluster of yours (kind, k3d, ...)."
        )
    if missing(names):
        with exclusively(layout, "packages"):
            _install(missing(names))


def _install(needed: Sequence[str]) -> None:
    if not needed:
        return
    if os.geteuid() != 0:
        raise MachineError(
            f"These Debian packages are missing and only root can install them: {' '.join(needed)}"
        )
    print(f"installing Debian packages: {' '.join(needed)}", file=sys.stderr, flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *needed]
    with _services_stay_down():
        try:
            run(install, environment=environment, what="apt-get install")
        except MachineError:
            run(["apt-get", "update", "-q"], environment=environment, what="apt-get update")
            run(install, environment=environment, what="apt-get install")


@contextmanager
def _services_stay_down() -> Iterator[None]:
    """Debian starts etcd and containerd on installation; a policy that says 101 prevents it."""
    policy = Path("/usr/sbin/policy-rc.d")
    if policy.exists():
        yield
        return
    with tempfile.NamedTemporaryFile("w", dir=policy.parent, delete=False) as file:
        file.write("#!/bin/sh\nexit 101\n")
    Path(file.name).chmod(0o755)
    Path(file.name).rename(policy)
    try:
        yield
    finally:
        policy.unlink()
