"""The configuration file of each program, as text. Nothing here touches the machine."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

import yaml

from .layout import NODE, Addresses, Layout

CNI_NETWORK = "tf-cluster-test"
REGISTRY = "localhost/tf-cluster-test"
PAUSE_IMAGE = f"{REGISTRY}/pause:1"
COREDNS_IMAGE = f"{REGISTRY}/coredns:1"
BUSYBOX_IMAGE = f"{REGISTRY}/busybox:1"


def kubeconfig(
    server: str, *, authority: bytes, certificate: bytes, key: bytes, context: str = NODE
) -> str:
    """A kubeconfig with everything inside, so that it can be copied anywhere on this machine."""

    def encoded(data: bytes) -> str:
        return base64.b64encode(data).decode()

    cluster = {"server": server, "certificate-authority-data": encoded(authority)}
    user = {
        "client-certificate-data": encoded(certificate),
        "client-key-data": encoded(key),
    }
    return _yaml(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": context, "cluster": cluster}],
            "users": [{"name": context, "user": user}],
            "contexts": [{"name": context, "context": {"cluster": context, "user": context}}],
            "current-context": context,
        }
    )


def containerd(layout: Layout, snapshotter: str = "overlayfs") -> str:
    """containerd with a root, a state and sockets of its own.

    restrict_oom_score_adj: without CAP_SYS_RESOURCE no score can be lowered, and every
    sandbox would die with "can't get final child's PID from pipe: EOF".
    """
    run = layout.state / "run"
    return f"""\
version = 2
root = "{layout.state}/containerd"
state = "{run}/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "{layout.containerd_socket}"

[ttrpc]
  address = "{layout.containerd_socket}.ttrpc"

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  stream_server_address = "127.0.0.1"
  netns_mounts_under_state_dir = true
  restrict_oom_score_adj = true
  max_concurrent_downloads = 3

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{layout.config}/cni"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
    discard_unpacked_layers = true

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        Root = "{run}/runc"
        SystemdCgroup = false
"""


def cni(layout: Layout, addresses: Addresses) -> str:
    """Pods hang on one bridge; addresses are handed out from files below the state folder."""
    bridge = {
        "type": "bridge",
        "bridge": addresses.bridge,
        "isGateway": True,
        "hairpinMode": True,
        "ipMasq": True,
        "ipam": {
            "type": "host-local",
            "dataDir": f"{layout.state}/ipam",
            "ranges": [[{"subnet": addresses.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    portmap = {"type": "portmap", "capabilities": {"portMappings": True}}
    network = {"cniVersion": "0.4.0", "name": CNI_NETWORK, "plugins": [bridge, portmap]}
    return json.dumps(network, indent=2) + "\n"


def kubelet(layout: Layout, addresses: Addresses) -> str:
    """Both cgroup versions, swap or none; images and pods are never evicted for want of disk."""
    return _yaml(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": addresses.node,
            "healthzBindAddress": "127.0.0.1",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{layout.pki}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{layout.pki}/kubelet.crt",
            "tlsPrivateKeyFile": f"{layout.pki}/kubelet.key",
            "containerRuntimeEndpoint": f"unix://{layout.containerd_socket}",
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{layout.name}",
            "failCgroupV1": False,
            "failSwapOn": False,
            "oomScoreAdj": 0,
            # Memory that is used up ends one process, as it does without cgroup v2.
            "singleProcessOOMKill": True,
            "clusterDomain": "cluster.local",
            "clusterDNS": [addresses.dns_service],
            "resolvConf": f"{layout.config}/resolv.conf",
            "podLogsDir": f"{layout.state}/pod-logs",
            "volumePluginDir": f"{layout.kubelet}/plugins-exec",
            "staticPodPath": "",
            "serializeImagePulls": False,
            "imageGCHighThresholdPercent": 100,
            "imageGCLowThresholdPercent": 99,
            "evictionHard": {
                "memory.available": "100Mi",
                "nodefs.available": "0%",
                "nodefs.inodesFree": "0%",
                "imagefs.available": "0%",
            },
        }
    )


def kube_proxy(layout: Layout, addresses: Addresses) -> str:
    """Service rules by iptables; node ports on the bridge only; connection tracking left alone."""
    return _yaml(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "iptables",
            "clusterCIDR": addresses.pods,
            "hostnameOverride": NODE,
            "healthzBindAddress": "127.0.0.1:10256",
            "metricsBindAddress": "127.0.0.1:10249",
            "nodePortAddresses": [addresses.pods],
            "oomScoreAdj": 0,
            "clientConnection": {"kubeconfig": f"{layout.config}/proxy.kubeconfig"},
            "conntrack": {
                "maxPerCore": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        }
    )


def local_path(layout: Layout) -> str:
    """config.json of the provisioner: one folder for all claims."""
    paths = [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": [str(layout.provisioned)]}]
    return json.dumps({"nodePathMap": paths, "cmdTimeoutSeconds": 60}, indent=2) + "\n"


def helper_pod() -> str:
    """The pod in which the provisioner makes and removes a claim's folder."""
    container = {
        "name": "helper-pod",
        "image": BUSYBOX_IMAGE,
        "imagePullPolicy": "IfNotPresent",
    }
    return _yaml(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "helper-pod"},
            "spec": {
                "priorityClassName": "system-node-critical",
                "terminationGracePeriodSeconds": 0,
                "containers": [container],
            },
        }
    )


def manifests(template: str, values: Mapping[str, str]) -> str:
    """The objects that every cluster starts with; `@NAME@` in the template is replaced."""
    for name, value in values.items():
        template = template.replace(f"@{name}@", value)
    return template


def _yaml(document: object) -> str:
    text: str = yaml.safe_dump(document, sort_keys=False)
    return text
