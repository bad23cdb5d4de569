"""The address that an owner is asked at while its Service may be gone."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest
from tf_cluster_trainer.supervisor.peers.own_address import by_ip

PROGRAM = """
import sys
from tf_cluster_trainer.supervisor.peers.own_address import by_ip
print(by_ip(sys.argv[1]))
"""


def test_a_task_on_loopback_is_reached_there() -> None:
    assert by_ip("127.0.0.1:8080") == by_ip("localhost:8080") == "127.0.0.1:8080"


def test_a_name_without_an_address_stays() -> None:
    assert by_ip("nobody.invalid:8080") == "nobody.invalid:8080"


def test_a_pod_is_reached_at_its_own_address_and_not_at_its_services() -> None:
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and ip")
    name = f"tf-own-{os.getpid()}"
    subprocess.run(("ip", "netns", "add", name), check=True)
    try:
        link = ("link", "add", "eth0", "type", "veth", "peer", "name", "eth1")
        for command in (
            link,
            ("address", "add", "192.0.2.7/24", "dev", "eth0"),
            ("link", "set", "eth1", "up"),
            ("link", "set", "eth0", "up"),
            ("route", "add", "default", "via", "192.0.2.1"),
        ):
            subprocess.run(("ip", "-n", name, *command), check=True)
        # Of a Service: no interface has it, and packets go there by the pod's own.
        asked = ("ip", "netns", "exec", name, sys.executable, "-c", PROGRAM, "198.51.100.9:8080")
        said = subprocess.run(asked, check=True, capture_output=True, text=True).stdout
    finally:
        subprocess.run(("ip", "netns", "delete", name), check=True)
    assert said == "192.0.2.7:8080\n"
