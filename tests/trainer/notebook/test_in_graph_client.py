"""The notebook of the notebook image, as it is, against TensorFlow servers of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ports import free_port

NOTEBOOK = Path(__file__).parents[3] / "trainer/notebook/in-graph-client.ipynb"
# A task of a cluster as a pod has it: it serves until it is ended.
_SERVER = (
    "import json, sys, tensorflow as tf;"
    "tf.distribute.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3])).join()"
)


def _code() -> str:
    """Its code cells in their order. They hold no magics, so that is what a kernel would run."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def _execute(folder: Path, **environment: str) -> str:
    script = folder / "notebook.py"
    script.write_text(_code())
    inherited = {name: v for name, v in os.environ.items() if name != "TF_CLUSTER_CONFIG"}
    done = subprocess.run(
        [sys.executable, script],
        env=inherited | environment,
        capture_output=True,
        text=True,
        timeout=480,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def _accuracy(said: str) -> float:
    found = re.search(r"held-out images: ([0-9.]+)", said)
    assert found, said
    return float(found[1])


@pytest.fixture
def cluster_json(tmp_path: Path) -> Iterator[Path]:
    """The directory of a cluster.json whose ps and workers are up; a chief in it is not."""
    hosts = {
        kind: [f"127.0.0.1:{free_port()}" for _ in range(size)]
        for kind, size in {"chief": 1, "ps": 1, "worker": 2}.items()
    }
    document = {"attempt": "0123abcd", "cluster": hosts, "status": hosts}
    (tmp_path / "cluster.json").write_text(json.dumps(document))
    served = json.dumps({kind: hosts[kind] for kind in ("ps", "worker")})
    servers = [
        subprocess.Popen(
            [sys.executable, "-c", _SERVER, served, kind, str(index)], stderr=subprocess.DEVNULL
        )
        for kind in ("ps", "worker")
        for index in range(len(hosts[kind]))
    ]
    yield tmp_path
    for server in servers:
        server.kill()
        server.wait()


def test_it_trains_on_the_servers_that_cluster_json_names(cluster_json: Path) -> None:
    said = _execute(cluster_json, TF_CLUSTER_CONFIG=str(cluster_json))
    assert "step 600: loss" in said
    assert _accuracy(said) > 0.9


@pytest.mark.full
def test_without_a_cluster_it_starts_servers_that_end_with_it(tmp_path: Path) -> None:
    assert _accuracy(_execute(tmp_path)) > 0.9


def test_it_holds_no_output_and_no_magics() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert not re.search(r"^[%!]", _code(), flags=re.MULTILINE)
