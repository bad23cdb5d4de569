"""A GPU that TensorFlow can't use is told. There is none here: its device is an empty file, and
what TensorFlow is or would find is told to two of the cases.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorflow.python import pywrap_tfe
from tensorflow.python.platform import build_info
from tf_cluster_trainer.servers import unused_gpu


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    for name in ("nvidiactl", "nvidia-uvm", "nvidia1"):
        (tmp_path / "dev" / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("is_cuda_build", "why"),
    [(False, "this TensorFlow is built for CPUs; "), (True, "TF_CPP_MIN_LOG_LEVEL=0 and ")],
)
def test_a_gpu_that_tensorflow_can_not_use_is_told(
    node: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_cuda_build: bool,
    why: str,
) -> None:
    monkeypatch.setitem(build_info.build_info, "is_cuda_build", is_cuda_build)
    unused_gpu.warn({"CUDA_VISIBLE_DEVICES": "0"}, node)
    said = f"/dev/nvidia1 is here, but TensorFlow computes on CPUs: {why}"
    assert capfd.readouterr().err.startswith(said)


@pytest.mark.parametrize("hidden", ["", "-1"])
def test_a_task_that_is_to_see_none_says_nothing(
    node: Path, capfd: pytest.CaptureFixture[str], hidden: str
) -> None:
    unused_gpu.warn({"CUDA_VISIBLE_DEVICES": hidden}, node)
    assert capfd.readouterr().err == ""


def test_a_node_without_a_gpu_is_fine(node: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (node / "dev/nvidia1").unlink()
    unused_gpu.warn({}, node)
    assert capfd.readouterr().err == ""


def test_a_gpu_that_tensorflow_uses_is_fine(
    node: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [b"/physical_device:CPU:0", b"/physical_device:GPU:0"]
    monkeypatch.setattr(pywrap_tfe, "TF_ListPhysicalDevices", lambda: found)
    unused_gpu.warn({}, node)
    assert capfd.readouterr().err == ""
