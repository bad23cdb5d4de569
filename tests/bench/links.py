"""A network in which each task has a link of its own, of so many bits a second each way.

Every task is in a network namespace. A veth pair joins it to a bridge, which is in a namespace
too: so the machine's own network, its filters and routes are neither used nor touched. `tc` tbf
holds both ends to the rate. It needs root. There is no delay: netem is not in every kernel.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import time
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench import processes

GIGABIT = 1_000_000_000
PREFIX = "tfc-links"
# tbf sends what it has saved up at once; a switch of that speed queues a few milliseconds.
BURST, QUEUE = "128kb", "10ms"
MOST = 250  # hosts of one /24
NEEDED = "root, iproute2, veth and tbf"
_OURS = re.compile(rf"^{PREFIX}-(\d+)-")
_numbers = itertools.count()


class LinksError(Exception):
    """This machine does not make them."""


@dataclass(frozen=True)
class Traffic:
    """Bytes that a task has sent and received over its link, headers too."""

    sent: int
    received: int

    def since(self, before: Traffic) -> Traffic:
        """What came to it from then on."""
        return Traffic(self.sent - before.sent, self.received - before.received)


class Links:
    """The network of these tasks. Its namespaces go with it, and whatever still runs in them.

    What a killed process left of its own is removed when the next one makes links.
    """

    def __init__(self, tasks: Sequence[str], bits_per_second: int = GIGABIT) -> None:
        if len(tasks) > MOST:
            raise ValueError(f"{len(tasks)} tasks: {MOST} at most")
        remove_leftovers()
        self._name = f"{PREFIX}-{os.getpid()}-{next(_numbers)}"
        self._places = {task: number for number, task in enumerate(tasks)}
        self._end = weakref.finalize(self, _remove, self._name)
        try:
            self._make(f"rate {bits_per_second}bit burst {BURST} latency {QUEUE}")
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """End what runs in it and remove it."""
        self._end()

    def host(self, task: str) -> str:
        """The task's address. Several networks have the same: they do not meet."""
        return f"10.99.0.{self._places[task] + 1}"

    def inside(self, task: str, *command: str) -> tuple[str, ...]:
        """The command, as it runs in the task's namespace; it keeps its process id."""
        return ("ip", "netns", "exec", self._space(task), *command)

    def traffic(self) -> Mapping[str, Traffic]:
        """What each task has sent and received so far."""
        return traffic_of(_ip("-s", "-j", "link", inside=self._hub), self._places)

    @property
    def _hub(self) -> str:
        return f"{self._name}-hub"

    def _space(self, task: str) -> str:
        return f"{self._name}-{task}"

    def _make(self, shape: str) -> None:
        spaces = [self._hub, *map(self._space, self._places)]
        _ip("-batch", "-", script=[f"netns add {space}" for space in spaces])
        script = ["link add bridge0 type bridge", "link set bridge0 up"]
        for task in self._places:
            end = self._interface(task)
            script += [
                f"link add {end} type veth peer name eth0 netns {self._space(task)}",
                f"link set {end} master bridge0 up",
            ]
        _ip("-batch", "-", inside=self._hub, script=script)
        ends = [f"qdisc add dev {self._interface(task)} root tbf {shape}" for task in self._places]
        _run("tc", "-n", self._hub, "-batch", "-", script=ends)
        for task in self._places:
            address = f"addr add {self.host(task)}/24 dev eth0"
            space = self._space(task)
            up = ["link set lo up", address, "link set eth0 up"]
            _ip("-batch", "-", inside=space, script=up)
            _run("tc", "-n", space, "qdisc", "add", "dev", "eth0", "root", "tbf", *shape.split())

    def _interface(self, task: str) -> str:
        return interface(self._places[task])


def interface(place: int) -> str:
    """The name of the bridge's end of a task's link."""
    return f"task{place}"


def traffic_of(told: str, places: Mapping[str, int]) -> Mapping[str, Traffic]:
    """What `ip -s -j link` said at the bridge: what comes in there, the task has sent."""
    found = {one["ifname"]: one["stats64"] for one in json.loads(told)}
    return {
        task: Traffic(
            found[interface(place)]["rx"]["bytes"], found[interface(place)]["tx"]["bytes"]
        )
        for task, place in places.items()
    }


def remove_leftovers() -> None:
    """Remove the networks whose maker is gone."""
    for name, maker in makers(_ip("netns", "list")).items():
        if not Path(f"/proc/{maker}").exists():
            _remove(name)


def makers(told: str) -> Mapping[str, int]:
    """Of the namespaces that `ip netns list` names, ours, each with who made it."""
    names = [line.split()[0] for line in told.splitlines() if line.strip()]
    return {name: int(found[1]) for name in names if (found := _OURS.match(name))}


def _remove(prefix: str) -> None:
    """The namespaces of one network (or one of them), and all that runs in them."""
    for name in makers(_ip("netns", "list")):
        if name == prefix or name.startswith(f"{prefix}-"):
            for _ in range(50):
                running = [int(pid) for pid in _ip("netns", "pids", name).split()]
                if not running:
                    break
                processes.send(running, signal.SIGKILL)
                time.sleep(0.1)
            with contextlib.suppress(LinksError):  # somebody was faster
                _ip("netns", "delete", name)


def _ip(*arguments: str, inside: str | None = None, script: Sequence[str] = ()) -> str:
    return _run("ip", *(("-n", inside) if inside else ()), *arguments, script=script)


def _run(*command: str, script: Sequence[str] = ()) -> str:
    done = subprocess.run(
        command, input="\n".join(script), check=False, capture_output=True, text=True
    )
    if done.returncode:
        raise LinksError(f"{' '.join(command)}: {done.stderr.strip()} (links need {NEEDED})")
    return done.stdout
