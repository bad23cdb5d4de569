import base64
import json
from pathlib import Path

import pytest
import yaml

from tools.machine import configs
from tools.machine.components import components
from tools.machine.layout import Addresses, Layout, default_layout
from tools.machine.node_files import fingerprint, rendered
from tools.machine.pki import identities

LAYOUT = Layout(state=Path("/var/lib/example"), cache=Path("/home/user/.cache/tf-cluster"))
ADDRESSES = Addresses()


def test_a_kubeconfig_carries_its_certificates() -> None:
    text = configs.kubeconfig("https://a:1", authority=b"ca", certificate=b"crt", key=b"key")
    read = yaml.safe_load(text)
    assert read["clusters"][0]["cluster"]["server"] == "https://a:1"
    assert base64.b64decode(read["users"][0]["user"]["client-key-data"]) == b"key"
    assert read["current-context"] == read["contexts"][0]["name"]


def test_the_kubelet_never_collects_images() -> None:
    read = yaml.safe_load(configs.kubelet(LAYOUT, ADDRESSES))
    assert read["imageGCHighThresholdPercent"] == 100
    assert read["evictionHard"]["imagefs.available"] == "0%"


def test_containerd_and_the_kubelet_agree_on_the_socket() -> None:
    socket = str(LAYOUT.containerd_socket)
    assert f'address = "{socket}"' in configs.containerd(LAYOUT)
    kubelet = yaml.safe_load(configs.kubelet(LAYOUT, ADDRESSES))
    assert kubelet["containerRuntimeEndpoint"] == f"unix://{socket}"


def test_sockets_fit_into_the_kernels_limit() -> None:
    assert len(f"{default_layout({}).containerd_socket}.ttrpc") < 107


def test_pods_hang_on_the_bridge_that_is_made_first() -> None:
    bridge = json.loads(configs.cni(LAYOUT, ADDRESSES))["plugins"][0]
    assert bridge["bridge"] == ADDRESSES.bridge
    assert bridge["ipam"]["ranges"] == [[{"subnet": ADDRESSES.pods}]]


def test_nothing_is_rendered_that_lies_outside_the_state_folder() -> None:
    elsewhere = Layout(state=Path("/var/lib/other"), cache=LAYOUT.cache)
    for name, text in rendered(elsewhere, ADDRESSES).items():
        assert "/var/lib/example" not in text, name
        assert "@" not in text or not name.startswith("manifests/"), name


def test_every_listener_is_on_the_bridge_or_on_loopback() -> None:
    for component in components(LAYOUT, ADDRESSES, Path):
        for word in component.command:
            assert "0.0.0.0" not in word
            assert "[::]" not in word
    assert "0.0.0.0" not in configs.kube_proxy(LAYOUT, ADDRESSES)


def test_a_changed_file_a_changed_program_and_a_reboot_each_change_the_fingerprint() -> None:
    files = rendered(LAYOUT, ADDRESSES)
    parts = components(LAYOUT, ADDRESSES, Path)
    one = fingerprint(files, parts, "boot")
    assert fingerprint(dict(reversed(files.items())), parts, "boot") == one
    assert fingerprint({**files, "kubelet.yaml": ""}, parts, "boot") != one
    assert fingerprint(files, components(LAYOUT, ADDRESSES, Path("/new").joinpath), "boot") != one
    assert fingerprint(files, parts, "another boot") != one


def test_every_kubeconfig_that_a_component_reads_has_a_certificate() -> None:
    signed = {identity.file for identity in identities(ADDRESSES)}
    commands = " ".join(
        word for part in components(LAYOUT, ADDRESSES, Path) for word in part.command
    )
    names = {
        word.rsplit("/", 1)[1].removesuffix(".kubeconfig")
        for word in commands.split()
        if word.endswith(".kubeconfig")
    }
    assert names
    assert names <= signed


@pytest.mark.parametrize("name", ["kubernetes.default.svc", "kubernetes.default"])
def test_the_api_servers_certificate_is_good_for_the_service_name(name: str) -> None:
    server = next(one for one in identities(ADDRESSES) if one.file == "apiserver")
    assert f"DNS:{name}" in server.names
    assert f"IP:{ADDRESSES.kubernetes_service}" in server.names


def test_the_kubelets_certificate_names_the_node_as_kubernetes_wants_it() -> None:
    kubelet = next(one for one in identities(ADDRESSES) if one.file == "kubelet")
    assert kubelet.subject == "/O=system:nodes/CN=system:node:tf-cluster-test"


def test_the_cache_follows_xdg_cache_home() -> None:
    assert default_layout({"XDG_CACHE_HOME": "/x"}).cache == Path("/x/tf-cluster")
