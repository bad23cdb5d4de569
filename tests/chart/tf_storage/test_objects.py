"""What charts/tf-storage makes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
import yaml

from tests.chart.golden_files import golden_text, storage_golden_path
from tests.chart.helm import HELMS, ROOT
from tests.chart.helm import render as render_chart
from tests.chart.test_values import hold_closed, schema_keys
from tests.chart.tf_storage.features import FEATURES, HEKETI, NEW, OLD
from tests.chart.tf_storage.helm import STORAGE, render
from tools.chart.value_lint import findings, templates_of
from tools.chart.values_docs import read_values

VALUES = (STORAGE / "values.yaml").read_text()
SCHEMA = json.loads((STORAGE / "values.schema.json").read_text())


@pytest.mark.parametrize("feature", FEATURES)
def test_feature_renders_as_its_golden_file_says(feature: str) -> None:
    kubernetes, values = FEATURES[feature]
    text = golden_text(render(values, kubernetes).text)
    assert text == storage_golden_path(feature).read_text()


@pytest.mark.parametrize("helm", HELMS)
def test_both_helms_render_the_same(helm: str) -> None:
    kubernetes, values = FEATURES["volumes"]
    assert render(values, kubernetes, helm).objects == render(values, kubernetes).objects


def test_every_value_is_used_and_every_used_value_is_declared() -> None:
    templates = templates_of(STORAGE)
    assert findings(templates, VALUES) == []
    unused = VALUES.replace("  isDefault:", "  # -- Forgotten.\n  forgotten: 1\n  isDefault:")
    assert findings(templates, unused.replace("  # -- Make it", "  # Make it")) == [
        "class.forgotten is declared in values.yaml and used by no template",
        "class.isDefault is used by a template and not declared in values.yaml",
    ]


def test_the_schema_is_closed_and_describes_what_is_declared() -> None:
    hold_closed(SCHEMA)
    declared = {value.path for value in read_values(VALUES)}
    below_volumes = {path for path in schema_keys(SCHEMA) if path[0] == "volume" and len(path) > 2}
    assert set(schema_keys(SCHEMA)) - below_volumes == declared
    validator = jsonschema.Draft7Validator(SCHEMA)
    validator.validate(yaml.safe_load(VALUES))


def test_every_parameter_of_heketi_is_in_a_feature() -> None:
    left = set(SCHEMA["properties"]["class"]["properties"]["heketi"]["properties"])
    assert left - HEKETI.keys() == {"restuserkey"}, "the feature heketi-with-a-key has that"


def test_parameters_of_heketi_are_texts_and_empty_ones_are_left_to_the_provisioner() -> None:
    def parameters(**heketi: Any) -> dict[str, str]:
        values = {"classes": {"g": {"kind": "heketi", "heketi": heketi}}}
        (made,) = render(values, OLD).objects
        return dict(made["parameters"])

    url = {"resturl": "http://10.0.0.5:8080"}
    assert parameters(**url) == url
    assert parameters(**url, restauthenabled=False) == {**url, "restauthenabled": "false"}
    assert parameters(**url, gidMin=2000000, snapfactor=1.5) == {
        **url,
        "gidMin": "2000000",
        "snapfactor": "1.5",
    }


def test_a_class_may_undo_a_default_that_is_true() -> None:
    _, values = FEATURES["nfs"]
    grows = {
        obj["metadata"]["name"]: obj["allowVolumeExpansion"]
        for obj in render(values).objects
        if obj["kind"] == "StorageClass"
    }
    assert grows == {"nfs": True, "nfs-subdir": False}


def test_a_volume_is_never_deleted_with_its_claim() -> None:
    volumes = render(FEATURES["volumes"][1], NEW).objects
    assert {obj["spec"]["persistentVolumeReclaimPolicy"] for obj in volumes} == {"Retain"}


def test_the_umbrella_leaves_it_out_unless_told() -> None:
    off = {"tf-cluster": {"enabled": False}}
    assert render_chart(off, chart=ROOT).objects == []
    on = {**off, "tf-storage": {**FEATURES["custom"][1], "enabled": True}}
    (made,) = render_chart(on, chart=ROOT).objects
    assert made["provisioner"] == "driver.longhorn.io"
