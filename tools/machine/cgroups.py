"""The control groups of all pods lie below one group of ours, in both versions of the interface."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

from .layout import Layout

# All pods together, where another suite has 1024 (version 2: 100) with all its processes, if Linux
# groups them by session, else each of them.
SHARES = {"cpu.shares": "2048", "cpu.weight": "200"}


def hierarchies(mounts: str) -> list[tuple[Path, str]]:
    """(mount point, `cgroup` or `cgroup2`) of every hierarchy in the text of /proc/mounts."""
    fields = (line.split() for line in mounts.splitlines())
    return [(Path(field[1]), field[2]) for field in fields if field[2] in ("cgroup", "cgroup2")]


def create(layout: Layout) -> None:
    """Make the group everywhere; the kubelet refuses to start below one that is not there."""
    for mount, version in hierarchies(Path("/proc/mounts").read_text()):
        if version == "cgroup2":
            _delegate(mount)
        group = mount / layout.name
        group.mkdir(exist_ok=True)
        for name, share in SHARES.items():
            if (group / name).exists():
                (group / name).write_text(share)


def groups(layout: Layout) -> list[Path]:
    """The group's folders, one per hierarchy, that exist now."""
    mounts = hierarchies(Path("/proc/mounts").read_text())
    return [mount / layout.name for mount, _ in mounts if (mount / layout.name).exists()]


def end_all_in_them(layout: Layout) -> None:
    """Kill whatever runs in the group: pods' processes, and nothing else can be in there."""
    deadline = time.monotonic() + 20
    while pids := set(_members(layout)):
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        if time.monotonic() > deadline:
            return
        time.sleep(0.05)


def remove(layout: Layout) -> None:
    """Remove the group's folders, children first."""
    deadline = time.monotonic() + 10
    for group in groups(layout):
        for folder, _, _ in list(os.walk(group, topdown=False)):
            _remove_folder(Path(folder), deadline)


def _members(layout: Layout) -> Iterator[int]:
    for group in groups(layout):
        for folder, _, _ in os.walk(group):
            try:
                yield from map(int, (Path(folder) / "cgroup.procs").read_text().split())
            except OSError:
                continue


def _remove_folder(folder: Path, deadline: float) -> None:
    while True:
        try:
            folder.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as busy:
            if busy.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _delegate(mount: Path) -> None:
    """Version 2 gives a child only the controllers that its parent hands down."""
    available = (mount / "cgroup.controllers").read_text().split()
    for controller in available:
        try:
            (mount / "cgroup.subtree_control").write_text(f"+{controller}")
        except OSError:
            continue
