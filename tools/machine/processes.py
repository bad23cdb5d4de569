"""The machine's processes. Each carries a mark in its environment, and so do its children.

The mark is what makes it safe to end them: a process is signalled only through a handle
(pidfd) that was opened before its mark was read, so neither a recycled id nor a program
of the same name that someone else started can be hit, and nothing is lost when a start
was cut off before it could write down what it had started.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .components import Component
from .failure import MachineError, log_tail
from .layout import Layout

MARK = "TF_CLUSTER_TEST_MACHINE"
NAME = "TF_CLUSTER_TEST_PROCESS"
_PROC = Path("/proc")


@dataclass(frozen=True)
class Process:
    """A live process with the machine's mark. `program` is the path of what it runs."""

    pid: int
    name: str
    program: str


def start(component: Component, layout: Layout) -> None:
    """Start it in a session of its own, its words appended to its log file.

    Returns when it can be told by its mark, or has ended: for a moment after exec(2) closed what
    Popen waits for, Linux shows an empty environment, and what runs would be taken for dead.
    """
    layout.logs.mkdir(parents=True, exist_ok=True)
    environment = {
        "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": str(layout.state),
        MARK: str(layout.state),
        NAME: component.name,
    }
    with (layout.logs / f"{component.name}.log").open("ab") as log:
        started = subprocess.Popen(
            component.command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd="/",
            start_new_session=True,
        )
    deadline = time.monotonic() + 5
    while MARK not in _environment(started.pid) and started.poll() is None:
        if time.monotonic() > deadline:
            raise died(component, layout)
        time.sleep(0.001)


def marked(layout: Layout) -> Iterator[Process]:
    """Every process that the machine started, and their children that kept the mark."""
    for pid in _pids():
        environment = _environment(pid)
        if environment.get(MARK) == str(layout.state):
            try:
                program = str((_PROC / str(pid) / "exe").readlink())
            except OSError:
                continue
            yield Process(pid, environment.get(NAME, ""), program)


def running(components: Iterable[Component], layout: Layout) -> frozenset[str]:
    """The names of those components whose own process is alive (a child's does not count)."""
    alive = {(process.name, process.program) for process in marked(layout)}
    return frozenset(
        component.name
        for component in components
        if (component.name, os.path.realpath(component.command[0])) in alive
    )


def end(layout: Layout, only: str | None = None, grace: float = 0.0) -> list[str]:
    """End every marked process (or those named `only`) and wait until they are gone.

    With `grace` they get SIGTERM first and as many seconds; returns the names of the ended.
    """
    ended: list[str] = []
    deadline = time.monotonic() + 20
    asked_until = time.monotonic() + grace
    while True:
        handles = list(_handles(layout, only))
        if not handles:
            return ended
        if time.monotonic() > deadline:
            left = ", ".join(process.name for process, _ in handles)
            raise MachineError(f"these processes do not end: {left}")
        polite = time.monotonic() < asked_until
        for process, handle in handles:
            try:
                signal.pidfd_send_signal(handle, signal.SIGTERM if polite else signal.SIGKILL)
            except ProcessLookupError:
                continue
            if process.name not in ended:
                ended.append(process.name)
        wait = asked_until - time.monotonic() if polite else 2.0
        _wait_until_gone([handle for _, handle in handles], max(wait, 0.01))
        for _, handle in handles:
            os.close(handle)


def died(component: Component, layout: Layout) -> MachineError:
    """The failure to raise when a component is gone or never became well."""
    tail = log_tail(layout.logs / f"{component.name}.log")
    return MachineError(f"{component.name} did not become well\n{tail}")


def _handles(layout: Layout, only: str | None) -> Iterator[tuple[Process, int]]:
    for pid in _pids():
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        environment = _environment(pid)
        name = environment.get(NAME, "")
        if environment.get(MARK) == str(layout.state) and only in (None, name):
            yield Process(pid, name, ""), handle
        else:
            os.close(handle)


def _pids() -> list[int]:
    names = (entry.name for entry in _PROC.iterdir())
    return [int(name) for name in names if name.isdigit() and int(name) != os.getpid()]


def _environment(pid: int) -> dict[str, str]:
    """Empty for a process that is gone, a zombie, or another user's."""
    try:
        raw = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.split("=", 1) for entry in raw.decode(errors="replace").split("\0"))
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def _wait_until_gone(handles: list[int], seconds: float) -> None:
    poll = select.poll()
    for handle in handles:
        poll.register(handle, select.POLLIN)
    waiting = set(handles)
    until = time.monotonic() + seconds
    while waiting and (left := until - time.monotonic()) > 0:
        for handle, _ in poll.poll(left * 1000):
            poll.unregister(handle)
            waiting.discard(handle)
