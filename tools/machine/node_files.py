"""The files below the state folder that the machine's programs read."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from . import configs
from .components import Component
from .layout import Addresses, Layout

_MANIFESTS = Path(__file__).parent / "manifests"
_KUBECONFIGS = (
    "admin",
    "controller-manager",
    "kube-router",
    "kubelet",
    "local-path",
    "proxy",
    "scheduler",
)


def rendered(layout: Layout, addresses: Addresses) -> dict[str, str]:
    """Everything but the kubeconfigs, by its path below `layout.config`."""
    values = {"COREDNS_IMAGE": configs.COREDNS_IMAGE, "DNS_SERVICE": addresses.dns_service}
    objects = {
        f"manifests/{file.name}": configs.manifests(file.read_text(), values)
        for file in sorted(_MANIFESTS.glob("*.yaml"))
    }
    return {
        "containerd.toml": configs.containerd(layout),
        "cni/10-bridge.conflist": configs.cni(layout, addresses),
        "kubelet.yaml": configs.kubelet(layout, addresses),
        "kube-proxy.yaml": configs.kube_proxy(layout, addresses),
        "local-path.json": configs.local_path(layout),
        "helper-pod.yaml": configs.helper_pod(),
        "resolv.conf": "",
        **objects,
    }


def fingerprint(files: dict[str, str], components: Iterable[Component], boot: str) -> str:
    """Changes when a running cluster would not be the one that these files and programs make."""
    commands = [component.command for component in components]
    return hashlib.sha256(repr((sorted(files.items()), commands, boot)).encode()).hexdigest()


def write(files: dict[str, str], layout: Layout, addresses: Addresses) -> None:
    """Write the files, and a kubeconfig for each program from its certificate."""
    for folder in (layout.logs, layout.volumes, layout.provisioned, layout.state / "run"):
        folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        file = layout.config / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    pki = layout.pki
    for name in _KUBECONFIGS:
        file = layout.config / f"{name}.kubeconfig"
        text = configs.kubeconfig(
            addresses.api,
            authority=(pki / "ca.crt").read_bytes(),
            certificate=(pki / f"{name}.crt").read_bytes(),
            key=(pki / f"{name}.key").read_bytes(),
        )
        file.touch(mode=0o600)
        file.write_text(text)
