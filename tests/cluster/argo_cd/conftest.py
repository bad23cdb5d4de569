"""A running Argo CD and a repository that it syncs from, for the cases of one file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest

from tests.cluster.argo_cd.application import Application
from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Namespace
from tests.support.argo_cd import REDIS, ArgoCD, Repository, lacking, running_argo_cd
from tools.machine import packages
from tools.machine.failure import MachineError
from tools.machine.layout import default_layout

MakeApplication = Callable[[str], Application]


@pytest.fixture(scope="module")
def argo_cd(
    kube_config: str, namespace: Namespace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ArgoCD]:
    layout = default_layout()
    if kube_config != str(layout.kubeconfig):
        pytest.skip("KUBECONFIG names another cluster, whose definitions of Argo CD may be in use")
    if os.geteuid() == 0:
        try:
            packages.ensure((REDIS,), layout)
        except MachineError as error:
            pytest.skip(str(error))
    if lacking():
        pytest.skip(lacking())
    with running_argo_cd(namespace, tmp_path_factory.mktemp("argo-cd")) as running:
        yield running


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    return Repository(tmp_path_factory.mktemp("git") / "trainings")


@pytest.fixture(scope="module")
def make_application(
    argo_cd: ArgoCD, repository: Repository, make_values: MakeValues
) -> MakeApplication:
    """An Application that is not in the cluster yet."""
    return lambda name: Application(name, argo_cd, repository, make_values)
