"""A large training: it renders, its ConfigMap fits and so does Helm's record of the release."""

from __future__ import annotations

import base64
import gzip
import json

import yaml

from tests.chart.helm import CHART, Rendered, merged, render
from tests.chart.helm import LEAST as LEAST_VALUES

LARGE = {"worker": {"replicas": 1000}, "ps": {"replicas": 200}}
MEBIBYTE = 1024 * 1024


def test_a_thousand_workers_and_200_ps_are_one_config_and_202_jobs_and_deployments() -> None:
    rendered = render(LARGE)
    cluster = rendered.config("cluster.json")["cluster"]
    assert {task: len(hosts) for task, hosts in cluster.items()} == {
        "chief": 1,
        "worker": 1000,
        "ps": 200,
    }
    assert len(rendered.all("Deployment")) == 200
    assert len(rendered.pods) == 203
    assert len(rendered.all("Service")) == 2


def test_the_config_map_stays_under_the_limit_of_an_object_with_the_longest_name() -> None:
    rendered = render(merged(LARGE, {"fullnameOverride": "a" * 40}))
    data = rendered.one("ConfigMap", "config")["data"]
    assert sum(len(text) for text in data.values()) < MEBIBYTE / 2


def release_record(rendered: Rendered) -> bytes:
    """What Helm keeps in a Secret: base64 of gzip of JSON with the chart and the manifest."""
    files = [path for path in CHART.rglob("*") if path.is_file()]
    record = {
        "manifest": rendered.text,
        "chart": {
            "values": yaml.safe_load((CHART / "values.yaml").read_text()),
            "files": [
                {"name": path.name, "data": base64.b64encode(path.read_bytes()).decode()}
                for path in files
            ],
        },
        "config": merged(LEAST_VALUES, LARGE),
    }
    return base64.b64encode(gzip.compress(json.dumps(record).encode(), 9))


def test_helms_record_of_the_release_stays_far_from_its_limit() -> None:
    assert len(release_record(render(LARGE))) < MEBIBYTE / 5


def test_no_pod_carries_the_whole_cluster() -> None:
    rendered = render(LARGE)
    for name, pod in rendered.pods.items():
        if "cleanup" not in name:
            assert f"worker-{rendered.attempt}-999" not in json.dumps(pod)
