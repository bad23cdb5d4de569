"""Whether the cluster suite can run here, and on what."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.cluster import turns
from tests.suites.commands import end, weigh
from tests.suites.suite import ROOT
from tests.tied import tied_to_us

MACHINE = (sys.executable, "-m", "tools.machine")
NEED_LARGE_TOOLS = tuple(
    f"tests/cluster/{name}"
    for name in ("argo_cd", "test_gang.py", "test_scheduling.py", "test_versions.py")
)
"""The cases that need a large program: one that has to build it might come to its limit."""


URGENT = -10
"""How much of the machine that gets without which no case of the cluster begins (`weigh`)."""


@dataclass(frozen=True)
class Place:
    """Where the cluster suite runs: the user's own cluster, one made here, or nowhere and why."""

    kubeconfig: str = ""
    own: bool = False
    reason: str = ""


def place(environment: Mapping[str, str]) -> Place:
    """The cluster that KUBECONFIG names, else one of our own where that can be made."""
    if environment.get("KUBECONFIG"):
        return Place(kubeconfig=environment["KUBECONFIG"])
    if platform.system() != "Linux" or not Path("/etc/debian_version").exists():
        return Place(reason="no KUBECONFIG, and our own Kubernetes needs Debian")
    if os.geteuid() != 0:
        return Place(reason="no KUBECONFIG, and our own Kubernetes needs root")
    if shutil.which("go") is None:
        return Place(reason="no KUBECONFIG, and our own Kubernetes needs Go (1.26 or later)")
    return Place(own=True)


def is_up() -> bool:
    """Whether our own Kubernetes is up already: then whoever started it also ends it."""
    return (
        subprocess.run((*MACHINE, "status"), cwd=ROOT, capture_output=True, check=False).returncode
        == 0
    )


def up() -> str:
    """Bring our own Kubernetes up; returns the path of its kubeconfig.

    Raises CalledProcessError; what went wrong is on stderr by then.
    """
    printed = subprocess.run(
        (*MACHINE, "up"), cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    return printed.strip().partition("KUBECONFIG=")[2].strip("'\"")


class Build:
    """A command of the machine, beside something else; what it prints is kept meanwhile.

    `nice` says how much of the machine it gets, as `weigh` has it.
    """

    def __init__(self, what: str, log: Path, *arguments: str, nice: int) -> None:
        self._what = what
        self._log = log
        self._is_shown = False
        self._command = (*MACHINE, *arguments)
        with log.open("w") as file:
            self._process = subprocess.Popen(
                tied_to_us(*self._command),
                cwd=ROOT,
                stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        weigh(nice, self._process.pid)

    def is_through(self) -> bool:
        """Whether it has ended, well or not."""
        return self._process.poll() is not None

    def finish(self) -> None:
        """Wait for its end and print what it has printed. Raises CalledProcessError."""
        code = self._process.wait()
        self._show()
        if code:
            raise subprocess.CalledProcessError(code, self._command)

    def end(self) -> None:
        """End it, if it still runs, and print what it has printed, if that is not done yet."""
        if self._process.poll() is None:
            end(self._process)
        if not self._is_shown:
            self._show()

    def _show(self) -> None:
        self._is_shown = True
        said = self._log.read_text(errors="replace")
        print(f"--- {self._what}, built beside\n{said}", flush=True)


def image_build(log: Path) -> Build:
    """The trainer image: its base and its packages come by the network, and it is waited for."""
    return Build("the image", log, "image", "--load", "none", nice=URGENT)


def tools_build(log: Path, *, full: bool) -> Build:
    """The large programs that this run needs, where that is not done yet."""
    programs = turns.programs(full=full)
    return Build("large programs", log, "tools", "argocd", *programs, nice=0)


def image(*targets: str) -> None:
    """Build the trainer's images and a model server's, where that is not done yet, and load them.

    Without a target it is all three: two have all layers of the first. Raises CalledProcessError.
    """
    for target in targets or ("cpu", "notebook", "serving-stand-in"):
        subprocess.run((*MACHINE, "image", "--target", target), cwd=ROOT, check=True)


def apis() -> None:
    """Give our own Kubernetes the APIs that the chart may use. Raises CalledProcessError."""
    subprocess.run((*MACHINE, "apis"), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def browser() -> None:
    """Install Chromium and its driver, where they are missing. Raises CalledProcessError."""
    subprocess.run((*MACHINE, "browser"), cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def down() -> None:
    """End our own Kubernetes. Raises CalledProcessError."""
    subprocess.run((*MACHINE, "down"), cwd=ROOT, check=True)


def version(kubeconfig: str) -> str:
    """`Kubernetes v1.36.3`, or what kept it from answering."""
    tool = subprocess.run(
        (*MACHINE, "tools", "kubectl"), cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.strip()
    answer = subprocess.run(
        (tool or "kubectl", "version", "--output=json"),
        env={**os.environ, "KUBECONFIG": kubeconfig},
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        return f"Kubernetes {json.loads(answer.stdout)['serverVersion']['gitVersion']}"
    except (ValueError, KeyError):
        return f"Kubernetes of unknown version: {answer.stderr}"
