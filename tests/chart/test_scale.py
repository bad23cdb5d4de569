"""A large training: it renders, its ConfigMap fits and so does Helm's record of the release."""

from __future__ import annotations

import base64
import gzip
import json
import subprocess
from pathlib import Path

import pytest
import yaml
from tf_cluster.checks.record_size import CHART_BYTES
from tf_cluster_trainer.config import load
from tf_cluster_trainer.script_start import tf_config

from tests.chart.helm import CHART, Rendered, Values, merged, render
from tests.chart.helm import LEAST as LEAST_VALUES

LARGE = {"worker": {"replicas": 1000}, "ps": {"replicas": 250}}
LONGEST = {"fullnameOverride": "a" * 40}
# The most that the schema takes.
LARGEST = {**LONGEST, "worker": {"replicas": 10_000}, "ps": {"replicas": 1_000}}
KIBIBYTE = 1024
MEBIBYTE = 1024 * KIBIBYTE
# Linux: the longest NAME=value of a process, with its zero byte.
MAX_ARG_STRLEN = 128 * KIBIBYTE


def test_a_thousand_workers_and_250_ps_are_one_config_and_252_jobs_and_deployments() -> None:
    rendered = render(LARGE)
    assert {task: len(hosts) for task, hosts in rendered.cluster.cluster.items()} == {
        "chief": 1,
        "worker": 1000,
        "ps": 250,
    }
    assert len(rendered.all("Deployment")) == 250
    assert len(rendered.pods) == 253
    assert len(rendered.all("Service")) == 2


@pytest.mark.parametrize("values", [LARGE, merged(LARGE, LONGEST), LARGEST])
def test_the_config_map_stays_small_whatever_the_number_of_tasks(values: Values) -> None:
    data = render(values).one("ConfigMap", "config")["data"]
    assert sum(len(text) for text in data.values()) <= 8 * KIBIBYTE


@pytest.mark.parametrize("values", [LARGE, LARGEST])
def test_argo_cd_is_asked_to_apply_server_side_what_an_annotation_may_not_hold(
    values: Values,
) -> None:
    """Argo CD's default apply writes an object into its own annotation, of 256 KiB at most."""
    for obj in render(values).objects:
        asked = obj["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-options", "")
        assert "ServerSideApply=true" in asked or len(json.dumps(obj)) < 256 * KIBIBYTE, obj["kind"]


def test_cleanup_is_told_the_most_parameter_servers_in_one_argument() -> None:
    pod = render(LARGEST).one("Job", "cleanup")["spec"]["template"]
    (argument,) = [text for text in pod["spec"]["containers"][0]["args"] if text[0] == "{"]
    assert len(json.loads(argument)["deployments"]) == 1_000
    assert len(argument) < MAX_ARG_STRLEN


@pytest.mark.parametrize(("workers", "ps"), [(1098, 1), (134, 1000)])
def test_a_script_can_be_started_with_the_most_tasks_that_the_guard_lets_pass(
    workers: int, ps: int, tmp_path: Path
) -> None:
    program = {"module": "", "script": "/data/train.py"}
    sizes = {"worker": {"replicas": workers}, "ps": {"replicas": ps}}
    values = {**LONGEST, "program": program, **sizes}
    for name, text in render(values).one("ConfigMap", "config")["data"].items():
        (tmp_path / name).write_text(text)
    task = {"TF_CLUSTER_TASK_TYPE": "worker", "TF_CLUSTER_TASK_INDEX": str(workers - 1)}
    told = tf_config(load({"TF_CLUSTER_CONFIG": str(tmp_path), **task}))

    echo = ("/bin/sh", "-c", 'printf %s "$TF_CONFIG" | wc -c')
    done = subprocess.run(echo, env={"TF_CONFIG": told}, stdout=subprocess.PIPE, check=True)
    assert int(done.stdout) == len(told) > MAX_ARG_STRLEN - KIBIBYTE
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(echo, env={"TF_CONFIG": told + " " * KIBIBYTE}, check=False)


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


def test_every_record_has_what_the_tool_takes_for_the_chart() -> None:
    assert CHART_BYTES < len(release_record(render())) < CHART_BYTES * 1.1


def test_no_pod_carries_the_whole_cluster() -> None:
    rendered = render(LARGE)
    for name, pod in rendered.pods.items():
        if "cleanup" not in name:
            assert f"worker-{rendered.attempt}-999" not in json.dumps(pod)
