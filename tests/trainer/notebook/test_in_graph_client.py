"""The notebook of the notebook image, as it is, against TensorFlow servers of our own."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from tf_cluster_trainer import exit_codes

from tests.ports import free_port
from tests.slices import in_turn
from tests.support.children import training
from tests.tied import tied_to_us

NOTEBOOK = Path(__file__).parents[3] / "trainer/notebook/in-graph-client.ipynb"
# The two ends of the link between two machines (RFC 5737: addresses for documentation).
_SERVERS_HOST, _CLIENTS_HOST = "192.0.2.1", "192.0.2.2"


def _code() -> str:
    """Its code cells in their order. They hold no magics, so that is what a kernel would run."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")


def _execute(folder: Path, within: Sequence[str] = (), **environment: str) -> str:
    script = folder / "notebook.py"
    script.write_text(f"{_code()}\n\nprint(hosts)\n")
    ours = ("TF_CLUSTER_CONFIG", "TF_CLUSTER_CLIENT_ADDRESS")
    inherited = {name: v for name, v in os.environ.items() if name not in ours}
    done = subprocess.run(
        [*within, sys.executable, script],
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


@contextmanager
def _serving(
    folder: Path, host: str, within: Sequence[str] = (), idle: float = 600
) -> Iterator[Path]:
    """The directory of a cluster.json whose ps and two workers are real tasks, without a chief."""
    sizes = {"ps": 1, "worker": 2}
    addresses = [
        {kind: [f"{host}:{free_port()}" for _ in range(size)] for kind, size in sizes.items()}
        for _ in range(2)
    ]
    document = {
        "version": 1,
        "attempt": "0123abcd",
        "cluster": addresses[0],
        "status": addresses[1],
    }
    (folder / "cluster.json").write_text(json.dumps(document))
    settings = training(folder, steps=1) | {"program": {"interactive": {"idleSeconds": 600}}}
    (folder / "training.json").write_text(json.dumps(settings))
    tasks = [
        subprocess.Popen(
            tied_to_us(*within, Path(sys.executable).with_name("tf-trainer")),
            env=os.environ
            | {
                "TF_CLUSTER_CONFIG": str(folder),
                "TF_CLUSTER_TASK_TYPE": kind,
                "TF_CLUSTER_TASK_INDEX": str(index),
                "TF_CLUSTER_JOB_UID": kind,
                "TF_CLUSTER_POD_UID": f"{kind}-{index}",
            },
        )
        for kind, size in sizes.items()
        for index in range(size)
    ]
    try:
        yield folder
    finally:
        for task in tasks:
            task.terminate()
        assert [task.wait(30) for task in tasks] == [exit_codes.STOPPED] * 3


@pytest.fixture
def two_machines() -> Iterator[tuple[str, str]]:
    """Two network namespaces with a link between them: the servers' and the client's."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        pytest.skip("needs root and ip")
    servers, client = (f"tf-nb-{os.getpid()}-{end}" for end in ("s", "c"))
    with ExitStack() as stack:
        for name in (servers, client):
            subprocess.run(("ip", "netns", "add", name), check=True)
            stack.callback(subprocess.run, ("ip", "netns", "delete", name), check=True)
            subprocess.run(("ip", "-n", name, "link", "set", "lo", "up"), check=True)
        ends = ("link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", client)
        subprocess.run(("ip", "-n", servers, *ends), check=True)
        for name, address in ((servers, _SERVERS_HOST), (client, _CLIENTS_HOST)):
            within = ("ip", "-n", name)
            subprocess.run((*within, "address", "add", f"{address}/30", "dev", "eth0"), check=True)
            subprocess.run((*within, "link", "set", "eth0", "up"), check=True)
        yield servers, client


@in_turn(0, of=2)
def test_it_trains_on_the_servers_of_another_machine_which_call_it_back(
    two_machines: tuple[str, str], tmp_path: Path
) -> None:
    servers, client = (("ip", "netns", "exec", name) for name in two_machines)
    with _serving(tmp_path, _SERVERS_HOST, servers) as folder:
        said = _execute(folder, client, TF_CLUSTER_CONFIG=str(folder))
    assert f"'chief': ['{_CLIENTS_HOST}:2222']" in said
    assert _accuracy(said) > 0.9


@in_turn(1, of=2)
def test_it_trains_under_the_address_that_it_is_given(tmp_path: Path) -> None:
    given = f"localhost:{free_port()}"
    with _serving(tmp_path, "127.0.0.1") as folder:
        said = _execute(folder, TF_CLUSTER_CONFIG=str(folder), TF_CLUSTER_CLIENT_ADDRESS=given)
    assert f"'chief': ['{given}']" in said
    assert "step 1200: loss" in said
    assert re.search(r"dense/kernel:0 +\(64, 64\) +/job:ps/replica:0/task:0/", said)
    assert _accuracy(said) > 0.9


@pytest.mark.full
def test_without_a_cluster_it_starts_servers_that_end_with_it(tmp_path: Path) -> None:
    assert _accuracy(_execute(tmp_path)) > 0.9


def test_it_holds_no_output_and_no_magics() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    assert not re.search(r"^[%!]", _code(), flags=re.MULTILINE)
