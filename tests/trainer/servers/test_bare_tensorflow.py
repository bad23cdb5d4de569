"""A process that only serves has TensorFlow's servers without its Python API."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tf_cluster_trainer.protocol import Serving
from tf_cluster_trainer.servers import bare_tensorflow

from tests.support.children import Children

LOAD = """
import os, sys
from tf_cluster_trainer.servers import bare_tensorflow
bare_tensorflow.load(os.environ)
print("tensorflow._api" in sys.modules)
"""
# The parts are not where they are looked for; to TensorFlow's own import they are.
MOVED = """
import sys
class Moved:
    def find_spec(self, name, path=None, target=None):
        whole = hasattr(sys.modules.get("tensorflow"), "__file__")
        if name == "tensorflow.python.training.server_lib" and not whole:
            raise ImportError(name)
sys.meta_path.insert(0, Moved())
"""


def whole(environment: Mapping[str, str]) -> bool:
    """Whether a process of this environment has loaded all of TensorFlow."""
    done = subprocess.run(
        (sys.executable, "-c", LOAD),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip() == "True"


def test_a_server_loads_no_more_than_it_needs() -> None:
    assert not whole({})


def test_the_whole_can_be_asked_for() -> None:
    assert whole({bare_tensorflow.WHOLE_VARIABLE: "1"})


@pytest.mark.parametrize(
    "environment",
    [
        {bare_tensorflow.PLUGINS_VARIABLE: "/a/library"},
        {bare_tensorflow.FILE_SYSTEMS_VARIABLE: "1"},
    ],
)
def test_libraries_that_are_named_are_loaded_by_tensorflows_own_import(
    environment: dict[str, str],
) -> None:
    assert bare_tensorflow._loads_more(environment)


def test_devices_of_others_are_found_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = tmp_path / "site-packages"
    monkeypatch.syspath_prepend(str(beside))
    assert not bare_tensorflow._loads_more({})
    (beside / "tensorflow-plugins").mkdir(parents=True)
    assert bare_tensorflow._loads_more({})


@pytest.mark.parametrize("moved", [False, True], ids=["as-ours", "other-layout"])
def test_it_serves_whatever_the_layout(tmp_path: Path, moved: bool) -> None:
    if moved:
        (tmp_path / "sitecustomize.py").write_text(MOVED)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with Children(tmp_path, 1, 1, environment) as world:
        server = world.serve("ps")["ps-0"]
        assert server.of(Serving)
        told = Path(f"/proc/{server.process.pid}/environ").read_text()
        assert (f"{bare_tensorflow.WHOLE_VARIABLE}=1" in told) == moved
