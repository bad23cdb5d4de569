"""The machine to break, a disk to fill, and a training on both."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.alone.faults import Machine, small_disk
from tests.cluster.alone.training import PER_CALL, Training
from tests.cluster.conftest import SMALL, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.programs import ENDLESS, SLOWLY
from tests.support.waiting import eventually
from tools.machine.layout import Addresses, default_layout
from tools.machine.volume import StaticVolume, create

USER = 1000
MEGABYTES = 100
TRAIN = {"stepsPerCall": PER_CALL, "batchSize": 32, "checkpoint": {"seconds": 5}}

Train = Callable[[str, dict[str, Any], tuple[str, ...]], Training]


@pytest.fixture(scope="module")
def machine(namespace: Namespace) -> Machine:
    layout = default_layout()
    if namespace.kubeconfig != str(layout.kubeconfig):
        pytest.skip("KUBECONFIG names another cluster, whose node is not ours to break")
    return Machine(layout, namespace)


@pytest.fixture(scope="module")
def train(
    machine: Machine, make_values: MakeValues, make_release: Callable[[str], Release]
) -> Iterator[Train]:
    """Start a training of a combination and its roles, whose /log is small enough to be filled."""
    with ExitStack() as at_the_end:

        def start(name: str, method: dict[str, Any], roles: tuple[str, ...]) -> Training:
            release = make_release(name)
            volume, directory = f"{release.namespace.name}-{name}", _disk(release, at_the_end)

            def write_values(steps: int) -> Path:
                return make_values(
                    name,
                    small=False,
                    **SLOWLY,
                    resources={role: SMALL[role] for role in roles},
                    workers=2,
                    log={"volume": volume, "class": "", "accessModes": ["ReadWriteMany"]},
                    train={**TRAIN, "steps": steps},
                    **method,
                )

            release.install(write_values(ENDLESS))
            at_the_end.callback(release.uninstall)
            training = Training(name, roles, release, directory, write_values)
            eventually("a checkpoint", training.saved, 120)
            return training

        yield start


def _disk(release: Release, at_the_end: ExitStack) -> Path:
    """A volume for the release's claim, a small file system of its own."""
    kubectl, name = release.namespace.kubectl, f"{release.namespace.name}-{release.name}"
    directory = create(StaticVolume(name, USER), default_layout(), Addresses())
    at_the_end.callback(kubectl, "delete", "pv", name, "--wait=false")
    try:
        at_the_end.enter_context(small_disk(directory, USER, MEGABYTES))
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine lets nobody mount a volume: {error.stderr.decode()}")
    claim = ("delete", "pvc", f"{release.name}-log", "--ignore-not-found", "--timeout=120s")
    at_the_end.callback(kubectl, *claim)
    return directory
