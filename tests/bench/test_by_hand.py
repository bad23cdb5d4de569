"""The programs that ours is compared with do no more than their task needs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.bench import large_table
from tests.bench.by_hand import table
from tests.bench.hand_run import BY_HAND
from tests.bench.install import manifests
from tests.bench.ours import programs
from tests.ports import free_port, listens
from tests.support.waiting import eventually

SERVERS = {
    "in-graph-async-ps": ("in_graph_async.py", ("1",), "ps"),
    "in-graph-async-worker": ("in_graph_async.py", ("1",), "worker"),
    "in-graph-sync-ps": ("in_graph_sync.py", ("1",), "ps"),
    "between-graph-ps": ("between_graph.py", ("sync",), "ps"),
}


@pytest.mark.parametrize("case", SERVERS)
def test_a_server_by_hand_serves_without_the_model(case: str, tmp_path: Path) -> None:
    file, arguments, kind = SERVERS[case]
    (tmp_path / "forbidden.py").write_text("raise SystemExit('it imported the model')\n")
    addresses = {name: [f"127.0.0.1:{free_port()}"] for name in ("chief", "worker", "ps")}
    config = {"cluster": addresses, "task": {"type": kind, "index": 0}}
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "TF_CONFIG": json.dumps(config),
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "TF_USE_LEGACY_KERAS": "1",
    }
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            (sys.executable, str(BY_HAND / file), "forbidden", *arguments),
            env=environment,
            stdout=log,
            stderr=log,
        )

    def serves() -> bool:
        if process.poll() is not None:
            said = (tmp_path / "log").read_text(errors="replace")
            raise RuntimeError(f"ended with {process.returncode}:\n{said}")
        return listens(addresses[kind][0])

    try:
        eventually(f"the {kind} to serve", serves, 30, every=0.1)
    finally:
        process.kill()
        process.wait()


def test_the_manifests_by_hand_start_the_program_of_the_rates_one_task_each() -> None:
    config, service, *workloads = yaml.safe_load_all(manifests("hand0"))
    for file, text in config["data"].items():
        assert text == (BY_HAND / file).read_text()
    tasks = {}
    for one in workloads:
        pod = one["spec"]["template"]
        (container,) = pod["spec"]["containers"]
        given = {variable["name"]: variable.get("value") for variable in container["env"]}
        told = json.loads(given["TF_CONFIG"].replace("$(INDEX)", "1"))
        tasks[told["task"]["type"]] = told["task"]["index"]
        for name in ("chief", "ps"):  # a worker's name is made by its Job
            (address,) = told["cluster"][name]
            pods = [each["spec"]["template"]["spec"].get("hostname") for each in workloads]
            assert address.partition(".")[0] in pods
        assert told["cluster"]["worker"] == [f"hand0-worker-{i}.hand0:2222" for i in range(2)]
        assert pod["spec"]["subdomain"] == service["metadata"]["name"] == "hand0"
        assert service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
        script = container["command"][2].rpartition("/")[2]
        assert container["command"][3:] == ["digits", "1"]
        assert {script, "digits.py"} <= set(config["data"])
    assert tasks == {"ps": 0, "worker": 1, "chief": 0}


def test_a_large_table_is_the_same_on_both_sides() -> None:
    told = large_table.document("in-graph-async")
    assert told["flags"] == {"rows": table.ROWS, "width": table.WIDTH}
    assert told["train"]["batchSize"] == table.BATCH
    assert told["train"]["optimizer"] == {"name": "Adagrad", "learningRate": table.RATE}
    assert (programs.EXAMPLES, programs.LargeTable.shuffle_buffer) == (table.EXAMPLES,) * 2
