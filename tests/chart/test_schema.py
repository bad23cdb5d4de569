"""What values.schema.json refuses, by Helm and by Python's validator alike."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, LEAST, merged, refusal, render

VALIDATOR = jsonschema.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))

OF_NOTHING = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "0.0Gi"}}}

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown key at the root": ({"wrokers": 2}, "'wrokers' not allowed"),
    "an unknown key below": ({"worker": {"replica": 2}}, "'replica' not allowed"),
    "a text for a number": ({"worker": {"replicas": "2"}}, "at '/worker/replicas': got string"),
    "half a worker": ({"worker": {"replicas": 1.5}}, "at '/worker/replicas'"),
    "no worker": ({"worker": {"replicas": 0}}, "at '/worker/replicas': minimum: got 0, want 1"),
    "no ps": ({"ps": {"replicas": 0}}, "at '/ps/replicas': minimum: got 0, want 1"),
    "no steps": ({"train": {"steps": 0}}, "at '/train/steps': minimum"),
    "a negative seed": ({"train": {"seed": -1}}, "at '/train/seed': minimum"),
    "a learning rate of zero": (
        {"train": {"optimizer": {"learningRate": 0}}},
        "at '/train/optimizer/learningRate': exclusiveMinimum",
    ),
    "an optimizer that is not there": (
        {"train": {"optimizer": {"name": "RMSprop"}}},
        "at '/train/optimizer/name': value must be one of",
    ),
    "too much momentum": (
        {"train": {"optimizer": {"momentum": 1.5}}},
        "at '/train/optimizer/momentum': maximum",
    ),
    "a strategy that is not there": ({"strategy": "ps"}, "at '/strategy': value must be one of"),
    "a number for a tag": ({"image": {"tag": 1.0}}, "at '/image/tag': got number, want string"),
    "a digest of another kind": ({"image": {"digest": "md5:00"}}, "at '/image/digest'"),
    "a pull policy in small letters": (
        {"image": {"pullPolicy": "always"}},
        "at '/image/pullPolicy': value must be one of",
    ),
    "a program without its class": ({"program": {"module": "a.b"}}, "at '/program/module'"),
    "a run id with a slash": ({"run": {"id": "a/b"}}, "at '/run/id'"),
    "a number for a run id": ({"run": {"id": 2}}, "at '/run/id': got number, want string"),
    "an attempt of zero": ({"run": {"attempt": 0}}, "at '/run/attempt': minimum"),
    "a size without a unit's letter right": (
        {"storage": {"log": {"size": "5 GB"}}},
        "at '/storage/log/size'",
    ),
    "a claim for one pod": (
        {"storage": {"log": {"accessModes": ["ReadWriteOncePod"]}}},
        "at '/storage/log/accessModes/0': value must be one of",
    ),
    "a log that can't be written": (
        {"storage": {"log": {"accessModes": ["ReadOnlyMany"]}}},
        "at '/storage/log/accessModes/0': value must be one of",
    ),
    "no access mode": (
        {"storage": {"data": {"accessModes": []}}},
        "at '/storage/data/accessModes': minItems",
    ),
    "an environment as a map": ({"ps": {"extraEnv": {"A": "1"}}}, "at '/ps/extraEnv': got object"),
    "a number in the environment": (
        {"ps": {"extraEnv": [{"name": "A", "value": 1}]}},
        "at '/ps/extraEnv/0/value': got number, want string",
    ),
    "a variable without a name": (
        {"ps": {"extraEnv": [{"value": "1"}]}},
        "missing property 'name'",
    ),
    "a variable with two values": (
        {"ps": {"extraEnv": [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {}}}]}},
        "at '/ps/extraEnv/0'",
    ),
    "a label that is none": (
        {"worker": {"podLabels": {"team": "a b"}}},
        "at '/worker/podLabels/team'",
    ),
    "a number for a label": (
        {"commonLabels": {"cost": 42}},
        "at '/commonLabels/cost': got number, want string",
    ),
    "a claim of a pod's own of nothing": (
        {
            "pod": {
                "extraVolumes": [
                    {"name": "own", "ephemeral": {"volumeClaimTemplate": {"spec": OF_NOTHING}}}
                ]
            }
        },
        "/resources/requests/storage': '0.0Gi' does not match",
    ),
    "a toleration that is none": (
        {"ps": {"tolerations": [{"keys": "a"}]}},
        "'keys' not allowed",
    ),
    "an affinity that is none": (
        {"ps": {"affinity": {"nodeAfinity": {}}}},
        "'nodeAfinity' not allowed",
    ),
    "a security context with a typing error": (
        {"security": {"podSecurityContext": {"runAsuser": 1}}},
        "'runAsuser' not allowed",
    ),
    "an empty peer": (
        {"security": {"networkPolicy": {"statusFrom": [{}]}}},
        "at '/security/networkPolicy/statusFrom/0': minProperties",
    ),
    "a negative delay": (
        {"cleanup": {"delaySeconds": {"success": -1}}},
        "at '/cleanup/delaySeconds/success': minimum",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_helm_and_python_refuse(case: str) -> None:
    values, message = REFUSED[case]
    assert message in refusal(values)
    assert list(VALIDATOR.iter_errors(merged(LEAST, values)))


@pytest.mark.parametrize("feature", FEATURES)
def test_helm_and_python_accept(feature: str) -> None:
    render(FEATURES[feature])
    VALIDATOR.validate(merged(LEAST, FEATURES[feature]))
