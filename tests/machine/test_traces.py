"""What is known as the machine's own: packet rules, mounts, control groups, settings."""

import json
from pathlib import Path

from tools.machine import cgroups, firewall, mounts, sysctls

_SAVED = """\
*nat
:PREROUTING ACCEPT [0:0]
:POSTROUTING ACCEPT [0:0]
:DOCKER - [0:0]
:KUBE-SERVICES - [0:0]
:CNI-0123 - [0:0]
-A PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES
-A PREROUTING -j DOCKER
-A POSTROUTING -s 10.244.0.2/32 -m comment --comment "name: \\"x\\"" -j CNI-0123
-A KUBE-SERVICES -j ACCEPT
COMMIT
*filter
:FORWARD ACCEPT [0:0]
-A FORWARD -m comment --comment "KUBE-ROUTER rule to explicitly ACCEPT" -m mark --mark 0x2 -j ACCEPT
COMMIT
"""


def test_the_rules_of_others_are_left_alone() -> None:
    script = firewall.removal(_SAVED)
    assert "DOCKER" not in script


def test_rules_are_deleted_before_the_chains_they_lead_to() -> None:
    assert firewall.removal(_SAVED).splitlines() == [
        "*nat",
        '-D PREROUTING -m comment --comment "kubernetes service portals" -j KUBE-SERVICES',
        '-D POSTROUTING -s 10.244.0.2/32 -m comment --comment "name: \\"x\\"" -j CNI-0123',
        "-F KUBE-SERVICES",
        "-F CNI-0123",
        "-X KUBE-SERVICES",
        "-X CNI-0123",
        "COMMIT",
        "*filter",
        '-D FORWARD -m comment --comment "KUBE-ROUTER rule to explicitly ACCEPT"'
        " -m mark --mark 0x2 -j ACCEPT",
        "COMMIT",
    ]


def test_rules_of_kubernetes_in_chains_of_others_are_traces_too() -> None:
    found = firewall.traces(_SAVED)
    assert len(found) == 5
    assert any("KUBE-ROUTER rule" in line for line in found)


def test_mounts_are_taken_innermost_first_and_a_neighbour_is_no_child() -> None:
    info = "\n".join(
        f"1 1 0:1 / {point} rw - ext4 /dev/x rw"
        for point in ("/", "/state", "/state/a", "/state/a/b\\040c", "/stately")
    )
    assert mounts.below(Path("/state"), info) == ["/state/a/b c", "/state/a", "/state"]


def test_both_versions_of_control_groups_are_found() -> None:
    text = (
        "cgroup /sys/fs/cgroup/cpu cgroup rw 0 0\n"
        "cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n"
        "tmpfs /tmp tmpfs rw 0 0\n"
    )
    assert cgroups.hierarchies(text) == [
        (Path("/sys/fs/cgroup/cpu"), "cgroup"),
        (Path("/sys/fs/cgroup/unified"), "cgroup2"),
    ]


def test_kernel_settings_are_put_back_as_they_were_first_noted(tmp_path: Path) -> None:
    root, notes = tmp_path / "sys", tmp_path / "notes.json"
    setting = root / "net/ipv4/ip_forward"
    setting.parent.mkdir(parents=True)
    setting.write_text("0\n")
    sysctls.note(notes, root)
    sysctls.prepare(root)
    assert setting.read_text() == "1"
    sysctls.note(notes, root)
    sysctls.restore(notes, root)
    assert setting.read_text() == "0"
    assert json.loads(notes.read_text()) == {"net/ipv4/ip_forward": "0"}
