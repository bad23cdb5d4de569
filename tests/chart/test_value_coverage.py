"""Every value does something: a release with another value renders to something else.

A value's case is a feature of features.py that sets it, beside the same feature without it. What no
feature can show so stands in OTHERS, and what no object shows in NOTES. A value that templates
ignore fails by its name, as one that has no case does.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, notes, render
from tools.chart.values_docs import Value, read_values

VALUES = [
    value for value in read_values((CHART / "values.yaml").read_text()) if not value.is_section
]
PATHS = {".".join(value.path): value for value in VALUES}

# A part of an umbrella chart that is left out: tests/chart/test_umbrella.py.
ELSEWHERE = {"enabled"}
# Only the notes after an install say it: the address of the status port, where others may read it.
NOTES: Mapping[str, Any] = {"clusterDomain": "cluster.example"}

ABSENT = object()
URL = "https://example.com/code.zip"
GIT = "https://example.com/code.git"
SHARED = {"accessModes": ["ReadWriteMany"]}


def program(**keys: Any) -> dict[str, Any]:
    return {"program": keys}


def optimizer(**keys: Any) -> dict[str, Any]:
    return {"train": {"optimizer": keys}}


def source(**keys: Any) -> dict[str, Any]:
    return program(source=keys)


def tensorboard(**keys: Any) -> dict[str, Any]:
    return {"tensorboard": {"enabled": True, **keys}}


def notebook(**keys: Any) -> dict[str, Any]:
    return {"notebook": {"enabled": True, **keys}}


# Beside the least values.
ALONE: Mapping[str, Mapping[str, Any]] = {
    "fullnameOverride": {"fullnameOverride": "other"},
    "image.repository": {"image": {"repository": "registry.example/other"}},
    "image.tag": {"image": {"tag": "1.2.3"}},
    "pod.affinity": {"pod": {"affinity": FEATURES["everything"]["worker"]["affinity"]}},
    "chief.backoffLimit": {"chief": {"backoffLimit": 1}},
    "pod.resourceClaims": {
        "pod": {"resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "gpu"}]}
    },
    "pod.containerSecurityContext": {
        "pod": {"containerSecurityContext": {"readOnlyRootFilesystem": False}}
    },
    "pod.extraVolumes": {"pod": {"extraVolumes": [{"name": "scratch", "emptyDir": {}}]}},
    "serviceAccount.create": {"serviceAccount": {"create": True}},
    **{f"{role}.image": {role: {"image": {"tag": "2"}}} for role in ("chief", "ps")},
    "worker.backoffLimit": {"worker": {"backoffLimit": 1}},
    "ps.preStopSeconds": {"ps": {"preStopSeconds": 5}},
    "ps.logVolume": {"ps": {"logVolume": True}},
    **{
        f"{role}.resources": {role: {"resources": {"requests": {"cpu": "123m"}}}}
        for role in ("chief", "ps", "cleanup")
    },
    "storage.data.size": {"storage": {"data": {"size": "7Gi"}}},
    "storage.log.dataSource": {
        "storage": {"log": {"dataSource": {"kind": "PersistentVolumeClaim", "name": "a"}}}
    },
    "storage.log.annotations": {"storage": {"log": {"annotations": {"a": "b"}}}},
    "security.podSecurityContext": {"security": {"podSecurityContext": {"fsGroup": 7}}},
}
# Two sets of values that differ in this value alone.
OTHERS: Mapping[str, tuple[Mapping[str, Any], Mapping[str, Any]]] = {
    "program.script": (
        program(module="", script="/data/a.py"),
        program(module="", script="/data/b.py"),
    ),
    "program.path": ({}, program(path="/data/code")),
    "program.source.url": (
        source(url=URL, sha256="ab" * 32),
        source(url=f"{URL}?2", sha256="ab" * 32),
    ),
    "program.source.sha256": (
        source(url=URL, sha256="ab" * 32),
        source(url=URL, sha256="cd" * 32),
    ),
    "program.source.git": (
        source(git=GIT, commit="ab" * 20),
        source(git=f"{GIT}2", commit="ab" * 20),
    ),
    "program.source.commit": (
        source(git=GIT, commit="ab" * 20),
        source(git=GIT, commit="cd" * 20),
    ),
    "train.optimizer.name": ({}, optimizer(name="SGD")),
    "train.optimizer.momentum": (
        optimizer(name="Momentum", momentum=0.9),
        optimizer(name="Momentum", momentum=0.5),
    ),
    "train.optimizer.schedule.name": (
        optimizer(schedule={"name": "cosine"}),
        optimizer(schedule={"name": "linear"}),
    ),
    "train.optimizer.schedule.endFactor": (
        optimizer(schedule={"name": "cosine"}),
        optimizer(schedule={"name": "cosine", "endFactor": 0.5}),
    ),
    "interactive.enabled": ({}, program(module="") | {"interactive": {"enabled": True}}),
    "storage.colocate": (
        {"storage": {"data": SHARED, "log": SHARED}},
        {"storage": {"data": SHARED, "log": SHARED, "colocate": True}},
    ),
    "scheduling.gang.provider": ({}, {"scheduling": {"gang": {"provider": "volcano"}}}),
    "evaluator.image": (
        {"evaluator": {"enabled": True}},
        {"evaluator": {"enabled": True, "image": {"tag": "2"}}},
    ),
    "storage.data.selector": (
        {"storage": {"data": {"storageClassName": ""}}},
        {"storage": {"data": {"storageClassName": "", "selector": {"matchLabels": {"a": "b"}}}}},
    ),
    "tensorboard.service.type": (tensorboard(), tensorboard(service={"type": "NodePort"})),
    "tensorboard.httpRoute.parentRefs": (
        tensorboard(httpRoute={"enabled": True, "parentRefs": [{"name": "a"}]}),
        tensorboard(httpRoute={"enabled": True, "parentRefs": [{"name": "b"}]}),
    ),
    "notebook.image": (notebook(), notebook(image={"tag": "2"})),
    "notebook.service.type": (notebook(), notebook(service={"type": "NodePort"})),
    "notebook.httpRoute.parentRefs": (
        notebook(httpRoute={"enabled": True, "parentRefs": [{"name": "a"}]}),
        notebook(httpRoute={"enabled": True, "parentRefs": [{"name": "b"}]}),
    ),
    **{name: ({}, value) for name, value in ALONE.items()},
}


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    for step in reversed(path):
        value = {step: value}
    return dict(value)


def at(values: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        if not isinstance(values, Mapping) or step not in values:
            return ABSENT
        values = values[step]
    return values


def without(values: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    rest = copy.deepcopy(dict(values))
    del at(rest, path[:-1])[path[-1]]
    return rest


def case(value: Value) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Two sets of values that differ in this value alone; None where there are none."""
    name = ".".join(value.path)
    if name in OTHERS:
        return OTHERS[name]
    for feature in FEATURES.values():
        told = at(feature, value.path)
        if told is not ABSENT and json.dumps(told) != json.dumps(value.default):
            return without(feature, value.path), feature
    return None


def test_every_value_has_a_case() -> None:
    missing = [
        name
        for name, value in PATHS.items()
        if name not in ELSEWHERE | NOTES.keys() and not case(value)
    ]
    assert not missing, "set them in tests/chart/features.py, or in OTHERS here"


def test_what_has_a_case_here_is_a_value() -> None:
    assert (OTHERS.keys() | NOTES.keys() | ELSEWHERE) <= PATHS.keys()


@pytest.mark.parametrize("name", [name for name in PATHS if name not in ELSEWHERE | NOTES.keys()])
def test_a_release_with_another_value_is_another(name: str) -> None:
    found = case(PATHS[name])
    assert found, f"{name} has no case: set it in tests/chart/features.py, or in OTHERS here"
    one, other = found
    assert render(one).objects != render(other).objects, f"{name} changes no object"


@pytest.mark.parametrize("name", NOTES)
def test_the_notes_of_a_release_with_another_value_are_others(name: str) -> None:
    read = {"security": {"networkPolicy": {"enabled": False}}}
    assert notes(read) != notes(read | nested(PATHS[name].path, NOTES[name]))
