"""Classes of Heketi before the in-tree provisioner itself: Kubernetes 1.25's own package.

Heketi is a stand-in that takes the provisioner's request and makes nothing.
"""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from tests.chart.helm import RefusedError
from tests.chart.tf_storage.features import HEKETI, OLD
from tests.chart.tf_storage.helm import render
from tests.cluster import turns
from tests.cluster.machine_tools import tool_path
from tests.slices import in_turn

pytestmark = [pytest.mark.cluster, in_turn(turns.HEKETI, of=turns.OF)]

URL = {"resturl": "http://10.0.0.5:8080"}


def provisioner_says(parameters: dict[str, str]) -> dict[str, Any]:
    done = subprocess.run(
        [tool_path("heketi-rules")],
        input=json.dumps(parameters),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return dict(json.loads(done.stdout))


def parameters_of(heketi: dict[str, Any]) -> dict[str, str]:
    (made,) = render({"classes": {"a": {"kind": "heketi", "heketi": heketi}}}, OLD).objects
    return dict(made["parameters"])


def test_every_parameter_reaches_heketi_as_meant() -> None:
    request = provisioner_says(parameters_of(HEKETI))["request"]
    assert request.pop("name").startswith("training_training_digits-log_")
    assert request == {
        "size": 5,
        "clusters": ["630372ccdc720a92c681fb928f27b53f"],
        "durability": {"type": "replicate", "replicate": {"replica": 2}, "disperse": {}},
        "gid": 40000,
        "glustervolumeoptions": ["client.ssl on", " diagnostics.brick-log-level DEBUG"],
        "snapshot": {"enable": True, "factor": 1.5},
    }


@pytest.mark.parametrize(
    ("heketi", "durability"),
    [
        ({}, {"type": "replicate", "replicate": {"replica": 3}, "disperse": {}}),
        ({"volumetype": "none"}, {"type": "none", "replicate": {}, "disperse": {}}),
        (
            {
                "volumetype": "disperse:4:2",
                "gidMin": 2000000,
                "gidMax": 2147483647,
                "snapfactor": 2,
            },
            {"type": "disperse", "replicate": {}, "disperse": {"data": 4, "redundancy": 2}},
        ),
        (
            {"restuser": "admin", "restuserkey": "key", "customepnameprefix": "x" * 26},
            {"type": "replicate", "replicate": {"replica": 3}, "disperse": {}},
        ),
        (
            {"restauthenabled": False},
            {"type": "replicate", "replicate": {"replica": 3}, "disperse": {}},
        ),
    ],
)
def test_what_the_chart_takes_the_provisioner_takes(
    heketi: dict[str, Any], durability: dict[str, Any]
) -> None:
    assert provisioner_says(parameters_of({**URL, **heketi}))["request"]["durability"] == durability


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"resturl": ""}, "must contain 'resturl'"),
        ({"secretName": "s"}, "either both set or both empty"),
        ({"secretNamespace": "n"}, "either both set or both empty"),
        ({"gidMin": 1999}, "gidMin must be >= 2000"),
        ({"gidMax": 2147483648}, "invalid gidMax value"),
        ({"gidMin": 5000, "gidMax": 4000}, "must have gidMax value >= gidMin"),
        ({"volumetype": "mirror"}, "error parsing value for option 'volumetype'"),
        ({"volumetype": "disperse:4"}, "must have data:redundancy count"),
        ({"volumenameprefix": "a_b"}, "should not contain '_'"),
        ({"snapfactor": 101}, "the value must be between 1 to 100"),
        ({"snapfactor": 0.5}, "the value must be between 1 to 100"),
        ({"customepnameprefix": "x" * 27}, "value should be < 26 characters"),
        ({"volumeType2": "x"}, "invalid option"),
    ],
)
def test_what_the_provisioner_refuses_the_chart_refuses(wrong: dict[str, Any], error: str) -> None:
    with pytest.raises(RefusedError):
        parameters_of({**URL, **wrong})
    told = provisioner_says({key: str(value) for key, value in {**URL, **wrong}.items() if value})
    assert error in told["error"], told
