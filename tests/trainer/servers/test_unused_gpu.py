"""A GPU that TensorFlow can't use is told. There is none here: its device is an empty file, and
what TensorFlow would find is told to the last case.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorflow.python import pywrap_tfe
from tf_cluster_trainer.servers import unused_gpu


@pytest.fixture
def node(tmp_path: Path) -> Path:
    (tmp_path / "dev").mkdir()
    for name in ("nvidiactl", "nvidia-uvm", "nvidia1"):
        (tmp_path / "dev" / name).touch()
    return tmp_path


def test_a_gpu_beside_a_tensorflow_for_cpus_is_told(
    node: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    unused_gpu.warn({"CUDA_VISIBLE_DEVICES": "0"}, node)
    assert capfd.readouterr().err == (
        "/dev/nvidia1 is here, but TensorFlow computes on CPUs: this TensorFlow is built for "
        "CPUs: use an image with its GPU build\n"
    )


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
