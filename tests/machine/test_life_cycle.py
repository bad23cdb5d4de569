"""The whole life of a machine, for real, in a network namespace and a state folder of its own.

A test cluster that runs on this machine already is not disturbed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from tests.suites.suite import in_ci
from tests.support.waiting import eventually
from tools.machine import processes, tools
from tools.machine.configs import BUSYBOX_IMAGE
from tools.machine.layout import STATE_VARIABLE, Layout, default_layout

pytestmark = [pytest.mark.full, pytest.mark.cluster, pytest.mark.xdist_group("machine")]
NAMESPACE = "tf-cluster-cycle"
REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Machine:
    """Runs the command line, and kubectl, inside the namespace."""

    layout: Layout
    pristine: str = ""

    @property
    def inside(self) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{NAMESPACE}"]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, STATE_VARIABLE: str(self.layout.state)}

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self.inside, sys.executable, "-m", "tools.machine", *arguments],
            env=self.environment,
            cwd=REPOSITORY,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        running = self.start(*arguments)
        out, err = running.communicate(timeout=600)
        return subprocess.CompletedProcess(arguments, running.returncode, out, err)

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        program = tools.program("kubectl", self.layout.cache)
        config = f"--kubeconfig={self.layout.kubeconfig}"
        done = subprocess.run(
            [*self.inside, str(program), config, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"kubectl {' '.join(arguments)}: {done.stderr}"
        return done.stdout.strip()

    def ids(self) -> dict[str, int]:
        return {
            process.name: process.pid
            for process in processes.marked(self.layout)
            if Path(process.program).name == process.name
        }

    def network(self) -> str:
        """Interfaces, packet rules, sets and kernel settings of the namespace."""
        shown = (
            "ip -br link",
            "iptables-save | grep -e ^-A",
            "ip6tables-save | grep -e ^-A",
            "ipset list -n",
            "grep -rs . /proc/sys/net/ipv4/ip_forward /proc/sys/net/ipv4/conf/all",
            "grep -rs . /proc/sys/net/bridge",
        )
        return "".join(
            subprocess.run([*self.inside, "sh", "-c", one], capture_output=True, text=True).stdout
            for one in shown
        )


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    if os.geteuid() != 0:
        if in_ci(os.environ):
            pytest.fail("the life cycle of the test cluster can only be tested as root")
        pytest.skip("only root can start a test cluster")
    if os.environ.get("KUBECONFIG", "") not in ("", str(default_layout().kubeconfig)):
        pytest.skip("KUBECONFIG names another cluster: nothing is started on this machine")
    made = Machine(Layout(Path("/var/lib/tf-cluster-cycle"), default_layout().cache))
    _remove_namespace(made)
    subprocess.run(["ip", "netns", "add", NAMESPACE], check=True)
    subprocess.run([*made.inside, "ip", "link", "set", "lo", "up"], check=True)
    try:
        yield replace(made, pristine=made.network())
    finally:
        _remove_namespace(made)


@pytest.fixture
def up(machine: Machine) -> Machine:
    done = machine("up")
    assert done.returncode == 0, done.stderr
    return machine


def test_up_prints_only_the_export_line_and_makes_a_ready_node(machine: Machine) -> None:
    done = machine("up")
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"export KUBECONFIG={machine.layout.kubeconfig}\n"
    ready = "jsonpath={.items[*].status.conditions[?(@.type=='Ready')].status}"
    assert machine.kubectl("get", "nodes", "-o", ready) == "True"


def test_a_second_up_changes_nothing(up: Machine) -> None:
    before = up.ids()
    done = up("up")
    assert "already up" in done.stderr
    assert up.ids() == before
    assert len(before) == 9


def test_a_restricted_pod_resolves_names_and_writes_to_a_provisioned_claim(up: Machine) -> None:
    labels = ["pod-security.kubernetes.io/enforce=restricted"]
    with _namespace(up, "storage", labels) as namespace:
        claim = {"claim": "data", "command": "nslookup kube-dns.kube-system.svc.cluster.local"}
        up.kubectl("apply", "-n", namespace, "-f", "-", stdin=_CLAIM + _pod("writer", **claim))
        _wait_for(up, namespace, "writer", "Succeeded")
        assert "10.96.0.10" in up.kubectl("logs", "-n", namespace, "writer")
        folders = list(up.layout.provisioned.iterdir())
        assert [(folder / "written").exists() for folder in folders] == [True]
    _until(lambda: not any(up.layout.provisioned.iterdir()), "the claim's folder is removed")


def test_a_policy_lets_a_friend_in_and_keeps_a_stranger_out(up: Machine) -> None:
    with _namespace(up, "policy", []) as namespace:
        up.kubectl("apply", "-n", namespace, "-f", "-", stdin=_POLICY + _SERVER)
        _wait_for(up, namespace, "server", "Running")
        address = up.kubectl("get", "pod", "-n", namespace, "server", "-o=jsonpath={.status.podIP}")
        ask = f"nc -w 3 {address} 2222 < /dev/null"
        # The policy is enforced a moment after it is made: each asks until it has its answer.
        let_in = f"until {ask}; do sleep 1; done"
        kept_out = f"while {ask}; do sleep 1; done"
        pods = _pod("friend", command=let_in, label="friend") + _pod("stranger", command=kept_out)
        up.kubectl("apply", "-n", namespace, "-f", "-", stdin=pods)
        _wait_for(up, namespace, "friend", "Succeeded")
        _wait_for(up, namespace, "stranger", "Succeeded")


def test_up_repairs_what_was_killed_and_the_pods_live_on(up: Machine) -> None:
    pod = "jsonpath={.items[0].status.containerStatuses[0].containerID}"
    before, container = up.ids(), up.kubectl("get", "pods", "-n=kube-system", "-o", pod)
    for name in ("kube-apiserver", "kubelet"):
        os.kill(before[name], 9)
    done = up("up")
    assert done.returncode == 0, done.stderr
    assert "repairing: kubelet is not running" in done.stderr
    after = up.ids()
    assert after["etcd"] == before["etcd"]
    assert after["kubelet"] != before["kubelet"]
    assert up.kubectl("get", "pods", "-n=kube-system", "-o", pod) == container


def test_up_starts_over_when_the_bridge_is_gone(up: Machine) -> None:
    before = up.ids()
    subprocess.run([*up.inside, "ip", "link", "delete", "tfc0"], check=True)
    done = up("up")
    assert done.returncode == 0, done.stderr
    assert not set(before.values()) & set(up.ids().values())


def test_up_follows_a_start_that_was_cut_off(machine: Machine) -> None:
    machine("down")
    cut_off = machine.start("up")
    _until(lambda: "kube-apiserver" in machine.ids(), "the API server is started")
    cut_off.kill()
    cut_off.communicate()
    done = machine("up")
    assert done.returncode == 0, done.stderr


def test_a_component_that_ends_is_named_with_the_end_of_its_log(machine: Machine) -> None:
    machine("down")
    port = "127.0.0.1:12379"
    squatter = subprocess.Popen(
        [*machine.inside, sys.executable, "-c", _SQUATTER, port],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert squatter.stdout is not None
    squatter.stdout.readline()
    try:
        done = machine("up")
    finally:
        squatter.kill()
        squatter.communicate()
    assert done.returncode == 1
    assert "etcd did not become well" in done.stderr
    assert "address already in use" in done.stderr


def test_down_leaves_nothing(machine: Machine) -> None:
    machine("down")
    up = machine("up")
    assert up.returncode == 0, up.stderr
    found = machine("check")
    assert found.returncode == 1
    done = machine("down")
    assert done.returncode == 0, done.stderr
    after = machine("check")
    assert (after.returncode, after.stdout) == (0, "")
    # The kernel takes the cables of a pod's namespace away in its own time.
    eventually("the network as before", lambda: machine.network() == machine.pristine, 10)
    assert not machine.layout.state.exists()


def test_down_of_nothing_is_fine(machine: Machine) -> None:
    machine("down")
    done = machine("down")
    assert (done.returncode, done.stderr) == (0, "there is no test cluster\n")


def _remove_namespace(machine: Machine) -> None:
    if Path("/run/netns", NAMESPACE).exists():
        machine("down")
        subprocess.run(["ip", "netns", "delete", NAMESPACE], check=True)
    shutil.rmtree(machine.layout.state, ignore_errors=True)


class _namespace:  # noqa: N801 (reads as a function)
    def __init__(self, machine: Machine, name: str, labels: list[str]) -> None:
        self._machine, self._name, self._labels = machine, name, labels

    def __enter__(self) -> str:
        self._machine.kubectl("create", "namespace", self._name)
        if self._labels:
            self._machine.kubectl("label", "namespace", self._name, *self._labels)
        return self._name

    def __exit__(self, *failure: object) -> None:
        self._machine.kubectl("delete", "namespace", self._name)


def _wait_for(machine: Machine, namespace: str, pod: str, phase: str) -> None:
    seen = ""

    def reached() -> bool:
        nonlocal seen
        path = "jsonpath={.status.phase}"
        seen = machine.kubectl("get", "pod", "-n", namespace, pod, "-o", path)
        return seen == phase

    _until(reached, f"pod {pod} is {phase}", lambda: seen)


def _until(
    reached: Callable[[], bool], what: str, seen: Callable[[], str] = lambda: "", seconds: int = 60
) -> None:
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"after {seconds} s not yet: {what}; last: {seen()}"
        time.sleep(0.2)


def _pod(name: str, command: str, label: str = "other", claim: str = "") -> str:
    volume = f"{{name: data, persistentVolumeClaim: {{claimName: {claim}}}}}" if claim else ""
    mount = "{name: data, mountPath: /data}" if claim else ""
    line = f"{command} && touch /data/written" if claim else command
    return textwrap.dedent(f"""\
        ---
        apiVersion: v1
        kind: Pod
        metadata: {{name: {name}, labels: {{who: {label}}}}}
        spec:
          restartPolicy: Never
          terminationGracePeriodSeconds: 0
          securityContext:
            runAsNonRoot: true
            runAsUser: 1000
            seccompProfile: {{type: RuntimeDefault}}
          containers:
            - name: only
              image: {BUSYBOX_IMAGE}
              command: [sh, -c, "{line}"]
              securityContext:
                allowPrivilegeEscalation: false
                capabilities: {{drop: [ALL]}}
              volumeMounts: [{mount}]
          volumes: [{volume}]
        """)


_CLAIM = """\
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
"""
_POLICY = """\
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: friends}
spec:
  podSelector: {matchLabels: {who: server}}
  ingress: [{from: [{podSelector: {matchLabels: {who: friend}}}]}]
"""
_SERVER = _pod("server", command="nc -ll -p 2222 -e /bin/true", label="server")
_SQUATTER = """\
import socket, sys, time
host, port = sys.argv[1].split(":")
taken = socket.create_server((host, int(port)))
print("taken", flush=True)
time.sleep(600)
"""
