"""The programs of the control plane and the node: what starts each, what shows it is well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .layout import NODE, Addresses, Layout
from .pki import FRONT_PROXY


@dataclass(frozen=True)
class Component:
    """`stage` n starts once every component of the stages before it answers `health` with 200."""

    name: str
    stage: int
    command: tuple[str, ...]
    health: str


def components(
    layout: Layout, addresses: Addresses, program: Callable[[str], Path]
) -> tuple[Component, ...]:
    """All of them; `program` finds the path of a program that is built from Go modules."""
    config, pki = layout.config, layout.pki

    def built(name: str, *arguments: str) -> tuple[str, ...]:
        return (str(program(name)), *arguments)

    etcd = Component(
        "etcd",
        1,
        (
            "/usr/bin/etcd",
            f"--name={NODE}",
            f"--data-dir={layout.state}/etcd",
            f"--listen-client-urls={addresses.etcd}",
            f"--advertise-client-urls={addresses.etcd}",
            f"--listen-peer-urls=http://127.0.0.1:{addresses.etcd_peer_port}",
            f"--initial-advertise-peer-urls=http://127.0.0.1:{addresses.etcd_peer_port}",
            f"--initial-cluster={NODE}=http://127.0.0.1:{addresses.etcd_peer_port}",
            "--logger=zap",
            "--log-level=warn",
        ),
        f"{addresses.etcd}/health",
    )
    containerd = Component(
        "containerd",
        1,
        ("/usr/bin/containerd", f"--config={config}/containerd.toml"),
        f"unix:{layout.containerd_socket}",
    )
    apiserver = Component(
        "kube-apiserver",
        2,
        built(
            "kube-apiserver",
            f"--bind-address={addresses.node}",
            f"--advertise-address={addresses.node}",
            f"--secure-port={addresses.api_port}",
            f"--etcd-servers={addresses.etcd}",
            f"--service-cluster-ip-range={addresses.services}",
            "--authorization-mode=Node,RBAC",
            "--allow-privileged=true",
            "--enable-admission-plugins=NodeRestriction",
            "--kubelet-preferred-address-types=InternalIP",
            f"--client-ca-file={pki}/ca.crt",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            f"--kubelet-client-certificate={pki}/apiserver-kubelet.crt",
            f"--kubelet-client-key={pki}/apiserver-kubelet.key",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            f"--requestheader-client-ca-file={pki}/ca.crt",
            f"--requestheader-allowed-names={FRONT_PROXY}",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={pki}/front-proxy.crt",
            f"--proxy-client-key-file={pki}/front-proxy.key",
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local",
            f"--service-account-key-file={pki}/service-accounts.pub",
            f"--service-account-signing-key-file={pki}/service-accounts.key",
        ),
        f"{addresses.api}/readyz",
    )
    controllers = Component(
        "kube-controller-manager",
        3,
        built(
            "kube-controller-manager",
            "--bind-address=127.0.0.1",
            f"--kubeconfig={config}/controller-manager.kubeconfig",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--root-ca-file={pki}/ca.crt",
            f"--service-account-private-key-file={pki}/service-accounts.key",
            f"--cert-dir={layout.state}/controller-manager",
        ),
        "https://127.0.0.1:10257/healthz",
    )
    scheduler = Component(
        "kube-scheduler",
        3,
        built(
            "kube-scheduler",
            "--bind-address=127.0.0.1",
            f"--kubeconfig={config}/scheduler.kubeconfig",
            "--leader-elect=false",
            f"--cert-dir={layout.state}/scheduler",
        ),
        "https://127.0.0.1:10259/healthz",
    )
    kubelet = Component(
        "kubelet",
        3,
        built(
            "kubelet",
            f"--config={config}/kubelet.yaml",
            f"--kubeconfig={config}/kubelet.kubeconfig",
            f"--root-dir={layout.kubelet}",
            f"--hostname-override={NODE}",
            f"--node-ip={addresses.node}",
        ),
        "http://127.0.0.1:10248/healthz",
    )
    proxy = Component(
        "kube-proxy",
        3,
        built("kube-proxy", f"--config={config}/kube-proxy.yaml"),
        "http://127.0.0.1:10256/livez",
    )
    policies = Component(
        "kube-router",
        4,
        built(
            "kube-router",
            "--run-firewall=true",
            "--run-router=false",
            "--run-service-proxy=false",
            f"--kubeconfig={config}/kube-router.kubeconfig",
            f"--hostname-override={NODE}",
            f"--service-cluster-ip-range={addresses.services}",
        ),
        "http://127.0.0.1:20244/healthz",
    )
    provisioner = Component(
        "local-path-provisioner",
        4,
        built(
            "local-path-provisioner",
            "start",
            f"--config={config}/local-path.json",
            f"--kubeconfig={config}/local-path.kubeconfig",
            f"--helper-pod-file={config}/helper-pod.yaml",
            "--namespace=local-path-storage",
            "--service-account-name=local-path-helper",
        ),
        "",
    )
    return (
        etcd,
        containerd,
        apiserver,
        controllers,
        scheduler,
        kubelet,
        proxy,
        policies,
        provisioner,
    )
