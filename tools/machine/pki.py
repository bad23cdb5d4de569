"""One certificate authority and a certificate for each program of the control plane."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .commands import run
from .layout import NODE, Addresses

DAYS = "3650"
FRONT_PROXY = "front-proxy-client"
_EXTENSIONS = """\
[req]
distinguished_name = name
prompt = no
[name]
CN = unused
[authority]
basicConstraints = critical, CA:TRUE
keyUsage = critical, keyCertSign, cRLSign
subjectKeyIdentifier = hash
[identity]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = clientAuth, serverAuth
subjectKeyIdentifier = hash
authorityKeyIdentifier = keyid
"""


@dataclass(frozen=True)
class Identity:
    """Who a certificate says its bearer is: Kubernetes reads CN as user and O as group."""

    file: str
    user: str
    group: str = ""
    names: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The certificate's subject, as openssl writes it."""
        return (f"/O={self.group}" if self.group else "") + f"/CN={self.user}"


def identities(addresses: Addresses) -> tuple[Identity, ...]:
    """Every certificate that the machine's authority signs."""
    serving = (
        f"IP:{addresses.node}",
        "IP:127.0.0.1",
        f"IP:{addresses.kubernetes_service}",
        "DNS:localhost",
        "DNS:kubernetes",
        "DNS:kubernetes.default",
        "DNS:kubernetes.default.svc",
        "DNS:kubernetes.default.svc.cluster.local",
    )
    admins = "system:masters"
    return (
        Identity("apiserver", "kube-apiserver", names=serving),
        Identity("apiserver-kubelet", "kube-apiserver-kubelet-client", admins),
        # With it the API server asks other servers of APIs, in the name of whoever asked it.
        Identity("front-proxy", FRONT_PROXY),
        Identity("admin", "admin", admins),
        Identity("kubelet", f"system:node:{NODE}", "system:nodes", (f"IP:{addresses.node}",)),
        Identity("controller-manager", "system:kube-controller-manager"),
        Identity("scheduler", "system:kube-scheduler"),
        Identity("proxy", "system:kube-proxy"),
        # Both write objects of many kinds; in a cluster for tests they may do all.
        Identity("kube-router", "kube-router", admins),
        Identity("local-path", "local-path-provisioner", admins),
    )


def create(folder: Path, addresses: Addresses) -> None:
    """Write ca, identities and the service-account key pair into `folder`; keep what is there."""
    if (folder / "complete").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    settings = folder / "openssl.cnf"
    settings.write_text(_EXTENSIONS)
    common: list[str | Path] = [
        "openssl",
        "req",
        "-x509",
        "-config",
        settings,
        "-nodes",
        "-days",
        DAYS,
    ]
    common += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    ca = (folder / "ca.crt", folder / "ca.key")
    own = ["-subj", "/CN=tf-cluster-test", "-extensions", "authority"]
    run([*common, *own, "-out", ca[0], "-keyout", ca[1]], what="making the certificate authority")
    for identity in identities(addresses):
        names = ["-addext", f"subjectAltName={','.join(identity.names)}"] if identity.names else []
        signed: list[str | Path] = ["-CA", ca[0], "-CAkey", ca[1], "-subj", identity.subject]
        certificate, key = folder / f"{identity.file}.crt", folder / f"{identity.file}.key"
        files: list[str | Path] = ["-out", certificate, "-keyout", key]
        run(
            [*common, *signed, "-extensions", "identity", *names, *files],
            what=f"making the certificate of {identity.file}",
        )
    private, public = folder / "service-accounts.key", folder / "service-accounts.pub"
    curve = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    run(["openssl", "genpkey", *curve, "-out", private], what="making the service-account key")
    run(["openssl", "pkey", "-in", private, "-pubout", "-out", public])
    (folder / "complete").touch()
